//! `EnumerateTraceGuidsEx`: registrations, groups, and the sessions that enabled them.

use crate::common::{GROUP, OTHER, PROVIDER, register};
use etw_engine::info::{
    GroupInstances, Information, MaxSessions, ProcessProviders, ProviderGroups, ProviderInstance, ProviderInstances,
    RegisteredProviders,
};
use etw_engine::{Enable, Engine, Origin, QueryError, Target, property};
use etw_types::session::{TraceEnableInfo, TraceInfoClass, TraceProviderInstanceInfo};
use etw_types::{EventInfoClass, Guid, Level, Win32Error};

fn sorted(mut guids: Vec<Guid>) -> Vec<Guid> {
    guids.sort_unstable();
    guids
}

#[test]
fn registered_and_waiting_guids_are_listed() {
    let engine = Engine::new();
    register(&engine, PROVIDER);
    register(&engine, PROVIDER);
    engine.start_session("s").enable(OTHER, Enable::default());
    let list = engine.enumerate_trace_guids(&());
    assert_eq!(list, Ok(RegisteredProviders(sorted(vec![PROVIDER, OTHER]))));
    let own = || engine.enumerate_trace_guids::<ProcessProviders>(&()).unwrap().0;
    assert_eq!(own(), [], "the registration is in the kernel, not in this process");
    engine.register_from(Origin::user(std::process::id(), "me"), OTHER, None, |_| {}).unwrap();
    assert_eq!(own(), [OTHER]);
}

#[test]
fn a_provider_lists_its_instances_and_the_sessions_that_enabled_them() {
    let engine = Engine::new();
    engine.register_from(Origin::user(7, "a.exe"), PROVIDER, None, |_| {}).unwrap();
    engine.register_from(Origin::user(8, "b.exe"), PROVIDER, None, |_| {}).unwrap();
    let asked = Enable { level: Level::Warning, any: 6, all: 2, property: property::STACK_TRACE, ..Enable::default() };
    engine.start_session("s").enable(PROVIDER, asked);
    let class = TraceInfoClass::GuidQueryInfo;
    let without = engine.enumerate_trace_guids_bytes(class, &[], &mut []);
    assert_eq!(without, Err(QueryError::from(Win32Error::InvalidParameter)));
    let unknown = engine.enumerate_trace_guids::<ProviderInstances>(&OTHER);
    assert_eq!(unknown, Err(Win32Error::WmiInstanceNotFound));
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
    let enabled = TraceEnableInfo {
        is_enabled: 1,
        level: 0xFF,
        logger_id: session.status().logger_id,
        enable_property: property::ENABLE_KEYWORD_0,
        match_any: u64::MAX,
        ..TraceEnableInfo::default()
    };
    let instance = ProviderInstance { process_id: 0, flags: 2, enabled: vec![enabled] };
    assert_eq!(engine.enumerate_trace_guids(&PROVIDER), Ok(ProviderInstances(vec![instance])));
    let group = GroupInstances { enabled: vec![enabled], members: Vec::new() };
    assert_eq!(engine.enumerate_trace_guids(&GROUP), Ok(group), "a group without members");
    let list = engine.enumerate_trace_guids(&());
    assert_eq!(list, Ok(RegisteredProviders(sorted(vec![PROVIDER]))), "a group is not a provider");

    register(&engine, OTHER);
    let registered = ProviderInstance { process_id: 0, flags: 0, enabled: Vec::new() };
    assert_eq!(engine.enumerate_trace_guids(&OTHER), Ok(ProviderInstances(vec![registered])));
    assert_eq!(engine.enumerate_trace_guids(&()), Ok(MaxSessions(64)));
}

#[test]
fn a_group_lists_its_sessions_at_byte_four_and_then_its_members() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let mut traits = b"\x17\x00P\x00\x13\x00\x01".to_vec();
    traits.extend_from_slice(&GROUP.to_bytes_le());
    engine.set_information(handle, EventInfoClass::SetTraits, traits.as_slice());
    engine.start_session("s").enable(Target::Group(GROUP), Enable::default());
    let list = engine.enumerate_trace_guids(&());
    assert_eq!(list, Ok(ProviderGroups(sorted(vec![GROUP]))));
    let bytes = engine.enumerate_trace_guids::<GroupInstances>(&GROUP).unwrap().encode();
    assert_eq!(bytes.len(), 4 + 32 + 4 + 16);
    assert_eq!(bytes[0], 1);
    assert_eq!(bytes[4], 1);
    assert_eq!(bytes[36], 1);
    assert_eq!(bytes[40..], PROVIDER.to_bytes_le());
    engine.find_session("s").unwrap().stop();
    let list = engine.enumerate_trace_guids(&());
    assert_eq!(list, Ok(ProviderGroups(sorted(vec![GROUP]))), "its member is registered");
    let group = engine.enumerate_trace_guids(&GROUP);
    assert_eq!(group, Ok(GroupInstances { enabled: Vec::new(), members: vec![PROVIDER] }));
    let none = engine.enumerate_trace_guids::<GroupInstances>(&OTHER);
    assert_eq!(none, Err(Win32Error::WmiInstanceNotFound));
}
