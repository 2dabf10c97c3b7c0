//! The profile privilege: an administrator's token has it, but disabled.

use std::ptr;

use etw_types::Win32Error;
use windows_sys::Win32::Foundation::{CloseHandle, GetLastError, HANDLE, LUID};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW, SE_PRIVILEGE_ENABLED, TOKEN_ADJUST_PRIVILEGES,
    TOKEN_PRIVILEGES, TOKEN_QUERY,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// A token that is closed when it is dropped.
struct Token(HANDLE);

impl Drop for Token {
    fn drop(&mut self) {
        // SAFETY: the handle was opened by this module and is closed once.
        unsafe { CloseHandle(self.0) };
    }
}

fn last_error() -> Win32Error {
    // SAFETY: there is nothing to prove.
    Win32Error::from_int(unsafe { GetLastError() })
}

/// Turns on `SeSystemProfilePrivilege`.
pub(super) fn enable_profile() -> Result<(), Win32Error> {
    let mut handle = ptr::null_mut();
    // SAFETY: a constant handle of this process; there is nothing to prove.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: the process is this one, and the place for the handle is writable.
    if unsafe { OpenProcessToken(process, TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &raw mut handle) } == 0 {
        return Err(last_error());
    }
    let token = Token(handle);
    let name = super::wide("SeSystemProfilePrivilege");
    let mut luid = LUID { LowPart: 0, HighPart: 0 };
    // SAFETY: no system's name stands for this one; the name ends with NUL; the place for the number is writable.
    if unsafe { LookupPrivilegeValueW(ptr::null(), name.as_ptr(), &raw mut luid) } == 0 {
        return Err(last_error());
    }
    let privileges = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES { Luid: luid, Attributes: SE_PRIVILEGE_ENABLED }],
    };
    // SAFETY: the token is open for adjusting; one privilege is said and given; the former state is not asked for.
    let adjusted =
        unsafe { AdjustTokenPrivileges(token.0, 0, &raw const privileges, 0, ptr::null_mut(), ptr::null_mut()) };
    // A token without the privilege is a success with an error behind it (1300, not all assigned).
    match last_error() {
        Win32Error::Success if adjusted != 0 => Ok(()),
        error if adjusted == 0 => Err(error),
        _ => Err(Win32Error::PrivilegeNotHeld),
    }
}
