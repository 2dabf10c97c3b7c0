//! Loads the driver's image, adds a device, and checks that the driver makes no mistake and releases everything.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;

use etw_types::NtStatus;
use nt_host::{Error, NtHost};

/// The image, which `cargo driver test` builds.
fn host() -> nt_host::Builder {
    NtHost::builder().driver(env::var_os("DRIVER_IMAGE").expect("no image: run `cargo driver test`"))
}

#[test]
fn a_device_comes_and_goes() {
    let host = host().start().expect("DriverEntry");
    match host.add_device() {
        // Requests are sent here: `device.ioctl(code, input, output_length)`.
        Ok(device) => device.remove().expect("removal"),
        // The driver has no AddDevice and created no device.
        Err(Error::Status(NtStatus::NoSuchDevice)) => {}
        Err(error) => panic!("no device: {error}"),
    }
    host.unload().expect("unload").assert_clean();
}
