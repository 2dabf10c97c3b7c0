//! Windows itself.
//!
//! The control functions are imported from advapi32. The functions of the information classes were added later and
//! moved between libraries. They are looked up on first use, in advapi32 and then in sechost; a missing one is
//! `CallNotImplemented`. Wine exports some of them but aborts the process when they are called, so they count as
//! missing there.

#![expect(unsafe_code, reason = "the one place that calls the system")]

pub(super) mod console;
mod consumer;
mod lookup;
mod privilege;
pub(super) mod registry;

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use etw_types::session::{EventTraceProperties, TraceInfoClass};
use etw_types::{Guid, Win32Error};
use windows_sys::Win32::System::Diagnostics::Etw::{
    CONTROLTRACE_HANDLE, ControlTraceW, ENABLE_TRACE_PARAMETERS, ENABLE_TRACE_PARAMETERS_VERSION_2,
    EVENT_FILTER_DESCRIPTOR, EVENT_TRACE_PROPERTIES, EnableTraceEx2, QueryAllTracesW, StartTraceW,
};
use windows_sys::core::GUID;

pub use console::interrupted;

use crate::system::{Control, EnableRequest, EventSource, Refusal, System, Target};

// Property blocks have the 64-bit layout.
const _: () = assert!(size_of::<EVENT_TRACE_PROPERTIES>() == EventTraceProperties::SIZE);

/// The default maximum number of sessions of Windows, and the largest that can be configured. Requesting room for more
/// sessions than the system supports is an error, so the larger number is tried second.
const SESSIONS: [usize; 2] = [64, 256];

/// The system that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowsSystem;

/// Returns the system of this process.
#[must_use]
pub fn local() -> Arc<dyn System> {
    Arc::new(WindowsSystem)
}

fn check(code: u32) -> Result<(), Win32Error> {
    Win32Error::from_int(code).ok()
}

fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

const fn raw_guid(guid: &Guid) -> GUID {
    GUID { data1: guid.data1, data2: guid.data2, data3: guid.data3, data4: guid.data4 }
}

const fn session_handle(handle: u64) -> CONTROLTRACE_HANDLE {
    CONTROLTRACE_HANDLE { Value: handle }
}

fn length(bytes: usize) -> Result<u32, Win32Error> {
    u32::try_from(bytes).map_err(|_| Win32Error::ArithmeticOverflow)
}

/// A block in memory that is aligned for the structure. [`Aligned::copy_to`] copies back what the system wrote.
struct Aligned(Vec<u64>);

impl Aligned {
    fn copy(bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Self(words.iter().chain([&last]).map(|word| u64::from_ne_bytes(*word)).collect())
    }

    fn as_mut_ptr<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }

    fn copy_to(&self, bytes: &mut [u8]) {
        bytes.chunks_mut(8).zip(&self.0).for_each(|(to, from)| {
            to.iter_mut().zip(from.to_ne_bytes()).for_each(|(to, from)| *to = from);
        });
    }
}

/// `QueryAllTracesW` with room for `most` sessions.
fn query_all(template: &[u8], most: usize) -> Result<Vec<Vec<u8>>, Win32Error> {
    let mut blocks: Vec<Aligned> = (0..most).map(|_| Aligned::copy(template)).collect();
    let mut pointers: Vec<*mut EVENT_TRACE_PROPERTIES> = blocks.iter_mut().map(Aligned::as_mut_ptr).collect();
    let mut count = 0;
    // SAFETY: the array has `most` pointers, each to an aligned, writable block of the length that it declares.
    let code = unsafe { QueryAllTracesW(pointers.as_mut_ptr(), length(most)?, &raw mut count) };
    check(code)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let filled = blocks.iter().take(count).map(|block| {
        let mut bytes = template.to_vec();
        block.copy_to(&mut bytes);
        bytes
    });
    Ok(filled.collect())
}

impl System for WindowsSystem {
    fn start_trace(&self, name: &str, block: &mut [u8]) -> Result<u64, Win32Error> {
        let name = wide(name);
        let mut aligned = Aligned::copy(block);
        let mut handle = session_handle(0);
        // SAFETY: the name ends with NUL; the block is aligned, writable and has the length that it declares.
        let code = unsafe { StartTraceW(&raw mut handle, name.as_ptr(), aligned.as_mut_ptr()) };
        aligned.copy_to(block);
        check(code)?;
        Ok(handle.Value)
    }

    fn control_trace(&self, target: Target<'_>, control: Control, block: &mut [u8]) -> Result<(), Win32Error> {
        let (handle, name) = match target {
            Target::Handle(handle) => (handle, None),
            Target::Name(name) => (0, Some(wide(name))),
        };
        let name = name.as_ref().map_or(ptr::null(), Vec::as_ptr);
        let mut aligned = Aligned::copy(block);
        // SAFETY: the name is null, or ends with NUL and outlives the call; the block is aligned, writable and has the
        // length that it declares.
        let code = unsafe { ControlTraceW(session_handle(handle), name, aligned.as_mut_ptr(), control as u32) };
        aligned.copy_to(block);
        check(code)
    }

