//! Control functions handle any bytes and numbers without a panic, and sessions continue.

use crate::common::{PROVIDER, register, write};
use etw_engine::{Enable, Engine, EngineOptions, Filter, Properties};
use etw_types::session::{KERNEL_LOGGER_NAME, TraceInfoClass};
use etw_types::{Level, NtStatus};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::{collection, sample};

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "too slow in an interpreter")]
    fn information_classes_accept_or_reject_any_bytes(
        class in 0_u32..31,
        bytes in collection::vec(any::<u8>(), 0..120),
        room in 0_usize..200,
    ) {
        let engine = Engine::with_options(EngineOptions { processors: 1, ..EngineOptions::default() });
        let session = engine.start(&Properties { buffer_kib: 4, ..Properties::in_memory(KERNEL_LOGGER_NAME) });
        let handle = session.map(|session| session.handle()).unwrap_or_default();
        let class = TraceInfoClass::from_int(class);
        let mut buffer = vec![0; room];
        let input = bytes.len().min(room);
        buffer[..input].copy_from_slice(&bytes[..input]);
        for handle in [0, handle, u64::MAX] {
            let _ = engine.set_trace_information_bytes(handle, class, &bytes);
            if let Err(error) = engine.query_trace_information_bytes(handle, class, &mut buffer) {
                prop_assert!(error.needed == 0 || error.needed > room);
            }
            let _ = engine.enumerate_trace_guids_bytes(class, &bytes, &mut buffer);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow in an interpreter")]
    fn filters_of_any_bytes_pass_or_are_refused(
        kind in sample::select((0..32).map(|bit| 0x8000_0000_u32 | (1 << bit)).chain([0, 7]).collect::<Vec<_>>()),
        data in collection::vec(any::<u8>(), 0..64),
        property in any::<u32>(),
    ) {
        let engine = Engine::new();
        let (handle, _) = register(&engine, PROVIDER);
        let session = engine.start_session("s");
        // With this bit the target would be a group.
        let property = property & !0x20;
        let status = match Filter::decode(kind, &data) {
            Ok(filter) => session.enable(PROVIDER, Enable { filters: vec![filter], property, ..Enable::default() }),
            Err(limit) => {
                prop_assert!(!limit.to_string().is_empty());
                NtStatus::InvalidParameter
            }
        };
        prop_assert!([NtStatus::Success, NtStatus::InvalidParameter].contains(&status));
        prop_assert_eq!(write(&engine, handle, Level::Error, 1, b"x"), NtStatus::Success);
        prop_assert!(status.is_success() || session.events().is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow in an interpreter")]
    fn blocks_of_properties_start_a_session_or_are_refused(
        mut bytes in collection::vec(any::<u8>(), 0..400),
        size in 0_u32..420,
        mode in any::<u32>(),
        offsets in any::<[u8; 2]>(),
    ) {
        // With random sizes and offsets, almost every block would be rejected early.
        for (offset, value) in [
            (0, size),
            (48, 4),
            (52, 0),
            (56, 0),
            (64, mode | 0x400),
            (112, u32::from(offsets[0]) * 2),
            (116, u32::from(offsets[1]) * 2),
        ] {
            if let Some(place) = bytes.get_mut(offset..offset + 4) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        if let Ok(properties) = Properties::from_block("name", &bytes) {
            let engine = Engine::with_options(EngineOptions { processors: 1, ..EngineOptions::default() });
            if let Ok(session) = engine.start(&properties) {
                let status = session.finish();
                prop_assert!(status.is_ok());
                let _ = status.map(|status| status.status.fill_block(&mut bytes));
            }
        }
    }
}
