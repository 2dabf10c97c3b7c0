//! The bytes of every class: encoded and decoded, truncated anywhere, and arbitrary.

use etw_session::info::{self, GroupInstances, Information, ProfileSources, ProviderInstance, ProviderInstances};
use etw_types::Guid;
use etw_types::session::TraceEnableInfo;
use proptest::prelude::{any, prop, proptest};

const GUID: Guid = Guid::from_name("Payload");

fn request(logger_id: u16) -> TraceEnableInfo {
    TraceEnableInfo { is_enabled: 1, level: 5, logger_id, match_any: 3, ..TraceEnableInfo::default() }
}

#[test]
fn every_class_is_read_as_it_was_written_and_nothing_shorter_is_the_same() {
    for facts in info::all() {
        let examples = (facts.examples)();
        assert_eq!(examples.is_empty(), facts.is_reserved(), "{}", facts.c_name);
        for bytes in examples {
            assert_eq!((facts.recode)(&bytes).as_ref(), Ok(&bytes), "{}", facts.c_name);
            assert!((facts.view)(&bytes).is_ok(), "{}", facts.c_name);
            if let Some(setting) = facts.set {
                assert_eq!((setting.accept)(&bytes).as_ref(), Ok(&bytes), "{}", facts.c_name);
            }
            // The terminator at the end may be missing.
            for end in 0..bytes.len().saturating_sub(2) {
                assert_ne!((facts.recode)(&bytes[..end]).as_ref(), Ok(&bytes), "{}: {end} bytes", facts.c_name);
            }
        }
    }
}

#[test]
fn the_requests_of_a_group_start_at_byte_four_and_may_be_counted_or_measured() {
    let value = GroupInstances { enabled: vec![request(1), request(2)], members: vec![GUID] };
    let mut bytes = value.encode();
    assert_eq!(TraceEnableInfo::parse(&bytes[4..]), Some(request(1)));
    assert_eq!(bytes[0], 2, "a count");
    bytes[0] = 64;
    assert_eq!(GroupInstances::decode(&bytes), Ok(value), "a length");
}

#[test]
fn a_description_may_end_with_its_entry() {
    let mut bytes = [0_u8; 28];
    bytes[24] = b'A';
    bytes[26] = b'B';
    assert_eq!(ProfileSources::decode(&bytes).unwrap().0[0].description, "AB");
    assert_eq!(ProfileSources::decode(&bytes[..24]).unwrap().0[0].description, "");
}

#[test]
fn chains_that_point_backwards_or_outside_are_malformed() {
    for next in [1_u32, 23, 29, u32::MAX] {
        let mut bytes = [0_u8; 28];
        bytes[..4].copy_from_slice(&next.to_le_bytes());
        assert!(ProfileSources::decode(&bytes).is_err(), "{next}");
    }
    let mut instances = ProviderInstances(vec![ProviderInstance::default(); 2]).encode();
    for next in [0_u8, 1, 15, 200] {
        instances[8] = next;
        assert!(ProviderInstances::decode(&instances).is_err(), "{next}");
    }
}

/// Decodes bytes as every class.
fn decode_all(bytes: &[u8]) {
    for facts in info::all() {
        let _ = (facts.view)(bytes);
        let _ = (facts.recode)(bytes);
        if let Some(setting) = facts.set {
            let _ = (setting.accept)(bytes);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        decode_all(&bytes);
    }

    #[test]
    fn small_numbers_in_counts_and_offsets_never_panic(words in prop::collection::vec(0_u32..64, 0..40)) {
        decode_all(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    }
}
