//! The profile privilege: the token of an administrator has it, but it is disabled by default.

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
    // SAFETY: the function has no preconditions.
    Win32Error::from_int(unsafe { GetLastError() })
}

/// Enables `SeSystemProfilePrivilege`.
pub(super) fn enable_profile() -> Result<(), Win32Error> {
    let mut handle = ptr::null_mut();
    // SAFETY: the function has no preconditions; it returns a constant handle of this process.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: the handle is that of this process, and `handle` is writable.
    if unsafe { OpenProcessToken(process, TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &raw mut handle) } == 0 {
        return Err(last_error());
    }
    let token = Token(handle);
    let name = super::wide("SeSystemProfilePrivilege");
    let mut luid = LUID { LowPart: 0, HighPart: 0 };
    // SAFETY: a null system name means the local system; the name ends with NUL; `luid` is writable.
    if unsafe { LookupPrivilegeValueW(ptr::null(), name.as_ptr(), &raw mut luid) } == 0 {
        return Err(last_error());
    }
    let privileges = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES { Luid: luid, Attributes: SE_PRIVILEGE_ENABLED }],
    };
    // SAFETY: the token is open for adjusting; `privileges` contains one privilege, as its count says; the previous
    // state is not requested.
    let adjusted =
        unsafe { AdjustTokenPrivileges(token.0, 0, &raw const privileges, 0, ptr::null_mut(), ptr::null_mut()) };
    // If the token does not have the privilege, the call succeeds but sets the last error (1300, not all assigned).
    match last_error() {
        Win32Error::Success if adjusted != 0 => Ok(()),
        error if adjusted == 0 => Err(error),
        _ => Err(Win32Error::PrivilegeNotHeld),
    }
}
