//! `EnumerateTraceGuidsEx`: registrations, groups, and the sessions that enabled them.

use crate::common::{GROUP, OTHER, PROVIDER, register};
use etw_engine::{Enable, Engine, Enumeration, Origin, ProviderInstance, QueryError, Target, property};
use etw_types::session::{TraceEnableInfo, TraceInfoClass, TraceProviderInstanceInfo};
use etw_types::{EventInfoClass, Guid, Level, Win32Error};

fn sorted(mut guids: Vec<Guid>) -> Enumeration {
    guids.sort_unstable();
    Enumeration::Guids(guids)
}

#[test]
fn registered_and_waiting_guids_are_listed() {
    let engine = Engine::new();
    register(&engine, PROVIDER);
    register(&engine, PROVIDER);
    engine.start_session("s").enable(OTHER, Enable::default());
    let list = engine.enumerate_trace_guids(TraceInfoClass::GuidQueryList, None);
    assert_eq!(list, Ok(sorted(vec![PROVIDER, OTHER])));
    let own = || engine.enumerate_trace_guids(TraceInfoClass::GuidQueryProcess, None);
    assert_eq!(own(), Ok(sorted(vec![])), "the registration is in the kernel, not in this process");
    engine.register_from(Origin::user(std::process::id(), "me"), OTHER, None, |_| {}).unwrap();
    assert_eq!(own(), Ok(sorted(vec![OTHER])));
}

#[test]
fn a_provider_lists_its_instances_and_the_sessions_that_enabled_them() {
    let engine = Engine::new();
    engine.register_from(Origin::user(7, "a.exe"), PROVIDER, None, |_| {}).unwrap();
    engine.register_from(Origin::user(8, "b.exe"), PROVIDER, None, |_| {}).unwrap();
    let asked = Enable { level: Level::Warning, any: 6, all: 2, property: property::STACK_TRACE, ..Enable::default() };
    engine.start_session("s").enable(PROVIDER, asked);
    let class = TraceInfoClass::GuidQueryInfo;
    assert_eq!(engine.enumerate_trace_guids(class, None), Err(Win32Error::InvalidParameter));
    assert_eq!(engine.enumerate_trace_guids(class, Some(OTHER)), Err(Win32Error::WmiInstanceNotFound));
    let needed = 8 + 2 * (TraceProviderInstanceInfo::SIZE + TraceEnableInfo::SIZE);
    let input = PROVIDER.to_bytes_le();
    let probe = engine.enumerate_trace_guids_bytes(class, &input, &mut []);
    assert_eq!(probe, Err(QueryError { code: Win32Error::InsufficientBuffer, needed }));
    let mut buffer = vec![0; needed];
    assert_eq!(engine.enumerate_trace_guids_bytes(class, &input, &mut buffer), Ok(needed));
    let first = TraceProviderInstanceInfo::parse(&buffer[8..]).unwrap();
    assert_eq!(buffer[0], 2);
    assert_eq!(first.process_id, 7);
    assert_eq!(first.enable_count, 1);
    assert_eq!(first.next_offset, 48);
    let second = TraceProviderInstanceInfo::parse(&buffer[8 + 48..]).unwrap();
    assert_eq!(second.process_id, 8);
    assert_eq!(second.next_offset, 0);
    let enabled = TraceEnableInfo::parse(&buffer[8 + 16..]).unwrap();
    assert_eq!(enabled.is_enabled, 1);
    assert_eq!(enabled.level, 3);
    assert_eq!(enabled.match_any, 6);
    assert_eq!(enabled.match_all, 2);
    assert_ne!(enabled.enable_property & property::STACK_TRACE, 0);
}

#[test]
fn a_provider_that_is_only_enabled_has_one_instance_without_a_process() {
    let engine = Engine::new();
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable::default());
    session.enable(Target::Group(GROUP), Enable::default());
    let info = |class, guid| engine.enumerate_trace_guids(class, Some(guid));
    let enabled = TraceEnableInfo {
        is_enabled: 1,
        level: 0xFF,
        logger_id: session.status().logger_id,
        enable_property: property::ENABLE_KEYWORD_0,
        match_any: u64::MAX,
        ..TraceEnableInfo::default()
    };
    let instance = ProviderInstance { process_id: 0, flags: 2, enabled: vec![enabled] };
    assert_eq!(info(TraceInfoClass::GuidQueryInfo, PROVIDER), Ok(Enumeration::Provider(vec![instance])));
    let group = Enumeration::Group(vec![enabled], Vec::new());
    assert_eq!(info(TraceInfoClass::GroupQueryInfo, GROUP), Ok(group), "a group without members");
    let list = engine.enumerate_trace_guids(TraceInfoClass::GuidQueryList, None);
    assert_eq!(list, Ok(sorted(vec![PROVIDER])), "a group is not a provider");

    register(&engine, OTHER);
    let registered = ProviderInstance { process_id: 0, flags: 0, enabled: Vec::new() };
    assert_eq!(info(TraceInfoClass::GuidQueryInfo, OTHER), Ok(Enumeration::Provider(vec![registered])));
    let number = engine.enumerate_trace_guids(TraceInfoClass::MaxLoggersQuery, None).unwrap();
    assert_eq!(number.to_bytes(), 64_u32.to_le_bytes());
}

#[test]
fn a_group_lists_its_sessions_at_byte_four_and_then_its_members() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let mut traits = b"\x17\x00P\x00\x13\x00\x01".to_vec();
    traits.extend_from_slice(&GROUP.to_bytes_le());
    engine.set_information(handle, EventInfoClass::SetTraits, traits.as_slice());
    engine.start_session("s").enable(Target::Group(GROUP), Enable::default());
    let list = engine.enumerate_trace_guids(TraceInfoClass::GroupQueryList, None);
    assert_eq!(list, Ok(sorted(vec![GROUP])));
    let group = engine.enumerate_trace_guids(TraceInfoClass::GroupQueryInfo, Some(GROUP)).unwrap();
    let bytes = group.to_bytes();
    assert_eq!(bytes.len(), 4 + 32 + 4 + 16);
    assert_eq!(bytes[0], 1);
    assert_eq!(bytes[4], 1);
    assert_eq!(bytes[36], 1);
    assert_eq!(bytes[40..], PROVIDER.to_bytes_le());
    engine.find_session("s").unwrap().stop();
    let list = engine.enumerate_trace_guids(TraceInfoClass::GroupQueryList, None);
    assert_eq!(list, Ok(sorted(vec![GROUP])), "its member is registered");
    let group = engine.enumerate_trace_guids(TraceInfoClass::GroupQueryInfo, Some(GROUP));
    assert_eq!(group, Ok(Enumeration::Group(Vec::new(), vec![PROVIDER])));
    let none = engine.enumerate_trace_guids(TraceInfoClass::GroupQueryInfo, Some(OTHER));
    assert_eq!(none, Err(Win32Error::WmiInstanceNotFound));
}
