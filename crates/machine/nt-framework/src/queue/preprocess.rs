//! Preprocessing: IRPs that the driver's callback receives before the framework does.
//!
//! Requests to the framework's devices are not IRPs here, unless the driver preprocesses them. Then each is first an
//! IRP for the driver's callback, which completes it, keeps it, or passes it on to the framework.

use etw_types::NtStatus;
use nt_kernel::io::file::file_object;
use nt_kernel::io::request::client::{self as packets, Mode, Submission};
use nt_kernel::io::request::exchange;
use nt_kernel::io::{mdl, request};
use nt_kernel::{IoRequest, RequestKind, call_back};
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT, IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice};
use nt_verifier::routine::{DISPATCH, Failure, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::request::{IRP_MJ_MAXIMUM_FUNCTION, SL_PENDING_RETURNED};

use crate::device::init;
use crate::device::with_device;
use crate::queue::deliver;
use crate::request::{Request, create, with_request};
use crate::state::{Then, with};
use crate::{Handle, driver};

/// The major functions that clients send: create, close, read, write, both control requests, cleanup.
const CLIENTS: [u8; 7] = [0, 2, 3, 4, 0x0E, 0x0F, 0x12];
/// The name of the driver's callback.
pub(crate) const CALLBACK: &str = "EvtDeviceWdmIrpPreprocess";

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    #[on_failure(init::note_failure(init))]
    fn WdfDeviceInitAssignWdmIrpPreprocessCallback(
        init: Handle,
        callback: GuestPtr<Code>,
        major: u8,
        minors: Option<GuestPtr<u8>>,
        count: u32,
    ) -> Outcome {
        let minors = minors.map_or(Ok(Vec::new()), |list| list.array(count.into()).read())?;
        if major > IRP_MJ_MAXIMUM_FUNCTION {
            return fail(NtStatus::InvalidParameter);
        }
        init::with_init(init, |init| init.preprocess.push(init::Wanted { major, minors, callback }));
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceWdmDispatchPreprocessedIrp(device: Handle, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
        dispatch(device, irp)
    }

    /// If the request did not come as an IRP, an IRP that describes it is created.
    #[irql(DISPATCH)]
    fn WdfRequestWdmGetIrp(request: Handle) -> Outcome<GuestPtr<IRP>> {
        packet_of(request)
    }
}

/// Returns the driver's callback for IRPs with these functions, and the device object.
pub(crate) fn wanted(device: Handle, major: u8, minor: u8) -> Option<(GuestPtr<Code>, GuestPtr<DEVICE_OBJECT>)> {
    with_device(device, |device| {
        let fits =
            |known: &&init::Wanted| known.major == major && (known.minors.is_empty() || known.minors.contains(&minor));
        device.init.preprocess.iter().find(fits).map(|known| (known.callback, device.wdm))
    })
}

/// The driver's code that receives an IRP before the framework does, or in place of it.
#[derive(Clone, Copy)]
struct Receiver {
    routine: GuestPtr<Code>,
    wdm: GuestPtr<DEVICE_OBJECT>,
    /// Whether it is a dispatch routine that the driver has stored in its driver object after `WdfDriverCreate`.
    is_dispatch: bool,
}

/// Returns the driver's code that receives such IRPs.
fn receiver(device: Handle, major: u8, minor: u8) -> Result<Option<Receiver>, Fault> {
    let wdm = with_device(device, |device| device.wdm);
    let own = if CLIENTS.contains(&major) { driver::own_dispatch_routine(major)? } else { GuestPtr::NULL };
    if let Some(routine) = own.non_null() {
        return Ok(Some(Receiver { routine, wdm, is_dispatch: true }));
    }
    Ok(wanted(device, major, minor).map(|(routine, wdm)| Receiver { routine, wdm, is_dispatch: false }))
}

/// Calls the driver's code that receives an IRP.
fn show(device: Handle, receiver: Receiver, irp: GuestPtr<IRP>, then: Then) -> Result<NtStatus, Fault> {
    let Receiver { routine, wdm, is_dispatch } = receiver;
    request::descend(wdm, irp)?;
    request::reached(irp);
    let (name, first) = if is_dispatch {
        ("dispatch routine", wdm.address())
    } else {
        with(|framework| framework.packets.insert(irp, then));
        (CALLBACK, device.as_int())
    };
    let status = call_back(name, PASSIVE, routine, &[first, irp.address()]) as u32;
    Ok(NtStatus::from_int(status))
}

/// Begins a client's request as an IRP, if the driver preprocesses it.
pub(crate) fn begin(device: Handle, file: Handle, requested: &IoRequest) -> Outcome<Option<exchange::Sent>> {
    let Some(receiver) = receiver(device, requested.kind.as_int(), 0)? else { return Ok(None) };
    let object = file_object(device, file)?;
    let show = |irp| show(device, receiver, irp, Then::Request(file));
    Ok(Some(exchange::begin_with(receiver.wdm, object, (requested, Mode::User), receiver.routine, show)?))
}

/// Calls `run` for a device, and returns its status. If the driver preprocesses IRPs with these functions, it receives
/// such an IRP first, and `run` is called only if the driver passes the IRP on.
pub(crate) fn through(
    device: Handle,
    (major, minor): (u8, u8),
    file: Handle,
    run: impl FnOnce() -> NtStatus + Send + 'static,
) -> Result<NtStatus, Fault> {
    through_with(device, &Submission { major, minor, ..Submission::default() }, file, run)
}

/// Like [`through`], for an IRP with parameters.
pub(crate) fn through_with(
    device: Handle,
    submission: &Submission,
    file: Handle,
    run: impl FnOnce() -> NtStatus + Send + 'static,
) -> Result<NtStatus, Fault> {
    let Some(receiver) = receiver(device, submission.major, submission.minor)? else { return Ok(run()) };
    let file = match file_object(device, file) {
        Ok(file) => file,
        Err(Failure::Status(status)) => return Ok(status),
        Err(Failure::Fault(fault)) => return Err(fault),
    };
    let submission = Submission { file, ..*submission };
    let show = |irp| show(device, receiver, irp, Then::Run(Box::new(run)));
    Ok(packets::finish(packets::begin_with(receiver.wdm, &submission, receiver.routine, show)?)?.status)
}

/// Returns the I/O manager's file object for a framework file. If the driver does not use file objects, all files share
/// one.
pub(crate) fn file_object(device: Handle, file: Handle) -> Outcome<GuestPtr<FILE_OBJECT>> {
    let uses_files = with_device(device, |device| device.init.file.is_some());
    let file = if uses_files { file } else { Handle::NULL };
    let (known, wdm) = with_device(device, |device| {
        (device.file_objects.iter().find(|(known, _)| *known == file).map(|(_, object)| *object), device.wdm)
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let object = file_object::new_file(wdm, "")?;
    with_device(device, |device| device.file_objects.push((file, object)));
    Ok(object)
}

/// Passes an IRP on to the framework. The driver must have set up the next stack location for it.
fn dispatch(device: Handle, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
    let Some(then) = with(|framework| framework.packets.remove(&irp)) else {
        verify::find(Rule::RequestMisuse, format_args!("{irp:#x} is not an IRP that the driver preprocesses"));
        return fail(NtStatus::InvalidDeviceRequest);
    };
    descend(device, irp)?;
    serve(device, irp, then)
}

/// Moves a preprocessed IRP to the framework's stack location.
pub(crate) fn descend(device: Handle, irp: GuestPtr<IRP>) -> Result<(), Fault> {
    let wdm = with_device(device, |device| device.wdm);
    let skipped = irp.CurrentLocation().read()? > irp.StackCount().read()?;
    let current = irp.CurrentStackLocation().read()?;
    if !skipped && irp.next_location()?.MajorFunction().read()? != current.MajorFunction().read()? {
        let what = format_args!("the framework's stack location is not set up: call IoSkipCurrentIrpStackLocation");
        verify::find(Rule::RequestMisuse, what);
        irp.CurrentLocation().change(|current| current + 1)?;
        irp.CurrentStackLocation().change(|place| place.at(1))?;
    }
    request::descend(wdm, irp)?;
    Ok(())
}

/// Does what the framework does with an IRP.
pub(crate) fn serve(device: Handle, irp: GuestPtr<IRP>, then: Then) -> Outcome<NtStatus> {
    match then {
        Then::Run(run) => {
            let status = run();
            irp.IoStatus().Status().write(status)?;
            request::complete(irp)?;
            Ok(status)
        }
        Then::Request(file) => {
            let (request, kind) = receive(device, file, irp)?;
            deliver::submit(device, request, kind);
            Ok(NtStatus::Pending)
        }
    }
}

/// Creates the framework request for an IRP, which is then pending.
pub(crate) fn receive(device: Handle, file: Handle, irp: GuestPtr<IRP>) -> Outcome<(Handle, RequestKind)> {
    let place = irp.CurrentStackLocation().read()?;
    place.Control().change(|control| control | SL_PENDING_RETURNED)?;
    let request = request_of(device, file, irp, place)?;
    let kind = request.kind;
    let request = create(device, request)?;
    request::when_canceled(irp, move || deliver::cancel(request));
    Ok((request, kind))
}

/// Returns the framework request for an IRP.
fn request_of(
    device: Handle,
    file: Handle,
    irp: GuestPtr<IRP>,
    place: GuestPtr<IO_STACK_LOCATION>,
) -> Outcome<Request> {
    let kind = RequestKind::from_int(place.MajorFunction().read()?);
    let [first, second, third, fourth] = place.Parameters().read()?;
    let system: GuestPtr<u8> = irp.SystemBuffer().read()?;
    let list = irp.MdlAddress().read()?;
    let mapped: GuestPtr<u8> = match list.non_null() {
        Some(list) => mdl::start(list)?,
        None => irp.UserBuffer().read()?,
    };
    let none: GuestSlice<u8> = GuestPtr::NULL.array(0);
    let direct = with_device(device, |device| device.init.direct);
    let (code, input, output) = match kind {
        _ if kind.has_code() => {
            let code = third as u32;
            let input = if code & 3 == 3 { GuestPtr::new(fourth) } else { system };
            let output = if code.trailing_zeros() >= 2 { system } else { mapped };
            (code, input.array(u64::from(second as u32)), output.array(u64::from(first as u32)))
        }
        RequestKind::READ => (0, none, if direct { mapped } else { system }.array(u64::from(first as u32))),
        RequestKind::WRITE => (0, if direct { mapped } else { system }.array(u64::from(first as u32)), none),
        _ => (0, none, none),
    };
    Ok(Request { kind, received: kind, code, file, input, output, irp, ..Request::default() })
}

/// Returns the IRP of a request, or else one that describes it.
fn packet_of(handle: Handle) -> Outcome<GuestPtr<IRP>> {
    let data = with_request(handle, |request| request.clone());
    if let Some(known) = data.irp.non_null().or(data.shown.non_null()) {
        return Ok(known);
    }
    let requested = IoRequest { kind: data.kind, code: data.code, ..IoRequest::default() };
    let buffers = [data.input.start(), data.output.start()].map(GuestPtr::address);
    let lengths = [data.input.len(), data.output.len()];
    let irp = packets::describe(&requested, buffers, lengths)?;
    with_request(handle, |request| request.shown = irp);
    Ok(irp)
}
