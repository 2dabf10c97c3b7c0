//! The loader's routines that a provider uses to look up routines that older Windows versions lack.
//!
//! There are two modules, and both export the same routines. If the name of a module or a routine is hidden in the
//! engine, the lookup fails.

use std::ffi::{c_char, c_void};
use std::ptr;

use etw_engine::{Routine, Subject};
use etw_types::NtStatus;

use crate::memory::{read_terminated, read_wide};
use crate::{Host, user};

/// `GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS`: the name is an address. Not supported here.
const FROM_ADDRESS: u32 = 4;

/// Pointers below this address are ordinals or mistakes.
const LOWEST_ADDRESS: usize = 0x1_0000;

/// The known modules. A module's handle is the address of its entry.
static MODULES: [&str; 2] = ["api-ms-win-eventing-provider-l1-1-0.dll", "advapi32.dll"];

/// Finds a module by its name. Stores its handle and returns 1, or stores NULL and returns 0.
///
/// # Safety
///
/// `name` must be NULL or a terminated UTF-16 string; with flag 4 it may be anything. `module` must be NULL or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetModuleHandleExW(flags: u32, name: *const u16, module: *mut *mut c_void) -> i32 {
    let name = if flags & FROM_ADDRESS == 0 {
        // SAFETY: `name` is not an address, so the caller guarantees that it is NULL or a terminated string.
        unsafe { read_wide(name) }
    } else {
        None
    };
    let name = name.and_then(|name| String::from_utf16(&name).ok()).unwrap_or_default();
    let host = Host::current();
    let engine = host.engine();
    let mut found: *const c_void = ptr::null();
    let status = engine.record(Routine::FindModule, Subject::Name(name.clone()), || {
        let known = MODULES.iter().find(|known| known.eq_ignore_ascii_case(&name));
        match known {
            Some(known) if !module.is_null() && !engine.is_hidden(known) => {
                found = ptr::from_ref(known).cast();
                NtStatus::Success
            }
            _ => NtStatus::EntryPointNotFound,
        }
    });
    if !module.is_null() {
        // SAFETY: `module` is not NULL, so the caller guarantees that it is writable; it need not be aligned.
        unsafe { module.write_unaligned(found.cast_mut()) };
    }
    i32::from(status.is_success() && !found.is_null())
}

/// Finds a routine of a module by its name. Returns NULL if the routine is hidden or does not exist in the module.
///
/// # Safety
///
/// `name` must be an ordinal (at most 0xFFFF) or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller upholds the same contract.
    let name = unsafe { read_name(name) }.unwrap_or_default();
    let host = Host::current();
    let engine = host.engine();
    let mut found = ptr::null();
    engine.record(Routine::FindRoutine, Subject::Name(name.clone()), || match user::address(&name) {
        Some(address) if module_name(module).is_some() && !engine.is_hidden(&name) => {
            found = address;
            NtStatus::Success
        }
        _ => NtStatus::EntryPointNotFound,
    });
    found.cast_mut().cast()
}

/// Releases a module's handle. Returns 1, or 0 if it is not the handle of a module.
///
/// # Safety
///
/// There are no requirements: any handle is valid input.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn FreeLibrary(module: *mut c_void) -> i32 {
    let name = module_name(module);
    let subject = name.map_or(Subject::None, |name| Subject::Name(name.to_owned()));
    let status = Host::current().engine().record(Routine::FreeModule, subject, || match name {
        Some(_) => NtStatus::Success,
        None => NtStatus::InvalidHandle,
    });
    i32::from(status.is_success())
}

fn module_name(module: *mut c_void) -> Option<&'static str> {
    MODULES.iter().find(|known| ptr::addr_eq(*known, module)).copied()
}

/// Copies a terminated name. Returns `None` for NULL, for an ordinal instead of a name, and for bytes that are not
/// UTF-8.
///
/// # Safety
///
/// `name` must be at most 0xFFFF, or readable up to and including its first zero.
unsafe fn read_name(name: *const c_char) -> Option<String> {
    if name.addr() < LOWEST_ADDRESS {
        return None;
    }
    // SAFETY: `name` is an address, so the caller guarantees that it is readable.
    let bytes = unsafe { read_terminated(name.cast::<u8>()) }?;
    String::from_utf8(bytes).ok()
}
