//! The bytes of every class: encoded and decoded, truncated anywhere, and arbitrary.

use etw_session::info::{
    BinaryTracking, ContextRegisters, DisallowList, DisallowedProviders, GroupInstances, Information, LbrConfiguration,
    LbrEvents, MaxPmcCounters, MaxSessions, PeriodicCapture, PeriodicCaptureLimits, PmcCounters, PmcEvents, PmcOwners,
    PmcSession, PmcSessions, ProcessProviders, ProcessingVersion, ProfileSource, ProfileSources, ProfileSourcesInUse,
    ProviderGroups, ProviderInstance, ProviderInstances, RegisteredProviders, Reserved15, SampleInterval, StackCaching,
    StackTracing, StreamCount, SystemFlags, UnifiedStackCaching,
};
use etw_types::Guid;
use etw_types::session::{ClassicEventId, PmcCounterOwner, TraceEnableInfo};
use proptest::prelude::{any, prop, proptest};

const GUID: Guid = Guid::from_name("Payload");

/// Checks that decoding returns the encoded value, and that every prefix decodes to an error or to another value.
fn both_ways<T: Information + PartialEq + std::fmt::Debug>(value: &T) {
    let bytes = value.encode();
    assert_eq!(T::decode(&bytes).as_ref(), Ok(value));
    // The terminator at the end may be missing.
    for end in 0..bytes.len().saturating_sub(2) {
        if let Ok(other) = T::decode(&bytes[..end]) {
            assert_ne!(&other, value, "{:?} of {:?}", &bytes[..end], T::CLASS);
        }
    }
}

fn event() -> ClassicEventId {
    ClassicEventId { guid: GUID, event_type: 36, ..ClassicEventId::default() }
}

fn request(logger_id: u16) -> TraceEnableInfo {
    TraceEnableInfo { is_enabled: 1, level: 5, logger_id, match_any: 3, ..TraceEnableInfo::default() }
}

#[test]
fn every_class_is_read_as_it_was_written() {
    both_ways(&RegisteredProviders(vec![GUID; 2]));
    both_ways(&ProcessProviders(vec![GUID]));
    both_ways(&ProviderGroups(vec![GUID]));
    both_ways(&ProviderInstances(vec![
        ProviderInstance { process_id: 4, flags: 0, enabled: vec![request(3), request(4)] },
        ProviderInstance { process_id: 5, flags: 2, enabled: vec![] },
    ]));
    both_ways(&GroupInstances { enabled: vec![request(1)], members: vec![GUID; 3] });
    both_ways(&StackTracing(vec![event(); 2]));
    both_ways(&SystemFlags::from_groups(&[1, 0x8000_0040]));
    both_ways(&SampleInterval { source: 1, interval: 2 });
    both_ways(&ProfileSourcesInUse(vec![1, 2]));
    let source = |description: &str| ProfileSource {
        source: 1,
        min_interval: 2,
        max_interval: 3,
        description: description.to_owned(),
    };
    both_ways(&ProfileSources(vec![source("Timer"), source("TotalIssues"), source("Ü")]));
    both_ways(&PmcEvents(vec![event()]));
    both_ways(&PmcCounters(vec![7]));
    both_ways(&DisallowList(vec![GUID]));
    both_ways(&DisallowedProviders(vec![GUID]));
    both_ways(&ProcessingVersion(1));
    let limits = PeriodicCaptureLimits { least_seconds: 1, most_providers: 9 };
    both_ways(&PeriodicCapture::new(60, vec![GUID; 2], limits).unwrap());
    both_ways(&limits);
    both_ways(&BinaryTracking(true));
    both_ways(&MaxSessions(64));
    both_ways(&LbrConfiguration::new(0x3FF).unwrap());
    both_ways(&LbrEvents(vec![1, 2]));
    both_ways(&MaxPmcCounters(4));
    both_ways(&StreamCount(16));
    both_ways(&StackCaching { enabled: true, cache_size: 1, bucket_count: 2 });
    both_ways(&UnifiedStackCaching::ON);
    both_ways(&PmcOwners { processor: 3, counters: vec![PmcCounterOwner { owner_type: 2, ..Default::default() }; 2] });
    let session = |logger_id| PmcSession { logger_id, sources: vec![1, 2], hook_ids: vec![3, 4, 5] };
    both_ways(&PmcSessions(vec![session(1), session(2)]));
    both_ways(&ContextRegisters::new(vec![event()]));
    assert!(Reserved15::decode(&[]).is_err());
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

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ProviderInstances::decode(&bytes);
        let _ = GroupInstances::decode(&bytes);
        let _ = ProfileSources::decode(&bytes);
        let _ = PmcSessions::decode(&bytes);
        let _ = PmcOwners::decode(&bytes);
        let _ = PeriodicCapture::decode(&bytes);
        let _ = ContextRegisters::decode(&bytes);
        let _ = StackTracing::decode(&bytes);
    }

    #[test]
    fn small_numbers_in_counts_and_offsets_never_panic(words in prop::collection::vec(0_u32..64, 0..40)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let _ = ProviderInstances::decode(&bytes);
        let _ = GroupInstances::decode(&bytes);
        let _ = ProfileSources::decode(&bytes);
        let _ = PmcSessions::decode(&bytes);
        let _ = PmcOwners::decode(&bytes);
    }
}
