//! How the parts of a written event are captured.

use crate::common::{PROVIDER, descriptor, register};
use etw_engine::{Block, CapturedBlock, Enable, Engine, EventWrite, Properties, Routine, Session};
use etw_types::{Channel, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus, Opcode};

fn listening() -> (Engine, u64, Session) {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable::default());
    (engine, handle, session)
}

const TYPED: [Block<'static>; 5] = [
    Block::with_kind(b"traits", DataKind::ProviderMetadata),
    Block::with_kind(b"meta", DataKind::EventMetadata),
    Block::data(b"one"),
    Block::with_kind(&[8, 7, 6, 5, 4, 3, 2, 1], DataKind::TimestampOverride),
    Block::data(b"two"),
];

#[test]
fn with_descriptor_types_each_kind_has_its_place() {
    let (engine, handle, session) = listening();
    engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]);
    let event = EventWrite::new(handle, descriptor(Level::Error, 0));
    assert_eq!(engine.write(&event, &TYPED), NtStatus::Success);
    let captured = &session.events()[0];
    assert_eq!(captured.traits.as_deref(), Some(b"traits".as_slice()));
    assert_eq!(captured.metadata.as_deref(), Some(b"meta".as_slice()));
    assert_eq!(captured.payload, b"onetwo");
    assert_eq!(captured.timestamp_override, Some(0x0102_0304_0506_0708));
    assert_eq!(captured.descriptors, 5);
}

#[test]
fn without_descriptor_types_everything_is_payload_in_order() {
    let (engine, handle, session) = listening();
    let event = EventWrite::new(handle, descriptor(Level::Error, 0));
    assert_eq!(event.descriptor.channel, Channel::TraceLogging);
    engine.write(&event, &TYPED);
    let captured = &session.events()[0];
    assert_eq!(&captured.traits, &None);
    assert_eq!(&captured.metadata, &None);
    assert_eq!(captured.timestamp_override, None);
    assert_eq!(captured.payload, b"traitsmetaone\x08\x07\x06\x05\x04\x03\x02\x01two");
    let expected: Vec<CapturedBlock> =
        TYPED.iter().map(|block| CapturedBlock { kind: block.kind, bytes: block.bytes.to_vec() }).collect();
    assert_eq!(captured.blocks, expected, "the blocks stay as they were passed");
}

#[test]
fn a_time_of_a_wrong_size_and_an_unknown_kind_are_payload() {
    let (engine, handle, session) = listening();
    engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]);
    let blocks =
        [Block::with_kind(b"time", DataKind::TimestampOverride), Block::with_kind(b"new", DataKind::from_int(9))];
    engine.write(&EventWrite::new(handle, descriptor(Level::Error, 0)), &blocks);
    assert_eq!(session.events()[0].payload, b"timenew");
    assert_eq!(session.events()[0].timestamp_override, None);
}

#[test]
fn descriptor_ids_filter_and_flags_are_kept() {
    let (engine, handle, session) = listening();
    let descriptor = EventDescriptor::new(Level::Warning, Keyword::from_bits(5))
        .with_id_version(100, 2)
        .with_channel(Channel::from_int(16))
        .with_opcode(Opcode::Start)
        .with_task(7);
    let activity = Guid::from_u128(1);
    let related = Guid::from_u128(2);
    let event = EventWrite {
        routine: Routine::WriteEx,
        filter: 0xF0,
        flags: 1,
        activity: Some(activity),
        related: Some(related),
        ..EventWrite::new(handle, descriptor)
    };
    assert_eq!(engine.write(&event, &[]), NtStatus::Success);
    let captured = &session.events()[0];
    assert_eq!(captured.provider, PROVIDER);
    assert_eq!(captured.descriptor, descriptor);
    assert_eq!(captured.activity, activity);
    assert_eq!(captured.related, Some(related));
    assert_eq!(captured.filter, 0xF0);
    assert_eq!(captured.flags, 1);
    assert!(captured.payload.is_empty());
    assert!(!captured.string_only);
}

