//! Everything this driver traces.

use wdk_etw::{ActivityScope, NtStatus, define_provider, start_activity, stop_activity, write_event};
use wdk_sys::{NTSTATUS, PCUNICODE_STRING};

// The provider's id follows from its name.
define_provider!(PROVIDER, "Example.{{Name}}");

// What a session can choose from.
const LIFE: u64 = 0x1;
const REQUESTS: u64 = 0x2;

/// How the provider came up.
pub struct Startup {
    register: NtStatus,
    traits: NtStatus,
}

/// # Safety
///
/// [`stop`] is called before the driver unloads, when nothing else of it runs.
pub unsafe fn start() -> Startup {
    // SAFETY: by this function's contract.
    let register = unsafe { PROVIDER.register() };
    // Where a Windows cannot take the provider's name, this says so; the driver works all the same.
    Startup { register, traits: PROVIDER.traits_status().unwrap_or(register) }
}

pub fn stop() {
    write_event!(PROVIDER, "DriverUnload", level(Informational), keyword(LIFE));
    let _ = PROVIDER.unregister();
}

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

/// A request is an activity: its start and its stop carry one id.
pub fn request_start(code: u32, length: u32) -> ActivityScope {
    start_activity!(
        PROVIDER,
        "Add",
        level(Informational),
        keyword(REQUESTS),
        u32_hex("Code", &code),
        u32("Length", &length),
    )
}

pub fn request_stop(activity: ActivityScope, result: Result<u32, NtStatus>) {
    if let Err(status) = result {
        write_event!(
            PROVIDER,
            "Refused",
            level(Warning),
            keyword(REQUESTS),
            activity_id(activity.id()),
            ntstatus("Status", &status),
        );
    }
    stop_activity!(activity, u32("Sum", &result.unwrap_or_default()));
}
