//! A program with a user-mode provider, without a C runtime.

#![no_std]
#![no_main]

use core::panic::PanicInfo;

use wdk_etw::{EventInfoClass, define_provider, write_event};

define_provider!(PROVIDER, "WdkEtw.Images.User", mode(User));

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    images::user::raise(info)
}

/// The entry point of the process. The result is the exit code.
#[unsafe(no_mangle)]
pub extern "system" fn start(environment: *const u8) -> u32 {
    // SAFETY: `unregister` is called below, before the program ends.
    let status = unsafe { PROVIDER.register() };
    PROVIDER.set_information(EventInfoClass::UseDescriptorType, &[1]);
    write_event!(PROVIDER, "Started", usize("environment", &environment.addr()), str8("text", "user"));
    PROVIDER.unregister();
    status.as_int()
}
