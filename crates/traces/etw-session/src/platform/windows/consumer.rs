//! Events of a running session: `OpenTraceW`, and `ProcessTrace` on its own thread.
//!
//! `ProcessTrace` calls a callback for every event. The callback converts the event to a record as it would be in a
//! file, so that the same code decodes live events and those of files.

use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use etw_etl::{Clock, ClockKind, Event, EventData, ExtendedItem, ExtendedType};
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode, Win32Error};
use windows_sys::Win32::Foundation::{ERROR_CANCELLED, ERROR_SUCCESS, GetLastError};
use windows_sys::Win32::System::Diagnostics::Etw::{
    CloseTrace, EVENT_RECORD, EVENT_TRACE_LOGFILEW, OpenTraceW, PROCESS_TRACE_MODE_EVENT_RECORD,
    PROCESS_TRACE_MODE_REAL_TIME, PROCESSTRACE_HANDLE, ProcessTrace,
};
use windows_sys::core::GUID;

use crate::system::{EventSource, Received};

/// The maximum number of events that are queued between the processing thread and the receiver.
const QUEUE: usize = 64 * 1024;
/// `INVALID_PROCESSTRACE_HANDLE`.
const INVALID: u64 = u64::MAX;
/// The maximum size of a record in bytes.
const MAX_RECORD: usize = 0xFFFF;

/// What the callback receives.
struct Context {
    sender: SyncSender<Result<Event, Win32Error>>,
}

struct Source {
    receiver: Receiver<Result<Event, Win32Error>>,
    handle: u64,
}

/// Connects to a session.
pub(super) fn open(name: &str) -> Result<Box<dyn EventSource>, Win32Error> {
    let (sender, receiver) = sync_channel(QUEUE);
    let mut name = super::wide(name);
    let context = Box::into_raw(Box::new(Context { sender }));
    let mut log = EVENT_TRACE_LOGFILEW { LoggerName: name.as_mut_ptr(), ..EVENT_TRACE_LOGFILEW::default() };
    log.Anonymous1.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD;
    log.Anonymous2.EventRecordCallback = Some(on_event);
    log.Context = context.cast::<c_void>();
    // SAFETY: the structure is filled in, its name ends with NUL, and both outlive the call.
    let handle = unsafe { OpenTraceW(&raw mut log) }.Value;
    if handle == INVALID {
        // SAFETY: the trace was not opened, so nothing else uses the context.
        drop(unsafe { Box::from_raw(context) });
        // SAFETY: the function has no preconditions.
        return Err(Win32Error::from_int(unsafe { GetLastError() }));
    }
    let owned = SendPointer(context);
    thread::spawn(move || {
        let owned = owned;
        let trace = PROCESSTRACE_HANDLE { Value: handle };
        // SAFETY: the handle was opened above; null times do not limit what is processed. The call returns when the
        // session or the trace ends.
        let code = unsafe { ProcessTrace(&raw const trace, 1, ptr::null(), ptr::null()) };
        // SAFETY: the callback is not called any more, and the pointer came from `Box::into_raw`.
        let context = unsafe { Box::from_raw(owned.0) };
        if code != ERROR_SUCCESS && code != ERROR_CANCELLED {
            // The error is ignored if the receiver is gone.
            let _ = context.sender.send(Err(Win32Error::from_int(code)));
        }
    });
    Ok(Box::new(Source { receiver, handle }))
}

/// Moves the context to the processing thread.
struct SendPointer(*mut Context);

// SAFETY: this is the only pointer to the value, and the value itself is `Send`.
unsafe impl Send for SendPointer {}

impl EventSource for Source {
    fn receive(&mut self, timeout: Duration) -> Received {
        match self.receiver.recv_timeout(timeout) {
            Ok(Ok(event)) => Received::Event(Box::new(event)),
            Ok(Err(code)) => Received::Failed(code),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::End,
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // SAFETY: the handle was opened by this module and is closed once. Processing ends soon afterwards.
        unsafe { CloseTrace(PROCESSTRACE_HANDLE { Value: self.handle }) };
    }
}

unsafe extern "system" fn on_event(record: *mut EVENT_RECORD) {
    // SAFETY: ETW passes a record that is valid for the duration of the call.
    let Some(record) = (unsafe { record.as_ref() }) else { return };
    // SAFETY: the context is the one that the trace was opened with, and it lives until processing ends.
    let Some(context) = (unsafe { record.UserContext.cast::<Context>().as_ref() }) else { return };
    if let Some(event) = event_of(record) {
        // The event is dropped if the receiver is gone.
        let _ = context.sender.send(Ok(event));
    }
}

const fn guid(raw: &GUID) -> Guid {
    Guid::from_fields(raw.data1, raw.data2, raw.data3, raw.data4)
}

/// Returns memory of a record as a slice, which is empty for a null pointer.
///
/// # Safety
///
/// `pointer` must be null or point to `size` readable bytes that outlive the result.
unsafe fn bytes<'a>(pointer: *const u8, size: u16) -> &'a [u8] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: the caller guarantees that the pointer is valid for `size` bytes.
    unsafe { slice::from_raw_parts(pointer, size.into()) }
}

/// Converts the event by encoding it as a record of a file. Timestamps are system time, because raw timestamps were not
/// requested.
fn event_of(record: &EVENT_RECORD) -> Option<Event> {
    let header = &record.EventHeader;
    let descriptor = &header.EventDescriptor;
    let raw_items = if record.ExtendedData.is_null() {
        &[][..]
    } else {
        // SAFETY: ETW sets the number of items, and they are valid for the duration of the call.
        unsafe { slice::from_raw_parts(record.ExtendedData, record.ExtendedDataCount.into()) }
    };
    let mut items = Vec::new();
    for item in raw_items {
        // SAFETY: the data of an item has the declared size and is valid for the duration of the call.
        let data = unsafe { bytes(item.DataPtr as *const u8, item.DataSize) };
        items.push(ExtendedItem { kind: ExtendedType(item.ExtType), data });
    }
    // SAFETY: the data of the event has the declared size and is valid for the duration of the call.
    let payload = unsafe { bytes(record.UserData.cast(), record.UserDataLength) };
    // SAFETY: both variants of the union consist of integers.
    let times = unsafe { header.Anonymous.Anonymous };
    // SAFETY: both variants of the union are the processor number.
    let cpu = unsafe { record.BufferContext.Anonymous.ProcessorIndex };
    let data = EventData {
        provider: guid(&header.ProviderId),
        descriptor: EventDescriptor {
            id: descriptor.Id,
            version: descriptor.Version,
            channel: Channel::from_int(descriptor.Channel),
            level: Level::from_int(descriptor.Level),
            opcode: Opcode::from_int(descriptor.Opcode),
            task: descriptor.Task,
            keyword: Keyword::from_bits(descriptor.Keyword),
        },
        flags: header.Flags,
        property: header.EventProperty,
        is_32_bit: false,
        thread_id: header.ThreadId,
        process_id: header.ProcessId,
        timestamp: header.TimeStamp.cast_unsigned(),
        kernel_time: times.KernelTime,
        user_time: times.UserTime,
        activity: guid(&header.ActivityId),
        items: &items,
        payload,
    };
    let clock = Clock { kind: ClockKind::SystemTime, ..Clock::default() };
    let mut bytes = vec![0; data.encoded_len().min(MAX_RECORD)];
    let size = data.encode(&mut bytes)?;
    Event::from_record(bytes.get(..size)?, cpu, &clock)
}
