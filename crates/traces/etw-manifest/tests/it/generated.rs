//! The events that the functions of a generated module write.

use std::sync::{Mutex, PoisonError};

use etw_engine::Enable;
use etw_symbols::Host;
use etw_types::{Guid, NtStatus};

/// The provider is a static, so the tests that register it run one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[rustfmt::skip]
mod rich {
    include!("../data/rich.rs");
}

#[rustfmt::skip]
mod structs {
    include!("../data/structs.rs");
}

/// `wdk-etw`, as a driver knows it that has it only through a crate of its company.
mod company {
    pub(crate) use wdk_etw as etw;
}

/// The golden module for such a driver: a test of `golden.rs` compares it with what the compiler generates.
#[rustfmt::skip]
mod through_company {
    include!("../data/through_company.rs");
}

#[test]
fn a_module_for_a_crate_of_another_name_writes_the_same_events() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("names");
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { through_company::PROVIDER.register() }, NtStatus::Success);
    session.enable(*through_company::PROVIDER.id(), Enable::default());
    let place = through_company::blocks_read_where(1, true, through_company::State::ON);
    let parts = [through_company::blocks_read_parts(7, *b"abc"); 2];
    assert_eq!(through_company::blocks_read(None, &place, &parts, &[1, 2]), NtStatus::Success);
    assert_eq!(session.events().len(), 1);
    through_company::PROVIDER.unregister();
}

#[test]
fn structures_of_members_with_a_fixed_size_have_types() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("structs");
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { structs::PROVIDER.register() }, NtStatus::Success);
    session.enable(*structs::PROVIDER.id(), Enable::default());
    let place = structs::blocks_read_where(0x0102, true, structs::State::ON);
    let parts = [structs::blocks_read_parts(7, *b"abc"), structs::blocks_read_parts(8, *b"def")];
    assert_eq!(structs::blocks_read(None, &place, &parts, &[1, 2]), NtStatus::Success);
    let id = Guid::from_u128(0x0102);
    let all = structs::wide_one_all(1, 2, [3, 4], id, 5, 6, [0x41, 0x42], 7, -1);
    assert_eq!(structs::wide_one(None, &all), NtStatus::Success);
    let events = session.events();
    let read: Vec<&[u8]> = vec![
        &[2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0],
        // The generated function writes the length of the slice as the count.
        &[2, 0],
        b"\x07\0abc\x08\0def",
        &[1, 2],
    ];
    assert_eq!(events[0].payload, read.concat());
    let wide: Vec<&[u8]> = vec![
        &[1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0],
        id.as_bytes_raw(),
        &[5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0],
        &[0x41, 0, 0x42, 0, 7, 0xFF, 0xFF],
    ];
    assert_eq!(events[1].payload, wide.concat());
    structs::PROVIDER.unregister();
}

#[test]
fn functions_write_the_payload_of_their_template() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("rich");
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { rich::PROVIDER.register() }, NtStatus::Success);
    assert_eq!(rich::probed(None, 0, &[]), NtStatus::Success, "no session enabled the provider");
    session.enable(*rich::PROVIDER.id(), Enable::default());
    let activity = Guid::from_u128(7);
    let sid = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
    let text: Vec<u16> = "hi\0 there".encode_utf16().collect();
    let status = rich::device_failed(
        Some(&activity),
        -1,
        rich::Mode::FAST,
        -2,
        3,
        -4,
        rich::Flags(rich::Flags::CACHED.0 | rich::Flags::PAGED.0),
        -5,
        6,
        1.5,
        2.5,
        true,
        &Guid::from_u128(0x0102),
        0x1000,
        7,
        &[2026, 11, 0, 15, 1, 2, 3, 4],
        &sid,
        0xC000_0001,
        0xFF00,
        &text,
        b"ansi",
    );
    assert_eq!(status, NtStatus::Success);
    assert_eq!(rich::transfer_retried(None, b"abc", b"TAG1", &[1, 2], &[3, 4], &text[..2]), NtStatus::Success);
    assert_eq!(rich::probed(None, 1, &[9, 0, 1, b'x', 0]), NtStatus::Success);
    assert_eq!(rich::event_512_v0(None), NtStatus::Success);
    assert_eq!(
        rich::transfer_retried(None, b"abc", b"TAG1", &vec![0; 0x1_0000], &[3, 4], &[]),
        NtStatus::InvalidParameter
    );

    let events = session.events();
    let ids: Vec<_> = events.iter().map(|event| (event.descriptor.id, event.descriptor.version)).collect();
    assert_eq!(ids, [(1, 0), (2, 1), (3, 0), (0x200, 0)]);
    let first = &events[0];
    assert_eq!(first.activity, activity);
    assert_eq!(first.descriptor.keyword.bits(), 1 << 63 | 1 << 48 | rich::keyword::READ | rich::keyword::WRITE);
    assert_eq!(first.descriptor.channel.as_int(), rich::channel::ADMIN);
    assert_eq!(first.descriptor.task, rich::task::DEVICE);
    let expected: Vec<&[u8]> = vec![
        &[0xFF, 2],
        &[0xFE, 0xFF, 3, 0],
        &[0xFC, 0xFF, 0xFF, 0xFF, 0x81, 0, 0, 0],
        &[0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 6, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0xC0, 0x3F, 0, 0, 0, 0, 0, 0, 4, 0x40, 1, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2],
        &[0, 0x10, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0],
        &[0xEA, 7, 11, 0, 0, 0, 15, 0, 1, 0, 2, 0, 3, 0, 4, 0],
        &sid,
        &[1, 0, 0, 0xC0, 0, 0xFF, 0, 0, 0, 0, 0, 0],
        &[b'h', 0, b'i', 0, 0, 0],
        b"ansi\0",
    ];
    assert_eq!(first.payload, expected.concat());
    let sized: Vec<&[u8]> =
        vec![&[3, 0, 0, 0], b"abcTAG1", &[2, 0, 1, 0, 0, 0, 2, 0, 0, 0], &[3, 0, 4, 0], &[4, 0, b'h', 0, b'i', 0]];
    assert_eq!(events[1].payload, sized.concat());
    assert_eq!(events[2].payload, [1, 0, 9, 0, 1, b'x', 0]);
    assert_eq!(rich::PROVIDER.unregister(), NtStatus::Success);
}

#[test]
fn a_truncated_sid_is_an_error() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("sid");
    // SAFETY: as above, with another host.
    let _ = unsafe { rich::PROVIDER.register() };
    session.enable(*rich::PROVIDER.id(), Enable::default());
    let zero = Guid::ZERO;
    let mode = rich::Mode(256);
    let write = |mode, sid: &[u8]| {
        rich::device_failed(
            None,
            0,
            mode,
            0,
            0,
            0,
            rich::Flags(0),
            0,
            0,
            0.0,
            0.0,
            false,
            &zero,
            0,
            0,
            &[0; 8],
            sid,
            0,
            0,
            &[],
            b"",
        )
    };
    assert_eq!(write(rich::Mode::MODE_SLOW, &[1, 1, 0]), NtStatus::InvalidSid);
    assert_eq!(write(mode, &[1, 0, 0, 0, 0, 0, 0, 0]), NtStatus::InvalidParameter, "the field has one byte");
    assert_eq!(session.events().len(), 0);
    rich::PROVIDER.unregister();
}
