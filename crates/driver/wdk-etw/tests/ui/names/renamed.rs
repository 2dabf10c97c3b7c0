//! `etw = { package = "wdk-etw" }`: the driver knows the crate by a name of its own, and by no other.
#![deny(warnings)]

use etw::{Level, define_provider, start_activity, stop_activity, write_event};
use etw_symbols::Host;

define_provider!(PROVIDER, "Renamed", group_id("f73b8292-f610-4fa7-ba62-708353d162c4"), target_version(0x0A00_0000));
define_provider!(USER, "Renamed.User", mode(User), set_information(Off));
etw::compat::define_provider!(PORTED, "Renamed.Ported");

const TAG: u32 = 5;

/// The name that the expansion of `wdk-etw` used to have is free.
#[allow(dead_code)]
mod wdk_etw {}

fn main() {
    let text = String::from("text");
    let status = write_event!(
        PROVIDER,
        "Event",
        level(Level::Warning),
        tag(TAG),
        activity_id(&[1; 16]),
        u32("A", &1),
        str8("B", &text),
        u16_slice("C", &[1, 2]),
        time32("D", &0),
        systemtime("E", &std::time::SystemTime::UNIX_EPOCH),
        struct("F", { guid("G", PROVIDER.id()), ntstatus("H", &etw::NtStatus::Success) }),
    );
    assert!(status.is_success());
    assert!(write_event!(USER, "Event", u8("A", &1)).is_success());
    let scope = start_activity!(PROVIDER, "Activity", result(ntstatus("Status")));
    assert!(stop_activity!(scope, win_sid("A", &[1, 0, 0, 0, 0, 0, 0, 0])).is_success());
    assert!(!etw::compat::provider_enabled!(PORTED, Level::Verbose, 1));
    the_build_script_sets_the_mode();
}

// Its id and its name are all that the definition has: the mode comes from the build script.
define_provider!(OF_BUILD, "Renamed.OfBuild");
define_provider!(OF_ITS_OWN, "Renamed.OfItsOwn", set_information(Lookup));

/// The build script says that the providers are for Windows 10 and later, so they import `EtwSetInformation`.
fn the_build_script_sets_the_mode() {
    let host = Host::new();
    let _here = host.enter();
    // A hidden routine cannot be looked up by name, but a static import of it still works.
    host.engine().hide_routine("EtwSetInformation");
    for (provider, expected) in
        [(&OF_BUILD, etw::NtStatus::InvalidHandle), (&OF_ITS_OWN, etw::NtStatus::NotSupported)]
    {
        assert_eq!(provider.use_descriptor_type(true), expected, "{}", provider.name());
    }
}
