//! The driver's ETW provider and all of its events.

use wdk_etw::{NtStatus, define_provider, write_event};
use wdk_sys::{FILE_INFORMATION_CLASS, NTSTATUS, PCUNICODE_STRING, UNICODE_STRING};

// The provider's GUID is computed from its name.
define_provider!(PROVIDER, "Example.{{Name}}");

// Keywords: a session chooses which of them it records.
const LIFE: u64 = 0x1;
const FILES: u64 = 0x2;

/// The statuses of registering the provider.
pub struct Startup {
    register: NtStatus,
    traits: NtStatus,
}

/// Registers the provider.
///
/// # Safety
///
/// [`stop`] must be called before the driver unloads, when no other code of the driver runs.
pub unsafe fn start() -> Startup {
    // SAFETY: by this function's contract.
    let register = unsafe { PROVIDER.register() };
    // The second status is an error if this Windows does not take the provider's name. The driver works without it.
    Startup { register, traits: PROVIDER.traits_status().unwrap_or(register) }
}

/// Writes the last event and unregisters the provider.
pub fn stop() {
    write_event!(PROVIDER, "DriverUnload", level(Informational), keyword(LIFE));
    let _ = PROVIDER.unregister();
}

/// Writes the event of `DriverEntry`.
///
/// # Safety
///
/// `path` is null or valid.
pub unsafe fn driver_entry(path: PCUNICODE_STRING, startup: &Startup, status: NTSTATUS) {
    let status = NtStatus::from_int(status.cast_unsigned());
    // SAFETY: `unicode_string` reads the path.
    unsafe {
        write_event!(
            PROVIDER,
            "DriverEntry",
            level(Informational),
            keyword(LIFE),
            unicode_string("RegistryPath", path),
            ntstatus("Register", &startup.register),
            ntstatus("SetTraits", &startup.traits),
            ntstatus("Status", &status),
        );
    }
}

/// Writes an event about a file that was opened, or was not.
///
/// # Safety
///
/// `name` is valid.
pub unsafe fn opened(name: *const UNICODE_STRING, status: NTSTATUS) {
    let status = NtStatus::from_int(status.cast_unsigned());
    // SAFETY: `unicode_string` reads the name.
    unsafe {
        write_event!(
            PROVIDER,
            "Opened",
            level(Verbose),
            keyword(FILES),
            unicode_string("Name", name),
            ntstatus("Status", &status),
        );
    }
}

/// Writes an event about a file that was not deleted or renamed.
///
/// # Safety
///
/// `name` is valid.
pub unsafe fn refused(name: *const UNICODE_STRING, class: FILE_INFORMATION_CLASS) {
    // SAFETY: `unicode_string` reads the name.
    unsafe {
        write_event!(
            PROVIDER,
            "Refused",
            level(Warning),
            keyword(FILES),
            unicode_string("Name", name),
            i32("Class", &class),
        );
    }
}
