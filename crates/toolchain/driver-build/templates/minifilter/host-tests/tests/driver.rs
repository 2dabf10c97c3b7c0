//! Loads the driver's image, uses files, and checks what the minifilter does, its events, and that it releases everything.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;
use std::path::{Path, PathBuf};

use etw_types::{Guid, Level, NtStatus};
use nt_host::{NtHost, Os, event};

/// The image that `DRIVER_IMAGE` names (`cargo driver test` sets it), or the last one that `cargo driver build` made.
fn image() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/driver/x64/{{crate}}.sys");
    env::var_os("DRIVER_IMAGE").map_or(built, PathBuf::from)
}

#[test]
fn files_to_keep_are_neither_deleted_nor_renamed() {
    let host = NtHost::builder()
        .driver(image())
        .volume_file(r"\dir\a.txt", "text")
        .volume_file(r"\dir\b.KEEP", "kept")
        .prepare()
        .expect("no image: run `cargo driver test`");
    // A session that is started before the driver is loaded also gets the event of `DriverEntry`.
    let provider = Guid::from_name("Example.{{Name}}");
    let trace = host.session("test").expect("a session").enable(provider, Level::Verbose, !0).expect("enabled");
    host.load().expect("DriverEntry");
    let volume = host.volume();

    let kept = volume.open(r"\dir\b.keep").expect("an open");
    assert_eq!(kept.read(0, 16).expect("a read").output, b"kept");
    assert_eq!(kept.delete().expect("an answer").status, NtStatus::AccessDenied);
    assert_eq!(kept.rename(r"\dir\c.txt").expect("an answer").status, NtStatus::AccessDenied);
    kept.close().expect("a close");

    let other = volume.open(r"\dir\a.txt").expect("an open");
    assert_eq!(other.rename(r"\dir\c.txt").expect("an answer").status, NtStatus::Success);
    assert_eq!(other.delete().expect("an answer").status, NtStatus::Success);
    other.close().expect("a close");
    assert_eq!(volume.list(r"\dir").expect("names"), ["b.KEEP"]);

    host.unload().expect("unload").assert_clean();
    trace
        .expect(event("DriverEntry").field("SetTraits", 0))
        .expect(event("Opened").field("Name", r"\Device\HarddiskVolume1\dir\b.KEEP").field("Status", 0))
        .expect(event("Refused").field("Name", r"\Device\HarddiskVolume1\dir\b.KEEP").field("Class", 13))
        .expect(event("Refused").field("Class", 10))
        .expect(event("Opened").field("Name", r"\Device\HarddiskVolume1\dir\a.txt"))
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
