//! The framework's dispatch routine: what it does with the IRPs that drivers send to framework devices.

use etw_types::NtStatus;
use nt_kernel::io::device::FRAMEWORK_DISPATCH;
use nt_kernel::io::pnp::bus;
use nt_kernel::{RequestKind, call_back};
use nt_processor::layout::{DEVICE_OBJECT, IRP};
use nt_processor::memory::{GuestPtr, OrStop as _};
use nt_verifier::routine::{Outcome, PASSIVE};
use nt_verifier::verify::{self, Rule};
use windows_constants::request::{
    IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE, IRP_MJ_PNP, IRP_MJ_POWER, IRP_MN_QUERY_DEVICE_RELATIONS,
    IRP_MN_QUERY_INTERFACE,
};

use crate::Handle;
use crate::device::query_interface;
use crate::device::{self, with_device};
use crate::queue::preprocess::{serve, wanted};
use crate::state::{Then, with};

/// The framework's dispatch routine. It receives the IRPs that drivers send to framework devices; the host's clients
/// use no IRPs.
pub(crate) fn receive(object: GuestPtr<DEVICE_OBJECT>, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
    let Some(device) = device::by_device_object(object) else {
        let what =
            format_args!("calls the framework's dispatch routine for a device that the framework did not create");
        verify::stop(Rule::FrameworkMisuse, Some(FRAMEWORK_DISPATCH), 0, what);
    };
    let place = irp.CurrentStackLocation().read()?;
    let major = place.MajorFunction().read()?;
    let minor = place.MinorFunction().read()?;
    let kind = RequestKind::from_int(major);
    let then = if kind.has_code() || matches!(kind, RequestKind::READ | RequestKind::WRITE) {
        Then::Request(Handle::NULL)
    } else {
        let untouched = irp.IoStatus().Status().read()?;
        let parameters = place.Parameters().read()?;
        Then::Run(Box::new(move || match (major, minor) {
            (IRP_MJ_PNP, IRP_MN_QUERY_INTERFACE) => query_interface::reply(device, parameters, untouched),
            (IRP_MJ_PNP, IRP_MN_QUERY_DEVICE_RELATIONS) => relations(device, irp, parameters, untouched),
            // The device below completes other Plug and Play requests. It does not know them, either.
            (IRP_MJ_PNP, _) => untouched,
            (IRP_MJ_CREATE | IRP_MJ_CLOSE | IRP_MJ_CLEANUP | IRP_MJ_POWER, _) => NtStatus::Success,
            _ => NtStatus::InvalidDeviceRequest,
        }))
    };
    if let Some((callback, _)) = wanted(device, major, minor) {
        with(|framework| framework.packets.insert(irp, then));
        let arguments = [device.as_int(), irp.address()];
        let status = call_back("EvtDeviceWdmIrpPreprocess", PASSIVE, callback, &arguments) as u32;
        return Ok(NtStatus::from_int(status));
    }
    serve(device, irp, then)
}

/// Completes a query for the relations of a framework device. It keeps its status if the device has no physical device.
fn relations(device: Handle, irp: GuestPtr<IRP>, parameters: [u64; 4], untouched: NtStatus) -> NtStatus {
    let physical = with_device(device, |device| device.init.physical);
    if physical.is_null() || !bus::requests_target(parameters) {
        return untouched;
    }
    bus::relate(physical, irp).or_stop()
}
