//! The loader's routines, as far as a provider uses them to look up what an older Windows lacks.
//!
//! Two modules are known, and both export the same routines. Hiding a module's or a routine's name in the engine makes
//! the lookup fail.

use std::ffi::{c_char, c_void};
use std::ptr;

use etw_engine::{Routine, Subject};
use etw_types::NtStatus;

use crate::memory::{read_name, read_wide};
use crate::{Host, user};

/// `GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS`: the name is an address. Not known here.
const FROM_ADDRESS: u32 = 4;

/// The modules. A module's handle is the address of its entry.
static MODULES: [&str; 2] = ["api-ms-win-eventing-provider-l1-1-0.dll", "advapi32.dll"];

/// Finds a module by its name: stores its handle and returns 1, or stores NULL and returns 0.
///
/// # Safety
///
/// `name` is NULL, or a terminated UTF-16 string, or with the flag 4 anything; `module` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetModuleHandleExW(flags: u32, name: *const u16, module: *mut *mut c_void) -> i32 {
    let name = if flags & FROM_ADDRESS == 0 {
        // SAFETY: not an address, hence NULL or a string by this function's contract.
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
        // SAFETY: not NULL, hence writable by this function's contract; alignment is not needed.
        unsafe { module.write_unaligned(found.cast_mut()) };
    }
    i32::from(status.is_success() && !found.is_null())
}

/// Finds a routine of a module by its name; NULL for one that is hidden, or that the module does not have.
///
/// # Safety
///
/// `name` is an ordinal (at most 0xFFFF) or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the same contract.
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

/// Gives up a module's handle: 1, or 0 for what is not one.
///
/// # Safety
///
/// None beyond being called through the C ABI; any handle is answered.
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