    fn query_all_traces(&self, template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error> {
        let [usual, largest] = SESSIONS;
        match query_all(template, usual) {
            Err(Win32Error::MoreData) => query_all(template, largest),
            result => result,
        }
    }

    fn enable_trace(&self, session: u64, request: &EnableRequest<'_>) -> Result<(), Win32Error> {
        let mut filters = Vec::new();
        for (kind, data) in request.filters {
            let size = length(data.len())?;
            filters.push(EVENT_FILTER_DESCRIPTOR { Ptr: data.as_ptr() as u64, Size: size, Type: *kind });
        }
        let parameters = ENABLE_TRACE_PARAMETERS {
            Version: ENABLE_TRACE_PARAMETERS_VERSION_2,
            EnableProperty: request.property,
            ControlFlags: 0,
            SourceId: raw_guid(&request.source),
            EnableFilterDesc: if filters.is_empty() { ptr::null_mut() } else { filters.as_mut_ptr() },
            FilterDescCount: length(filters.len())?,
        };
        let provider = raw_guid(&request.provider);
        let handle = session_handle(session);
        let control = request.control.as_int();
        let level = request.level.as_int();
        let any = request.any;
        let all = request.all;
        let timeout = request.timeout;
        // SAFETY: the GUID, the parameters, the descriptors and the data that they point to outlive the call and have
        // the declared sizes.
        check(unsafe {
            EnableTraceEx2(handle, &raw const provider, control, level, any, all, timeout, &raw const parameters)
        })
    }

    fn set_information(&self, session: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Win32Error> {
        let set = lookup::functions().set.ok_or(Win32Error::CallNotImplemented)?;
        let size = length(data.len())?;
        let aligned = Aligned::copy(data);
        // Clearing the list of this class takes a null pointer and size 0; other classes take any pointer and size 0.
        let is_null = data.is_empty() && class == TraceInfoClass::PeriodicCaptureStateListInfo;
        let pointer: *const c_void = if is_null { ptr::null() } else { aligned.0.as_ptr().cast() };
        // SAFETY: the function has this signature; the data has `size` bytes.
        check(unsafe { set(session_handle(session), lookup::class(class), pointer, size) })
    }

    fn query_information(&self, session: u64, class: TraceInfoClass, buffer: &mut [u8]) -> Result<usize, Refusal> {
        let query = lookup::functions().query.ok_or(Win32Error::CallNotImplemented)?;
        let size = length(buffer.len())?;
        let mut aligned = Aligned::copy(buffer);
        let pointer: *mut c_void = if buffer.is_empty() { ptr::null_mut() } else { aligned.as_mut_ptr() };
        let mut needed = 0;
        // SAFETY: the function has this signature; the buffer is writable and has `size` bytes.
        let code = unsafe { query(session_handle(session), lookup::class(class), pointer, size, &raw mut needed) };
        aligned.copy_to(buffer);
        lookup::sized(code, needed)
    }

    fn enumerate(&self, class: TraceInfoClass, input: &[u8], buffer: &mut [u8]) -> Result<usize, Refusal> {
        let enumerate = lookup::functions().enumerate.ok_or(Win32Error::CallNotImplemented)?;
        let in_size = length(input.len())?;
        let out_size = length(buffer.len())?;
        let aligned_input = Aligned::copy(input);
        let in_pointer: *const c_void = if input.is_empty() { ptr::null() } else { aligned_input.0.as_ptr().cast() };
        let mut aligned = Aligned::copy(buffer);
        let out_pointer: *mut c_void = if buffer.is_empty() { ptr::null_mut() } else { aligned.as_mut_ptr() };
        let mut needed = 0;
        let class = lookup::class(class);
        // SAFETY: the function has this signature; the buffers have `in_size` and `out_size` bytes.
        let code = unsafe { enumerate(class, in_pointer, in_size, out_pointer, out_size, &raw mut needed) };
        aligned.copy_to(buffer);
        lookup::sized(code, needed)
    }

    fn consume(&self, name: &str) -> Result<Box<dyn EventSource>, Win32Error> {
        consumer::open(name)
    }

    fn enable_profile_privilege(&self) -> Result<(), Win32Error> {
        privilege::enable_profile()
    }

    fn description(&self) -> &'static str {
        if lookup::is_wine() { "Wine, which has no ETW" } else { "this Windows" }
    }

    fn caveat(&self) -> Option<&'static str> {
        lookup::is_wine().then_some("This is Wine: it reports that sessions start and stop, but there are none.")
    }
}

/// The result of `TdhEnumerateProviders`: a `PROVIDER_ENUMERATION_INFO` with all registered providers.
pub(crate) fn registered_providers() -> Option<Vec<u8>> {
    let enumerate = lookup::enumerate_providers()?;
    // The list may grow between two calls.
    let mut size = 0_u32;
    for _ in 0..4 {
        let mut block = Aligned(vec![0; usize::try_from(size).ok()?.div_ceil(8)]);
        // SAFETY: the block is aligned and has at least as many bytes as `size` says; both live during the call.
        let code = unsafe { enumerate(block.as_mut_ptr(), &raw mut size) };
        match check(code) {
            Ok(()) => {
                let bytes: Vec<u8> = block.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
                return Some(bytes);
            }
            Err(Win32Error::InsufficientBuffer) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Returns the system's message for an error code, or `None` if it has none.
pub(crate) fn message(code: u32) -> Option<String> {
    let text = std::io::Error::from_raw_os_error(code.cast_signed()).to_string();
    // The standard library appends the code, which is already shown, and uses its own text if the system has no
    // message.
    let message = text.split(" (os error ").next().unwrap_or_default().trim_end_matches('.');
    (!message.is_empty() && !message.starts_with("OS Error ")).then(|| message.to_owned())
}
