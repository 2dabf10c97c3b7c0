//! IRPs whose queue the driver selects: `EvtDeviceWdmIrpDispatch`.
//!
//! As with preprocessing, a client's request is first an IRP for the driver's callback, which passes it to the framework or
//! to one of the driver's queues.

use etw_types::NtStatus;
use nt_kernel::io::request;
use nt_kernel::io::request::client::Mode;
use nt_kernel::io::request::exchange;
use nt_kernel::{IoRequest, RequestKind, call_back};
use nt_processor::cpu::thread;
use nt_processor::layout::IRP;
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::device::{Dispatcher, with_device};
use crate::queue::deliver::{self, End};
use crate::queue::preprocess;
use crate::state::{Then, with};
use crate::{Handle, object};

const CALLBACK: &str = "EvtDeviceWdmIrpDispatch";

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfDeviceConfigureWdmIrpDispatchCallback(
        device: Handle,
        driver: Handle,
        major: u8,
        callback: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Outcome {
        let kind = RequestKind::from_int(major);
        if !kind.has_code() && !matches!(kind, RequestKind::READ | RequestKind::WRITE) {
            return fail(NtStatus::InvalidParameter);
        }
        if let Some(driver) = driver.non_null() {
            object::needs_driver(driver);
        }
        object::needs_place(callback);
        let (is_first, wdm) = with_device(device, |device| {
            device.dispatchers.push(Dispatcher { major, callback, context: context.address() });
            (device.dispatchers.len() == 1, device.wdm)
        });
        if is_first {
            // The stack location of the device below, which the callback must not use.
            wdm.StackSize().change(|size| size + 1)?;
        }
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceWdmDispatchIrp(
        device: Handle,
        irp: GuestPtr<IRP>,
        _context: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome<NtStatus> {
        let (request, kind) = receive(device, irp)?;
        deliver::submit(device, request, kind);
        Ok(NtStatus::Pending)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceWdmDispatchIrpToIoQueue(
        device: Handle,
        irp: GuestPtr<IRP>,
        queue: Handle,
        _flags: Ignored<u32>,
    ) -> Outcome<NtStatus> {
        if !matches!(thread::callback(), Some(CALLBACK | preprocess::CALLBACK)) {
            let what = format_args!("sends an IRP to a queue outside of {CALLBACK} and {}", preprocess::CALLBACK);
            verify::find(Rule::RequestMisuse.named(Kmdf::FwdIrpToIoQueueValid), what);
        }
        let (request, _) = receive(device, irp)?;
        if !deliver::add(queue, request, End::Back) {
            deliver::complete(request, NtStatus::InvalidDeviceState, 0);
        }
        Ok(NtStatus::Pending)
    }
}

/// Takes an IRP that a callback of the driver received, and creates the request for it.
fn receive(device: Handle, irp: GuestPtr<IRP>) -> Outcome<(Handle, RequestKind)> {
    let then = with(|framework| framework.packets.remove(&irp));
    let Some(Then::Request(file)) = then else {
        verify::find(Rule::RequestMisuse, format_args!("{irp:#x} is not an IRP that the driver may pass on"));
        return fail(NtStatus::InvalidDeviceRequest);
    };
    match thread::callback() {
        Some(preprocess::CALLBACK) => preprocess::descend(device, irp)?,
        Some(CALLBACK) if !irp.next_location()?.CompletionRoutine().read()?.is_null() => {
            let what = format_args!("sets a completion routine for an IRP in {CALLBACK}");
            verify::find(Rule::RequestMisuse.named(Kmdf::SetCompletionRoutineFromDispatch), what);
        }
        _ => {}
    }
    preprocess::receive(device, file, irp)
}

/// Begins a client's request as an IRP, if the driver selects the queue of such requests.
pub(crate) fn begin(device: Handle, file: Handle, requested: &IoRequest) -> Outcome<Option<exchange::Sent>> {
    let (wdm, dispatcher) = with_device(device, |device| {
        (device.wdm, device.dispatchers.iter().find(|known| known.major == requested.kind.as_int()).copied())
    });
    let Some(Dispatcher { major, callback, context }) = dispatcher else { return Ok(None) };
    let object = preprocess::file_object(device, file)?;
    let deliver = |irp: GuestPtr<IRP>| -> Result<NtStatus, Fault> {
        request::descend(wdm, irp)?;
        request::reached(irp);
        with(|framework| framework.packets.insert(irp, Then::Request(file)));
        let dispatch_context = irp.address();
        let arguments =
            [device.as_int(), major.into(), 0, requested.code.into(), context, irp.address(), dispatch_context];
        Ok(NtStatus::from_int(call_back(CALLBACK, PASSIVE, callback, &arguments) as u32))
    };
    Ok(Some(exchange::begin_with(wdm, object, (requested, Mode::User), callback, deliver)?))
}
