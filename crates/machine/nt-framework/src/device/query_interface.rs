//! Driver-defined interfaces: structures with routines that a driver offers to others, which ask for them with
//! `IRP_MN_QUERY_INTERFACE`.
//!
//! Here only the driver itself asks: its device with `WdfFdoQueryForInterface`, or one of its other devices through an
//! I/O target. The devices of other drivers have no interfaces, so a query never goes on to them.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_kernel::io::device::interface;
use nt_kernel::io::pnp;
use nt_kernel::io::request::client::Submission;
use nt_processor::cpu::thread;
use nt_processor::layout::{GUID, INTERFACE, WDF_QUERY_INTERFACE_CONFIG};
use nt_processor::memory::{GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{NO_RESOURCES, Outcome, PASSIVE, done, fail, functions, status_of};
use windows_constants::request::{IRP_MJ_PNP, IRP_MN_QUERY_INTERFACE};

use crate::device::{Offer, with_device};
use crate::queue::preprocess;
use crate::target::{Behind, with_target};
use crate::{Handle, structures};

functions! { pub(crate) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceAddQueryInterface(device: Handle, config: GuestPtr<WDF_QUERY_INTERFACE_CONFIG>) -> Outcome {
        add(device, config)
    }

    #[irql(PASSIVE), fails(NtStatus::NotSupported)]
    fn WdfFdoQueryForInterface(
        device: Handle,
        class: GuestPtr<GUID>,
        place: GuestPtr<INTERFACE>,
        size: u16,
        version: u16,
        data: GuestPtr<Opaque>,
    ) -> Outcome {
        query(device, parameters(class, place, size, version, data))
    }

    /// The devices of other drivers have no interfaces.
    #[irql(PASSIVE), fails(NtStatus::NotSupported)]
    fn WdfIoTargetQueryForInterface(
        target: Handle,
        class: GuestPtr<GUID>,
        place: GuestPtr<INTERFACE>,
        size: u16,
        version: u16,
        data: GuestPtr<Opaque>,
    ) -> Outcome {
        let parameters = parameters(class, place, size, version, data);
        match with_target(target, |target| target.behind.clone()) {
            Behind::Packets { device, .. } => pnp::query_interface(device, parameters),
            Behind::Framework { device, .. } => query(device, parameters),
            _ => fail(NtStatus::NotSupported),
        }
    }
}

/// Checks the configuration as Microsoft's framework does, and copies the driver's structure.
fn add(device: Handle, place: GuestPtr<WDF_QUERY_INTERFACE_CONFIG>) -> Outcome {
    let config = place.read()?;
    let (is_control, is_child) = with_device(device, |device| (device.init.control, !device.init.parent.is_null()));
    if is_control {
        return fail(NtStatus::InvalidDeviceRequest);
    }
    structures::QUERY_INTERFACE_CONFIG.check(place)?;
    let imports = config.ImportInterface != 0;
    let to_parent = config.SendQueryToParentStack != 0;
    let callback = config.EvtDeviceProcessQueryInterfaceRequest;
    let interface = match config.Interface.non_null() {
        Some(interface) => {
            let size = interface.Size().read()?;
            Some((interface.Version().read()?, interface.cast::<u8>().array(size.into()).read()?))
        }
        None => None,
    };
    let is_short = interface.as_ref().is_some_and(|(_, bytes)| bytes.len() < size_of::<INTERFACE>());
    let lacks_interface = interface.is_none() && !imports && !to_parent;
    if is_short || lacks_interface || to_parent && !is_child || imports && callback.is_null() {
        return fail(NtStatus::InvalidParameter);
    }
    let offer = Offer { class: config.InterfaceType.id()?, interface, callback, imports, to_parent };
    with_device(device, |device| device.offers.push(offer));
    done(())
}

/// Returns the parameters of the IRP that asks for an interface: type, size and version, place, specific data.
fn parameters(
    class: GuestPtr<GUID>,
    place: GuestPtr<INTERFACE>,
    size: u16,
    version: u16,
    data: GuestPtr<Opaque>,
) -> [u64; 4] {
    let size_and_version = u64::from(size) | u64::from(version) << 16;
    [class.address(), size_and_version, place.address(), data.address()]
}

/// Asks a framework device for an interface. `parameters` are those of the IRP.
fn query(device: Handle, parameters: [u64; 4]) -> Outcome {
    let submission =
        Submission { major: IRP_MJ_PNP, minor: IRP_MN_QUERY_INTERFACE, parameters, ..Submission::default() };
    let run = move || status_of(answer(device, parameters)).or_stop();
    Ok(preprocess::through_with(device, &submission, Handle::NULL, run)?.ok()?)
}

/// Returns the status of an IRP that asks for an interface. It keeps its status if the device does not have one.
pub(crate) fn reply(device: Handle, parameters: [u64; 4], untouched: NtStatus) -> NtStatus {
    match status_of(answer(device, parameters)).or_stop() {
        NtStatus::NotSupported => untouched,
        status => status,
    }
}

fn answer(device: Handle, parameters: [u64; 4]) -> Outcome {
    let [of_type, size_and_version, place, data] = parameters;
    let size = u64::from(size_and_version as u16);
    let version = (size_and_version >> 16) as u16;
    let id = GuestPtr::<GUID>::new(of_type).id()?;
    let place = GuestPtr::<INTERFACE>::new(place);
    let (offer, parent) = with_device(device, |device| {
        (device.offers.iter().find(|offer| offer.class == id).cloned(), device.init.parent)
    });
    let Some(offer) = offer else {
        return if interface::of_bus(parameters)? { done(()) } else { fail(NtStatus::NotSupported) };
    };
    if let Some((own, bytes)) = &offer.interface {
        if bytes.len() as u64 > size || *own > version {
            return fail(NtStatus::NotSupported);
        }
        if !offer.imports {
            place.cast::<u8>().write_all(bytes)?;
        }
    }
    if !offer.callback.is_null() {
        let arguments = [device.as_int(), of_type, place.address(), data];
        let status = call_back("EvtDeviceProcessQueryInterfaceRequest", PASSIVE, offer.callback, &arguments) as u32;
        let status = NtStatus::from_int(status);
        // With this status, the callback leaves the query to others.
        if !(status == NtStatus::NotSupported && offer.to_parent) {
            status.ok()?;
        }
    }
    if offer.to_parent {
        return query(parent, parameters);
    }
    let interface = place.read()?;
    if let Some(reference) = interface.InterfaceReference.non_null() {
        call_back("InterfaceReference", thread::irql(), reference, &[interface.Context]);
    }
    done(())
}
