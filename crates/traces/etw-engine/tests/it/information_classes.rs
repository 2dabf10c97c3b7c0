//! Set-information: the status of every valid and invalid call, in the order of the kernel's checks.

use crate::common::{GROUP, PROVIDER, register};
use etw_engine::{Buffer, Engine, Finding, Routine};
use etw_types::{EventInfoClass, NtStatus};

/// Traits with only a name.
const NAMED: &[u8] = b"\x0d\x00MyProvider\x00";

fn set_traits(blob: &[u8]) -> (NtStatus, Engine) {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let status = engine.set_information(handle, EventInfoClass::SetTraits, blob);
    (status, engine)
}

fn grouped() -> Vec<u8> {
    let mut blob = b"\x20\x00MyProvider\x00\x13\x00\x01".to_vec();
    blob.extend_from_slice(&GROUP.to_bytes_le());
    blob
}

#[test]
fn good_traits_are_kept_and_turn_descriptor_types_on() {
    let (status, engine) = set_traits(NAMED);
    assert_eq!(status, NtStatus::Success);
    let info = &engine.registrations()[0];
    assert_eq!(info.traits.as_deref(), Some(NAMED));
    assert!(info.uses_descriptor_types);
    assert_eq!(info.group, None);
}

#[test]
fn the_group_is_read_from_the_traits() {
    let (status, engine) = set_traits(&grouped());
    assert_eq!(status, NtStatus::Success);
    assert_eq!(engine.registrations()[0].group, Some(GROUP));
}

#[test]
fn traits_of_a_wrong_length_are_an_invalid_parameter() {
    for length in [0, 1, 2, 0x8000, 0xFFFF, 0x1_0000] {
        let (status, engine) = set_traits(&vec![0; length]);
        assert_eq!(status, NtStatus::InvalidParameter, "{length:#x} bytes");
        assert!(!engine.registrations()[0].uses_descriptor_types);
    }
}

#[test]
fn traits_without_a_buffer_are_an_invalid_parameter() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    for buffer in [Buffer::Null(0), Buffer::Null(13), Buffer::TooLong(u32::MAX)] {
        let status = engine.set_information(handle, EventInfoClass::SetTraits, buffer);
        assert_eq!(status, NtStatus::InvalidParameter, "{buffer:?}");
    }
}

#[test]
fn each_kind_of_malformed_traits_is_corrupt() {
    let malformed: [(&str, &[u8]); 9] = [
        ("total too small", b"\x0c\x00MyProvider\x00"),
        ("total too large", b"\x0e\x00MyProvider\x00"),
        ("total of zero", b"\x00\x00MyProvider\x00"),
        ("name without an end", b"\x0c\x00MyProvider"),
        ("record header cut", b"\x06\x00a\x00\x03\x00"),
        ("record of size zero", b"\x07\x00a\x00\x00\x00\x01"),
        ("record smaller than its header", b"\x07\x00a\x00\x02\x00\x01"),
        ("record beyond the end", b"\x08\x00a\x00\x05\x00\x80x"),
        ("a byte behind the last record", b"\x09\x00a\x00\x04\x00\x80xy"),
    ];
    for (kind, blob) in malformed {
        let (status, engine) = set_traits(blob);
        assert_eq!(status, NtStatus::FileCorruptError, "{kind}");
        let info = &engine.registrations()[0];
        assert_eq!(info.traits.as_ref(), None, "{kind}");
        assert!(!info.uses_descriptor_types, "{kind}");
    }
}

#[test]
fn malformed_traits_can_be_followed_by_good_ones_but_good_ones_are_final() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let set = |blob: &[u8]| engine.set_information(handle, EventInfoClass::SetTraits, blob);
    assert_eq!(set(b"\x04\x00a\x01"), NtStatus::FileCorruptError);
    assert_eq!(set(NAMED), NtStatus::Success);
    assert_eq!(set(NAMED), NtStatus::Unsuccessful);
    // "Already set" is detected before the content is read, and an invalid length before that.
    assert_eq!(set(b"\x04\x00a\x01"), NtStatus::Unsuccessful);
    assert_eq!(set(b"\x04\x00"), NtStatus::InvalidParameter);
}

#[test]
fn traits_belong_to_one_registration() {
    let engine = Engine::new();
    let (first, _) = register(&engine, PROVIDER);
    let (second, _) = register(&engine, PROVIDER);
    assert_eq!(engine.set_information(first, EventInfoClass::SetTraits, NAMED), NtStatus::Success);
    assert_eq!(engine.set_information(second, EventInfoClass::SetTraits, NAMED), NtStatus::Success);
}

#[test]
fn the_longest_traits_are_taken() {
    let mut blob = vec![b'a'; 0x7FFF];
    blob[..2].copy_from_slice(&0x7FFF_u16.to_le_bytes());
    *blob.last_mut().unwrap() = 0;
    assert_eq!(set_traits(&blob).0, NtStatus::Success);
    assert_eq!(set_traits(&[3, 0, 0]).0, NtStatus::Success);
}

#[test]
fn descriptor_types_are_one_byte_zero_or_one() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let set = |buffer| engine.set_information(handle, EventInfoClass::UseDescriptorType, buffer);
    let uses = || engine.registrations()[0].uses_descriptor_types;
    assert_eq!(set(Buffer::Bytes(&[1])), NtStatus::Success);
    assert!(uses());
    for wrong in [
        Buffer::Bytes(&[]),
        Buffer::Bytes(&[2]),
        Buffer::Bytes(&[0, 0]),
        Buffer::Null(0),
        Buffer::Null(1),
        Buffer::TooLong(0x8000),
    ] {
        assert_eq!(set(wrong), NtStatus::InvalidParameter, "{wrong:?}");
        assert!(uses());
    }
    assert_eq!(set(Buffer::Bytes(&[0])), NtStatus::Success);
    assert!(!uses());
}

#[test]
fn tracking_takes_no_buffer_and_is_unknown_to_older_builds() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let set = |buffer| engine.set_information(handle, EventInfoClass::BinaryTrackInfo, buffer);
    for wrong in [Buffer::Bytes(&[]), Buffer::Bytes(&[1]), Buffer::Null(1)] {
        assert_eq!(set(wrong), NtStatus::InvalidParameter, "{wrong:?}");
    }
    assert!(!engine.registrations()[0].tracked);
    engine.set_binary_tracking(false);
    assert_eq!(set(Buffer::Null(0)), NtStatus::InvalidDeviceRequest);
    engine.set_binary_tracking(true);
    assert_eq!(set(Buffer::Null(0)), NtStatus::Success);
    assert!(engine.registrations()[0].tracked);
}

#[test]
fn other_classes_are_invalid_requests() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    for class in [1, 4, 5, u32::MAX] {
        let status = engine.set_information(handle, EventInfoClass::from_int(class), NAMED);
        assert_eq!(status, NtStatus::InvalidDeviceRequest, "class {class}");
    }
}

#[test]
fn a_wrong_handle_wins_over_every_other_mistake() {
    let engine = Engine::new();
    for class in 0..6 {
        let class = EventInfoClass::from_int(class);
        assert_eq!(engine.set_information(0, class, &[]), NtStatus::InvalidHandle);
        assert_eq!(engine.set_information(42, class, &[]), NtStatus::InvalidHandle);
    }
    let found = engine.findings();
    assert_eq!(found.len(), 6, "handle 0 is not a mistake");
    assert_eq!(found[0], Finding::UnknownHandle { routine: Routine::SetInformation, handle: 42 });
}
