//! Loads the driver's image, sends requests, and checks its events and that it releases everything.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;
use std::path::{Path, PathBuf};

use etw_types::{Guid, Level, NtStatus};
use nt_host::{NtHost, Os, event};

/// Takes a `u32`, adds it to the sum, and returns the sum.
const ADD: u32 = 0x0022_2000;

/// The image that `DRIVER_IMAGE` names (`cargo driver test` sets it), or the last one that `cargo driver build` made.
fn image() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/driver/x64/{{crate}}.sys");
    env::var_os("DRIVER_IMAGE").map_or(built, PathBuf::from)
}

#[test]
fn numbers_are_added_and_traced() {
    let host = NtHost::builder().driver(image()).prepare().expect("no image: run `cargo driver test`");
    // A session that is started before the driver is loaded also gets the event of `DriverEntry`.
    let provider = Guid::from_name("Example.{{Name}}");
    let trace = host.session("test").expect("a session").enable(provider, Level::Verbose, !0).expect("enabled");
    host.load().expect("DriverEntry");
    let device = host.add_device().expect("a device");

    for (number, sum) in [(5_u32, 5_u32), (7, 12)] {
        let reply = device.ioctl(ADD, &number.to_le_bytes(), 4).expect("a reply");
        assert_eq!((reply.status, reply.output.as_slice()), (NtStatus::Success, sum.to_le_bytes().as_slice()));
    }
    let reply = device.ioctl(ADD, &[], 4).expect("a reply");
    assert_eq!(reply.status, NtStatus::BufferTooSmall);

    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
    trace
        .expect(event("DriverEntry").field("SetTraits", 0))
        .expect(event("Add").opcode(1).field("Length", 4))
        .expect(event("Add").opcode(2).field("Sum", 5))
        .expect(event("Add").opcode(2).field("Sum", 12))
        .expect(event("Refused"))
        .expect(event("DriverUnload"))
        .in_order();
}

#[test]
fn a_provider_that_cannot_register_does_not_keep_the_driver_from_working() {
    let host = NtHost::builder()
        .driver(image())
        .os(Os::Win10_22H2)
        .fail_call("EtwRegister", NtStatus::NoMemory, 1)
        .start()
        .expect("DriverEntry");
    host.unload().expect("unload").assert_clean();
}
