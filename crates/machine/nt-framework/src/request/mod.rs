//! Requests: their data. [`crate::request::retrieve`] gives the driver their buffers, [`crate::queue::deliver`] presents and completes them.

pub(crate) mod buffers;
pub(crate) mod cancel;
pub(crate) mod client;
pub(crate) mod complete;
pub(crate) mod retrieve;
pub(crate) mod user_buffers;

use etw_types::NtStatus;
use nt_kernel::io::request::client::Packet;
use nt_kernel::sync::process;
use nt_kernel::{RequestKind, kernel};
use nt_processor::cpu::thread;
use nt_processor::layout::{IRP, MDL, WDF_REQUEST_PARAMETERS};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice};
use nt_verifier::routine::{DISPATCH, Outcome, functions};
use nt_verifier::verify::{self, Breach, Kmdf, Rule};
use windows_constants::memory::UserMode;

use crate::device::{self, with_device};
use crate::object::kind::Kind;
use crate::request::buffers::{Buffers, free_list};
use crate::state::with;
use crate::{Handle, object};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfRequestSetInformation(request: Handle, information: u64) {
        with_request(request, |request| request.information = information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetInformation(request: Handle) -> u64 {
        with_request(request, |request| request.information)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetStatus(request: Handle) -> NtStatus {
        let (status, is_valid) =
            with_request(request, |request| (request.result.0, request.was_sent && request.sent.is_none()));
        if !is_valid {
            let what = format_args!("asks for the status of a request that no I/O target has refused or completed");
            verify::find(Rule::RequestMisuse.named(Kmdf::RequestGetStatusValid), what);
        }
        status
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetParameters(request: Handle, place: GuestPtr<WDF_REQUEST_PARAMETERS>) -> Result<(), Fault> {
        let rule = match thread::callback() {
            Some("EvtIoStop") => Some(Kmdf::EvtIoStopGetParam),
            Some("EvtIoResume") => Some(Kmdf::EvtIoResumeGetParam),
            _ => None,
        };
        if let Some(rule) = rule {
            let callback = thread::callback().unwrap_or_default();
            let what = format_args!("asks for the parameters of a request in {callback}");
            verify::find(Rule::RequestMisuse.named(rule), what);
        }
        describe(request, place)
    }

    /// Returns NULL if the driver does not use file objects.
    #[irql(DISPATCH)]
    fn WdfRequestGetFileObject(request: Handle) -> Handle {
        let file = with_request(request, |request| request.file);
        let uses_files = device::nearest(request).is_some_and(|device| with_device(device, |device| device.init.file.is_some()));
        if uses_files { file } else { Handle::NULL }
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetIoQueue(request: Handle) -> Handle {
        with_request(request, |request| request.queue)
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestGetRequestorMode(request: Handle) -> i8 {
        with_request(request, |_| UserMode)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetRequestorProcessId(request: Handle) -> u32 {
        with_request(request, |request| request.process) as u32
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestIsFrom32BitProcess(request: Handle) -> bool {
        with_request(request, |_| false)
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestIsReserved(request: Handle) -> bool {
        with_request(request, |_| false)
    }
}

impl Request {
    /// Returns whether the buffers are addresses in the client's process (`METHOD_NEITHER`). Those of another driver's
    /// request are not.
    pub(super) fn has_user_buffers(&self) -> bool {
        self.kind == RequestKind::DEVICE_CONTROL && self.code & 3 == 3
    }
}

/// A request.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) kind: RequestKind,
    /// The kind in which the driver received it. Formatting changes the other one.
    pub(super) received: RequestKind,
    pub(super) code: u32,
    pub(super) queue: Handle,
    /// The file that it was sent through. The driver sees it only if it uses file objects.
    pub(super) file: Handle,
    pub(super) input: GuestSlice<u8>,
    pub(super) output: GuestSlice<u8>,
    /// The client's own buffers. Formatting changes the two above.
    pub(super) buffers: Option<Buffers>,
    pub(super) information: u64,
    /// The driver created the request.
    pub(super) is_own: bool,
    /// The process of the client; 0 for a request of the driver's own.
    pub(super) process: u64,
    /// The request is completed, and exists only because of the driver's references.
    pub(super) is_completed: bool,
    /// The driver has the request.
    pub(super) presented: bool,
    /// The driver has or had the request.
    pub(super) delivered: bool,
    /// A client waits for the end of the request.
    pub(super) awaited: bool,
    /// The driver acknowledged `EvtIoStop` and keeps the request while the device sleeps.
    pub(super) acknowledged: bool,
    /// `EvtIoStop` has been called, and the driver has not acknowledged it.
    pub(super) is_stopping: bool,
    /// The callback that received the request, or the driver's code that took it from a queue.
    pub(super) handler: u64,
    pub(super) cancel: GuestPtr<Code>,
    pub(super) canceled: bool,
    /// The driver marked the request cancelable at some time.
    pub(super) was_cancelable: bool,
    /// `EvtRequestCancel` has been called.
    pub(super) cancel_reported: bool,
    /// How many times `WdfIoQueueFindRequest` found it while the driver has not dereferenced it.
    pub(super) found: u32,
    pub(super) format: Format,
    /// The driver has tried to send the request, so it has a status.
    pub(super) was_sent: bool,
    /// An I/O target did not accept the request.
    pub(super) was_refused: bool,
    /// `WdfRequestCancelSentRequest` or a timeout has cancelled the request: no target takes it before the driver reuses it.
    pub(super) refuses_send: bool,
    /// The completion routine for a request that is sent to an I/O target, and its context.
    pub(super) completion: (GuestPtr<Code>, u64),
    /// The status and information with which an I/O target completed the request.
    pub(super) result: (NtStatus, u64),
    /// Set while an I/O target has the request.
    pub(super) sent: Option<Flight>,
    /// The IRP that the request was created from, if any. It is completed with the request.
    pub(super) irp: GuestPtr<IRP>,
    /// The IRP that describes the request for `WdfRequestWdmGetIrp`, if it was not created from an IRP.
    pub(super) shown: GuestPtr<IRP>,
    /// The MDLs for the buffers. They are freed with the request.
    pub(super) lists: Vec<GuestPtr<MDL>>,
    /// The memory objects for the buffers.
    pub(super) memories: Vec<Handle>,
}

/// How a request was prepared for an I/O target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    #[default]
    None,
    /// As it was received.
    Current,
    /// By a function of I/O targets.
    Target,
}

/// A request that a target has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) target: Handle,
    pub(super) options: Options,
    /// The timeout has expired: the status is `STATUS_IO_TIMEOUT`, whatever the device returns.
    pub(super) late: bool,
    pub(super) stage: Stage,
    /// Cancels the request where it is. Returns whether it was still waiting, or the device that has it was notified.
    pub(super) cancel: fn(Handle) -> bool,
}

/// Where a request is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// In the target, which is stopped.
    Waiting,
    /// On its way to the device.
    Leaving,
    /// In a scripted device.
    Scripted,
    /// In a framework device, which received it as a new request.
    Framework(Handle),
    /// In a device that receives IRPs.
    Packet(Packet),
}

/// How a request is sent: `WDF_REQUEST_SEND_OPTIONS`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) flags: u32,
    pub(super) deadline: Option<u64>,
}

impl Kind for Request {
    fn name(&self) -> &'static str {
        "request"
    }

    fn free(&self) {
        if let Some(shown) = self.shown.non_null() {
            nt_kernel::lock(&kernel().pool).free_object(shown.address());
        }
        // A request that was not completed still has its buffers.
        self.lists.iter().for_each(|list| free_list(*list, self.received));
        if let Some(buffers) = self.buffers {
            buffers.free(self.received);
        }
    }
}

/// Reads or changes a request. A completed request, or another object, stops the machine.
pub(super) fn with_request<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> R {
    active(handle, body).unwrap_or_else(|| misuse(handle, |_| access()))
}

/// Reads or changes a request that is not completed. Otherwise returns `None`.
pub(super) fn active<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> Option<R> {
    update(handle, |request| (!request.is_completed).then(|| body(request))).flatten()
}

/// Returns whether this thread runs one of the callbacks that receive requests from queues.
pub(super) fn in_queue_callback() -> bool {
    const CALLBACKS: [&str; 5] =
        ["EvtIoDefault", "EvtIoRead", "EvtIoWrite", "EvtIoDeviceControl", "EvtIoInternalDeviceControl"];
    thread::callback().is_some_and(|callback| CALLBACKS.contains(&callback))
}

/// Returns the breach of a driver that uses a completed request.
fn access() -> Breach {
    let breach = Rule::FrameworkMisuse.named(Kmdf::InvalidReqAccess);
    if in_queue_callback() { breach.named(Kmdf::InvalidReqAccessLocal) } else { breach }
}

/// Stops the machine because a handle is not that of a request. `breach` says what it is if the request was completed.
pub(super) fn misuse(handle: Handle, breach: impl FnOnce(RequestKind) -> Breach) -> ! {
    let Some(kind) = with(|framework| framework.end_of(handle).map(|end| end.kind)) else { object::violation(handle) };
    object::stop(breach(kind), format_args!("bug check 0x10D: {handle:#x} is a completed request"))
}

/// Reads a request that may already be completed and deleted. In that case returns the default value.
pub(super) fn lookup<R: Default>(handle: Handle, look: impl FnOnce(&Request) -> R) -> R {
    update(handle, |request| look(request)).unwrap_or_default()
}

/// Reads or changes a request that may already be completed and deleted. In that case returns `None`.
pub(super) fn update<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> Option<R> {
    with(|framework| framework.get_mut(handle).map(body))
}

/// Creates a request for a client of a device.
pub(super) fn create(device: Handle, request: Request) -> Outcome<Handle> {
    let attributes = with_device(device, |device| device.init.request);
    let file = request.file;
    let request = Request { process: process::current_id(), ..request };
    let handle = object::create_with(0, &attributes, Some(device), request)?;
    if !file.is_null() {
        with(|framework| framework.through_files.insert((file, handle)));
    }
    Ok(handle)
}

/// Returns a request that was sent through a file and is not completed.
pub(super) fn through_file(file: Handle) -> Option<Handle> {
    with(|framework| {
        let next = framework.through_files.next_from(&(file, Handle::NULL));
        next.filter(|(known, _)| *known == file).map(|(_, request)| *request)
    })
}

/// Returns the requests of a queue that the driver has.
pub(super) fn presented_in(queue: Handle) -> Vec<Handle> {
    with(|framework| {
        let has = |request: &Request| request.queue == queue && request.presented;
        framework.all().filter(|(_, request)| has(request)).map(|(handle, _)| handle).collect()
    })
}

/// Stores the type and the parameters of a request.
pub(super) fn describe(request: Handle, place: GuestPtr<WDF_REQUEST_PARAMETERS>) -> Result<(), Fault> {
    let (kind, code, input, output) =
        with_request(request, |request| (request.kind, request.code, request.input, request.output));
    place.Type().write(kind.as_int().into())?;
    let parameters = place.Parameters().cast::<u64>();
    if kind.has_code() {
        parameters.write_all(&[output.len(), input.len()])?;
        parameters.at(2).cast::<u32>().write(code)?;
        return parameters.at(3).write(input.start().address());
    }
    parameters.write(input.len().max(output.len()))?;
    parameters.at(1).cast::<u32>().write(0)?;
    parameters.at(2).write(0)
}
