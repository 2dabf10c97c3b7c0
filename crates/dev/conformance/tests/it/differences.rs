//! Intentional differences between `wdk-etw` and `tracelogging`.
//!
//! One more difference is not visible in a session: counted text of more than 65535 bytes is cut between two
//! characters, and terminated text is not cut at all. ETW rejects events of that size from either crate.

#![allow(clippy::too_many_arguments, reason = "in the expansions of tracelogging's macros")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use conformance::{Fixture, OURS, THEIRS, tracelogging, wdk_etw, write_both};
use etw_engine::Enable;
use etw_types::{AnsiString, Guid, Level, NtStatus, UnicodeString};

#[test]
fn a_session_at_level_0_gets_every_event_from_us_and_none_from_them() {
    // A raw request passes level 0 to the providers. Windows' own tools replace it by 255.
    let fixture =
        Fixture::with(|session, provider| session.enable_raw(provider, Enable { any: u64::MAX, ..Enable::default() }));
    write_both!("Event", level(Verbose), u8("Ours", &1));
    write_both!("Event", level(Critical), u8("Ours", &2));
    let payloads: Vec<Vec<u8>> = fixture.take().into_iter().map(|event| event.payload).collect();
    assert_eq!(payloads, [[1], [2]]);
    assert!(!THEIRS.enabled(tracelogging::Level::Critical, 1));
    assert!(OURS.enabled(Level::Verbose, 1));
}

#[test]
fn a_short_sid_is_a_status_for_us_and_a_panic_for_them() {
    let fixture = Fixture::new(Level::Verbose);
    let short = [1_u8, 5, 0, 0];
    let theirs = catch_unwind(AssertUnwindSafe(|| tracelogging::write_event!(THEIRS, "Sid", win_sid("Sid", &short))));
    assert!(theirs.is_err());
    let ours = wdk_etw::write_event!(OURS, "Sid", u8("Before", &1), win_sid("Sid", &short));
    assert_eq!(ours, NtStatus::InvalidSid);
    assert!(fixture.take().is_empty());
}

#[test]
fn text_that_no_event_can_hold_is_refused_from_both() {
    let fixture = Fixture::new(Level::Verbose);
    let long = "🚗".repeat(20_000);
    let theirs = tracelogging::write_event!(THEIRS, "Long", str8("Text", &long));
    let ours = wdk_etw::write_event!(OURS, "Long", str8("Text", &long));
    assert_eq!(NtStatus::from_int(theirs), ours);
    assert!(!ours.is_success());
    let theirs = tracelogging::write_event!(THEIRS, "Long", cstr8("Text", &long));
    let ours = wdk_etw::write_event!(OURS, "Long", cstr8("Text", &long));
    assert_eq!(NtStatus::from_int(theirs), ours);
    assert!(fixture.take().is_empty());
}

#[test]
fn a_name_keeps_characters_whose_upper_case_is_longer() {
    let theirs = {
        tracelogging::define_provider!(PROVIDER, "Größe");
        PROVIDER.id().to_u128()
    };
    let ours = {
        wdk_etw::define_provider!(PROVIDER, "Größe");
        *PROVIDER.id()
    };
    assert_ne!(ours.to_u128(), theirs);
    // Their id is that of the name after full case mapping.
    assert_eq!(Guid::from_name("GRÖSSE").to_u128(), theirs);
}

#[test]
fn neighbouring_scalars_need_one_descriptor_from_us() {
    let fixture = Fixture::new(Level::Verbose);
    write_both!("Many", u8("A", &1), u64("B", &2), u16("C", &3), str8("D", "text"), bool8("E", &true), i32("F", &-1));
    let events = fixture.take();
    conformance::assert_same(&events);
    let descriptors: Vec<usize> = events.iter().map(|event| event.descriptors).collect();
    assert_eq!(descriptors, [2 + 7, 2 + 3]);
}

#[test]
fn fields_of_ours_have_the_bytes_of_their_plain_relatives() {
    let fixture = Fixture::new(Level::Verbose);
    let wide: Vec<u16> = "name".encode_utf16().collect();
    let unicode = UnicodeString { length: 8, maximum_length: 8, buffer: wide.as_ptr() };
    let ansi = AnsiString { length: 4, maximum_length: 4, buffer: b"ansi".as_ptr() };
    let pointer: *const u32 = std::ptr::without_provenance(0x1234);
    let status = tracelogging::write_event!(
        THEIRS,
        "Driver",
        str16("Unicode", &wide),
        str8_cp1252("Ansi", "ansi"),
        win_ntstatus("Status", &NtStatus::NotSupported.as_signed()),
        win_ntstatus("Signed", &-1),
        u8("Irql", &2),
        pointer("Pointer", &0x1234),
        pointer("Tagged", &0x1234, tag(1)),
    );
    assert_eq!(status, 0);
    // SAFETY: both strings describe memory that outlives the event.
    let status = unsafe {
        wdk_etw::write_event!(
            OURS,
            "Driver",
            unicode_string("Unicode", &unicode),
            ansi_string("Ansi", &raw const ansi),
            ntstatus("Status", &NtStatus::NotSupported),
            ntstatus("Signed", &-1),
            irql("Irql", &2),
            kernel_ptr("Pointer", pointer),
            kernel_ptr("Tagged", pointer.cast_mut(), tag(1)),
        )
    };
    assert!(status.is_success());
    conformance::assert_same(&fixture.take());
}
