//! The functions of the information classes, looked up at run time.

use std::ffi::{CStr, c_void};
use std::mem;
use std::sync::OnceLock;

use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;
use windows_sys::Win32::Foundation::FARPROC;
use windows_sys::Win32::System::Diagnostics::Etw::{CONTROLTRACE_HANDLE, TRACE_QUERY_INFO_CLASS};
use windows_sys::Win32::System::LibraryLoader::{
    GetModuleHandleA, GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExA,
};

use crate::system::Refusal;

type Set = unsafe extern "system" fn(CONTROLTRACE_HANDLE, TRACE_QUERY_INFO_CLASS, *const c_void, u32) -> u32;
type Query = unsafe extern "system" fn(CONTROLTRACE_HANDLE, TRACE_QUERY_INFO_CLASS, *mut c_void, u32, *mut u32) -> u32;
type Enumerate =
    unsafe extern "system" fn(TRACE_QUERY_INFO_CLASS, *const c_void, u32, *mut c_void, u32, *mut u32) -> u32;

/// The functions that this system has.
pub(super) struct Functions {
    pub(super) set: Option<Set>,
    pub(super) query: Option<Query>,
    pub(super) enumerate: Option<Enumerate>,
}

/// Returns the functions, looked up once.
pub(super) fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let set = find(c"TraceSetInformation");
        // Wine exports these two and aborts the process when they are called.
        let real = |name| if is_wine() { None } else { find(name) };
        Functions {
            // SAFETY: the export with this name has this signature (evntrace.h).
            set: set.map(|found| unsafe { mem::transmute::<unsafe extern "system" fn() -> isize, Set>(found) }),
            // SAFETY: the export with this name has this signature (evntrace.h).
            query: real(c"TraceQueryInformation")
                .map(|found| unsafe { mem::transmute::<unsafe extern "system" fn() -> isize, Query>(found) }),
            // SAFETY: the export with this name has this signature (evntrace.h).
            enumerate: real(c"EnumerateTraceGuidsEx")
                .map(|found| unsafe { mem::transmute::<unsafe extern "system" fn() -> isize, Enumerate>(found) }),
        }
    })
}

type EnumerateProviders = unsafe extern "system" fn(*mut c_void, *mut u32) -> u32;

/// Returns `TdhEnumerateProviders` of tdh, which is not loaded by programs that do not decode events.
pub(super) fn enumerate_providers() -> Option<EnumerateProviders> {
    let found = find_in(c"tdh.dll", c"TdhEnumerateProviders").filter(|_| !is_wine())?;
    // SAFETY: the export with this name has this signature (tdh.h).
    Some(unsafe { mem::transmute::<unsafe extern "system" fn() -> isize, EnumerateProviders>(found) })
}

/// Whether this is Wine, whose ntdll exports `wine_get_version`.
pub(super) fn is_wine() -> bool {
    static WINE: OnceLock<bool> = OnceLock::new();
    *WINE.get_or_init(|| {
        // SAFETY: the name ends with NUL.
        let ntdll = unsafe { GetModuleHandleA(c"ntdll.dll".as_ptr().cast()) };
        // SAFETY: ntdll is loaded in every process; the name ends with NUL.
        !ntdll.is_null() && unsafe { GetProcAddress(ntdll, c"wine_get_version".as_ptr().cast()) }.is_some()
    })
}

/// Finds an export in advapi32 or, failing that, in sechost.
fn find(name: &CStr) -> FARPROC {
    [c"advapi32.dll", c"sechost.dll"].into_iter().find_map(|library| find_in(library, name))
}

/// Finds an export in a library of the system.
fn find_in(library: &CStr, name: &CStr) -> FARPROC {
    let library = library.as_ptr().cast();
    // SAFETY: the name ends with NUL; only the system folder is searched. The library stays loaded.
    let module = unsafe { LoadLibraryExA(library, std::ptr::null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
    if module.is_null() {
        return None;
    }
    // SAFETY: the library is loaded and the name ends with NUL.
    unsafe { GetProcAddress(module, name.as_ptr().cast()) }
}

/// Converts a class to the type that the functions take.
pub(super) const fn class(class: TraceInfoClass) -> TRACE_QUERY_INFO_CLASS {
    class.as_int().cast_signed()
}

/// Converts the result of a function with `ReturnLength`.
pub(super) fn sized(code: u32, needed: u32) -> Result<usize, Refusal> {
    let needed = usize::try_from(needed).unwrap_or(usize::MAX);
    match Win32Error::from_int(code).ok() {
        Ok(()) => Ok(needed),
        Err(code) => Err(Refusal { code, needed }),
    }
}