#[test]
fn no_activity_id_is_a_zero_guid() {
    let (engine, handle, session) = listening();
    engine.activity_id_control(2, &mut Guid::from_u128(77));
    engine.write(&EventWrite::new(handle, descriptor(Level::Error, 0)), &[]);
    assert_eq!(session.events()[0].activity, Guid::ZERO);
    assert_eq!(session.events()[0].related, None);
}

#[test]
fn a_string_is_utf_16_with_its_end() {
    let (engine, handle, session) = listening();
    let text: Vec<u16> = "hé".encode_utf16().collect();
    let activity = Guid::from_u128(3);
    let status = engine.write_string(handle, Level::Error, Keyword::from_bits(8), Some(activity), &text);
    assert_eq!(status, NtStatus::Success);
    let captured = &session.events()[0];
    assert_eq!(captured.payload, [b'h', 0, 0xE9, 0, 0, 0]);
    assert!(captured.string_only);
    assert_eq!(captured.descriptor.level, Level::Error);
    assert_eq!(captured.descriptor.keyword.bits(), 8);
    assert_eq!(captured.activity, activity);
}

#[test]
fn events_are_in_order_and_numbered() {
    let (engine, handle, session) = listening();
    for number in 0..10_u8 {
        engine.write(&EventWrite::new(handle, descriptor(Level::Error, 0)), &[Block::data(&[number])]);
    }
    let events = session.events();
    assert!(events.iter().enumerate().all(|(index, event)| event.sequence == index as u64));
    assert!(events.iter().zip(0..).all(|(event, number)| event.payload == [number]));
    assert!(events.is_sorted_by_key(|event| event.timestamp));
}

/// Returns the status of a write to a session with buffers, and its record. If another session captures the event, the
/// engine copies the data first; otherwise the session takes it from the writer's memory.
fn recorded(blocks: &[Block<'_>], is_typed: bool, is_captured: bool) -> (NtStatus, Option<Vec<u8>>) {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    engine.set_information(handle, EventInfoClass::UseDescriptorType, &[u8::from(is_typed)]);
    engine.set_clock(|| 7);
    let captures = engine.start_session("captures");
    if is_captured {
        captures.enable(PROVIDER, Enable::default());
    }
    let session = engine.start(&Properties { buffer_kib: 128, ..Properties::to_consumers("buffers") }).unwrap();
    let consumer = session.consume().unwrap();
    session.enable(PROVIDER, Enable::default());
    let status = engine.write(&EventWrite::new(handle, descriptor(Level::Error, 0)), blocks);
    session.finish().unwrap();
    let record = consumer.try_next_buffer().and_then(|buffer| buffer.records().next().map(<[u8]>::to_vec));
    (status, record)
}

#[test]
fn data_is_the_same_with_and_without_a_copy() {
    let metadata = Block::with_kind(b"meta", DataKind::EventMetadata);
    let traits = Block::with_kind(b"traits", DataKind::ProviderMetadata);
    let half = vec![1; 0x7000];
    let large = vec![1; 0x1_0000];
    let lists: [&[Block<'_>]; 11] = [
        &[],
        &TYPED,
        &[Block::data(b"payload")],
        &[metadata, metadata],
        &[traits, traits, metadata],
        &[Block::with_kind(b"time", DataKind::TimestampOverride), Block::with_kind(b"new", DataKind::from_int(9))],
        &[Block::data(b"x"); 16],
        &[Block::data(b"x"); 17],
        &[Block::data(&half), Block::data(&half)],
        &[Block::data(&large[..0xFFFF - 0x50])],
        &[Block::data(&large[..=0xFFFF - 0x50])],
    ];
    for (index, blocks) in lists.into_iter().enumerate() {
        for is_typed in [false, true] {
            let copied = recorded(blocks, is_typed, true);
            let direct = recorded(blocks, is_typed, false);
            assert_eq!(copied, direct, "list {index}, typed: {is_typed}");
            assert_eq!(direct.1.is_some(), direct.0 == NtStatus::Success, "list {index}");
        }
    }
}
