//! Loads the driver's image, opens connections, and checks its verdicts, its events and that it releases everything.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;
use std::path::{Path, PathBuf};

use etw_types::{Guid, Level, NtStatus};
use nt_host::{Connection, NtHost, Verdict, event};

/// The image that `DRIVER_IMAGE` names (`cargo driver test` sets it), or the last one that `cargo driver build` made.
fn image() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/driver/x64/{{crate}}.sys");
    env::var_os("DRIVER_IMAGE").map_or(built, PathBuf::from)
}

fn connect(host: &NtHost, remote: &str) -> Verdict {
    host.connect(Connection::to(remote.parse().expect("an address"))).expect("a connection").verdict
}

#[test]
fn connections_to_telnet_are_blocked_and_all_are_traced() {
    let host = NtHost::builder().driver(image()).prepare().expect("no image: run `cargo driver test`");
    let provider = Guid::from_name("Example.{{Name}}");
    let trace = host.session("test").expect("a session").enable(provider, Level::Verbose, !0).expect("enabled");
    host.load().expect("DriverEntry");

    assert_eq!(connect(&host, "10.0.0.1:443"), Verdict::Permit);
    assert_eq!(connect(&host, "10.0.0.1:23"), Verdict::Block);

    host.unload().expect("unload").assert_clean();
    trace
        .expect(event("DriverEntry").field("Status", 0))
        .expect(event("Connection").field("Port", 443).field("Blocked", false))
        .expect(event("Connection").field("Port", 23).field("Blocked", true))
        .expect(event("DriverUnload"))
        .in_order();
}

#[test]
fn a_driver_that_cannot_add_its_filter_does_not_load_and_leaves_nothing() {
    for routine in ["FwpsCalloutRegister1", "FwpmEngineOpen0", "FwpmSubLayerAdd0", "FwpmCalloutAdd0", "FwpmFilterAdd0"] {
        let builder = NtHost::builder().driver(image()).fail_call(routine, NtStatus::InsufficientResources, 1);
        let host = builder.prepare().expect("no image: run `cargo driver test`");
        assert!(host.load().is_err(), "{routine}");
        assert!(host.report().findings().is_empty(), "{routine}: {:?}", host.report().findings());
    }
}
