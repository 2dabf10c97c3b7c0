//! Requests: their data and their buffers. [`super::deliver`] presents and completes them.

use etw_types::NtStatus;

use super::device::{self, with_device};
use super::kind::Kind;
use super::state::with;
use super::{Handle, memory, object};
use crate::kernel::io::client::Packet;
use crate::kernel::io::mdl;
use crate::kernel::{self, RequestKind, kernel};
use crate::layout::{IRP, MDL, WDF_REQUEST_PARAMETERS};
use crate::memory::{Code, Fault, GuestPtr, GuestSlice};
use crate::routine::{Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, done, fail, functions};

/// How long a client waits before it cancels a request, and then again before it gives up: 60 s in units of 100 ns.
pub(super) const PATIENCE: u64 = 600_000_000;
/// `UserMode`.
const USER_MODE: i8 = 1;
/// The number of the System process.
pub(super) const SYSTEM_PROCESS: u32 = 4;

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
        with_request(request, |request| request.result.0)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveInputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Input, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveOutputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Output, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveUnsafeUserInputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Input, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveUnsafeUserOutputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Output, least, place, length)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveInputMemory(&call, request: Handle, place: GuestPtr<Handle>) -> Outcome {
        retrieve_memory(call, request, Direction::Input, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveOutputMemory(&call, request: Handle, place: GuestPtr<Handle>) -> Outcome {
        retrieve_memory(call, request, Direction::Output, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveInputWdmMdl(request: Handle, place: Out<GuestPtr<MDL>>) -> Outcome {
        retrieve_list(request, Direction::Input, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveOutputWdmMdl(request: Handle, place: Out<GuestPtr<MDL>>) -> Outcome {
        retrieve_list(request, Direction::Output, place)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetParameters(request: Handle, place: GuestPtr<WDF_REQUEST_PARAMETERS>) -> Result<(), Fault> {
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
    fn WdfRequestGetRequestorMode(_request: Ignored<Handle>) -> i8 {
        USER_MODE
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestGetRequestorProcessId(_request: Ignored<Handle>) -> u32 {
        SYSTEM_PROCESS
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestIsFrom32BitProcess(_request: Ignored<Handle>) -> bool {
        false
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestIsReserved(_request: Ignored<Handle>) -> bool {
        false
    }
}

/// A request.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) kind: RequestKind,
    pub(super) code: u32,
    pub(super) queue: Handle,
    /// The file that it was sent through. The driver sees it only if it uses file objects.
    pub(super) file: Handle,
    pub(super) input: GuestSlice<u8>,
    pub(super) output: GuestSlice<u8>,
    pub(super) information: u64,
    /// The driver has the request.
    pub(super) presented: bool,
    /// The driver has or had the request.
    pub(super) delivered: bool,
    /// A client waits for the end of the request.
    pub(super) awaited: bool,
    /// The driver acknowledged `EvtIoStop` and keeps the request while the device sleeps.
    pub(super) acknowledged: bool,
    /// The callback that received the request, or the driver's code that took it from a queue.
    pub(super) handler: u64,
    pub(super) cancel: GuestPtr<Code>,
    pub(super) canceled: bool,
    /// `EvtRequestCancel` has been called.
    pub(super) cancel_told: bool,
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
}

/// A request that a target has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) target: Handle,
    pub(super) options: Options,
    /// The timeout has expired: the status is `STATUS_IO_TIMEOUT`, whatever the device returns.
    pub(super) late: bool,
    pub(super) place: Place,
    /// Cancels the request where it is. Returns whether it was still waiting, or the device that has it was notified.
    pub(super) cancel: fn(Handle) -> bool,
}

/// Where a request is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
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
        let shown = self.shown.non_null().map(GuestPtr::address);
        for address in self.lists.iter().map(|list| list.address()).chain(shown) {
            kernel::lock(&kernel().pool).free_object(address);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

/// Reads or changes a request.
pub(super) fn with_request<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> R {
    object::part(handle, body)
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
    let (attributes, file) = (with_device(device, |device| device.init.request), request.file);
    let handle = object::create_with(0, &attributes, Some(device), request)?;
    if !file.is_null() {
        with(|framework| framework.through_files.insert((file, handle)));
    }
    Ok(handle)
}

/// Returns a request that was sent through a file and is not completed.
pub(super) fn through_file(file: Handle) -> Option<Handle> {
    with(|framework| {
        let next = framework.through_files.range((file, Handle::NULL)..).next();
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

/// Returns a request's buffer for a direction. Fails if there is none.
fn buffer(handle: Handle, direction: Direction) -> Outcome<GuestSlice<u8>> {
    let buffer = with_request(handle, |request| match (direction, request.kind) {
        (Direction::Input, RequestKind::READ) | (Direction::Output, RequestKind::WRITE) => None,
        (Direction::Input, _) => Some(request.input),
        (Direction::Output, _) => Some(request.output),
    });
    match buffer {
        None => fail(NtStatus::InvalidDeviceRequest),
        Some(buffer) if buffer.is_empty() => fail(NtStatus::BufferTooSmall),
        Some(buffer) => done(buffer),
    }
}

/// Stores the address and the length of a buffer that has at least `least` bytes.
fn retrieve(request: Handle, direction: Direction, least: u64, place: Out<GuestPtr<u8>>, length: Out<u64>) -> Outcome {
    let buffer = buffer(request, direction)?;
    if buffer.len() < least {
        return fail(NtStatus::BufferTooSmall);
    }
    place.set(buffer.start())?;
    length.set_if_wanted(buffer.len())?;
    Ok(())
}

fn retrieve_memory(call: &Call, request: Handle, direction: Direction, place: GuestPtr<Handle>) -> Outcome {
    let buffer = buffer(request, direction)?;
    object::created(memory::describe(call.from, request, buffer), place)
}

fn retrieve_list(request: Handle, direction: Direction, place: Out<GuestPtr<MDL>>) -> Outcome {
    let buffer = buffer(request, direction)?;
    let list = mdl::new(buffer.start(), buffer.len() as u32)?;
    with_request(request, |request| request.lists.push(list));
    place.set(list)?;
    Ok(())
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
