//! Events with descriptors, strings, and events that are assembled at run time.

use etw_engine::{Enable, Routine, Session, SessionOptions};
use etw_symbols::Host;
use wdk_etw::tracelogging::EventBuilder;
use wdk_etw::{
    Channel, EventDataDescriptor, EventDescriptor, Guid, Keyword, Level, NtStatus, OutType, Provider, WriteFlags,
    define_provider,
};

define_provider!(PLAIN, "Manifest.Plain");
define_provider!(EXTENDED, "Manifest.Extended");
define_provider!(TEXT, "Manifest.Text");
define_provider!(LIMITS, "Manifest.Limits");
define_provider!(BUILT, "Manifest.Built");
define_provider!(UNREGISTERED, "Manifest.Unregistered");

const EVENT: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(0x8))
    .with_id_version(42, 3)
    .with_channel(Channel::TraceClassic)
    .with_task(7);
const ACTIVITY: Guid = Guid::from_u128(1);
const RELATED: Guid = Guid::from_u128(2);

/// Registers the provider, enables everything in a session, runs `body`, and unregisters the provider.
fn traced(provider: &'static Provider, body: impl FnOnce(&Host, &Session)) {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("manifest");
    session.enable(*provider.id(), Enable::default());
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { provider.register() }, NtStatus::Success);
    body(&host, &session);
    assert_eq!(provider.unregister(), NtStatus::Success);
    assert_eq!(host.engine().findings(), []);
}

#[test]
fn an_event_arrives_with_its_descriptor_ids_and_data() {
    traced(&PLAIN, |_, session| {
        let data = [EventDataDescriptor::new(b"one"), EventDataDescriptor::new(b""), EventDataDescriptor::new(b"two")];
        assert_eq!(PLAIN.write(&EVENT, Some(&ACTIVITY), Some(&RELATED), &data), NtStatus::Success);
        assert_eq!(PLAIN.write(&EVENT, None, None, &[]), NtStatus::Success);
        let events = session.events();
        assert_eq!(events[0].descriptor, EVENT);
        assert_eq!(events[0].payload, b"onetwo");
        assert_eq!(events[0].activity, ACTIVITY);
        assert_eq!(events[0].related, Some(RELATED));
        assert_eq!(events[1].activity, Guid::ZERO, "without an id the kernel writes zero");
        assert_eq!(events[1].related, None, "without an id the kernel writes zero");
    });
}

#[test]
fn write_ex_passes_filter_and_flags() {
    traced(&EXTENDED, |_, session| {
        let status = EXTENDED.write_ex(&EVENT, 5, WriteFlags::NO_FAULTING, None, Some(&RELATED), &[]);
        assert_eq!(status, NtStatus::Success);
        assert_eq!(EXTENDED.write_ex(&EVENT, 0, WriteFlags::from_bits(2), None, None, &[]), NtStatus::Success);
        assert_eq!(WriteFlags::from_bits(2), WriteFlags::IN_PRIVATE);
        let events = session.events();
        assert_eq!(events[0].filter, 5);
        assert_eq!(events[0].flags, 1);
        assert_eq!(events[0].related, Some(RELATED));
        assert_eq!(events[1].filter, 0);
        assert_eq!(events[1].flags, 2);
        assert_eq!(events[1].related, None);
    });
}

#[test]
fn a_string_needs_its_nul() {
    traced(&TEXT, |_, session| {
        let text: Vec<u16> = "größer\0".encode_utf16().collect();
        assert_eq!(TEXT.write_string(Level::Warning, 0x8, Some(&ACTIVITY), &text), NtStatus::Success);
        assert_eq!(TEXT.write_string(Level::Warning, 0x8, None, &text[..3]), NtStatus::InvalidParameter);
        assert_eq!(TEXT.write_string(Level::Warning, 0x8, None, &[]), NtStatus::InvalidParameter);
        let events = session.events();
        assert_eq!(events.len(), 1);
        assert!(events[0].string_only);
        assert_eq!(events[0].activity, ACTIVITY);
        let expected: Vec<u8> = text.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        assert_eq!(events[0].payload, expected);
    });
}

#[test]
fn limits_are_statuses() {
    traced(&LIMITS, |host, session| {
        let piece = EventDataDescriptor::new(b"x");
        assert_eq!(LIMITS.write(&EVENT, None, None, &[piece; 128]), NtStatus::Success);
        assert_eq!(LIMITS.write(&EVENT, None, None, &[piece; 129]), NtStatus::InvalidParameter);
        assert_eq!(LIMITS.write_ex(&EVENT, 0, WriteFlags::NONE, None, None, &[piece; 129]), NtStatus::InvalidParameter);
        let calls = [Routine::WriteTransfer, Routine::WriteEx].map(|routine| host.engine().count_calls(routine));
        assert_eq!(calls, [1, 0], "ETW is not called with more descriptors than it takes");
        let huge = vec![0; 0xFFF9];
        assert_eq!(LIMITS.write(&EVENT, None, None, &[EventDataDescriptor::new(&huge)]), NtStatus::IntegerOverflow);
        assert_eq!(session.events().len(), 1);
        let small = host
            .engine()
            .start_session_with("small", SessionOptions { max_event_size: 512, ..SessionOptions::default() });
        session.stop();
        small.enable(*LIMITS.id(), Enable::default());
        let large = EventDataDescriptor::new(&huge[..1024]);
        assert_eq!(LIMITS.write(&EVENT, None, None, &[large]), NtStatus::BufferOverflow);
        host.engine().fail_next(Routine::WriteTransfer, NtStatus::NoMemory);
        assert_eq!(LIMITS.write(&EVENT, None, None, &[]), NtStatus::NoMemory);
    });
}

#[test]
fn an_unregistered_provider_writes_nothing_successfully() {
    let host = Host::new();
    let _here = host.enter();
    let text = [u16::from(b'a'), 0];
    assert_eq!(UNREGISTERED.write(&EVENT, None, None, &[]), NtStatus::Success);
    assert_eq!(UNREGISTERED.write_ex(&EVENT, 0, WriteFlags::NONE, None, None, &[]), NtStatus::Success);
    assert_eq!(UNREGISTERED.write_string(Level::Critical, 0, None, &text), NtStatus::Success);
    assert_eq!(host.engine().calls().len(), 0);
}

#[test]
fn a_built_event_arrives_with_its_schema_and_a_full_buffer_is_a_status() {
    const DETAIL: EventDescriptor = EventDescriptor::new(Level::Verbose, Keyword::from_bits(1));
    traced(&BUILT, |_, session| {
        let mut metadata = [0; 64];
        let mut payload = [0; 16];
        let event = EventBuilder::new(&mut metadata, &mut payload, "Register", 0).hex32("Value", 0xAB).u16("Bank", 3);
        assert_eq!(BUILT.write_built(&DETAIL, Some(&ACTIVITY), None, event), NtStatus::Success);
        let event = &session.events()[0];
        assert_eq!(event.metadata.as_deref(), Some(&b"\x19\0\0Register\0Value\0\x14Bank\0\x06"[..]));
        assert_eq!(event.traits.as_deref(), Some(BUILT.traits()));
        assert_eq!(event.payload, b"\xab\0\0\0\x03\0");
        assert_eq!(event.activity, ACTIVITY);

        let mut metadata = [0; 8];
        let mut payload = [0; 16];
        let event = EventBuilder::new(&mut metadata, &mut payload, "Register", 0);
        assert_eq!(BUILT.write_built(&DETAIL, None, None, event), NtStatus::BufferTooSmall);
        let mut metadata = [0; 64];
        let mut payload = [0; 3];
        let event = EventBuilder::new(&mut metadata, &mut payload, "Register", 0).u32("Value", 1);
        assert_eq!(BUILT.write_built(&DETAIL, None, None, event), NtStatus::BufferTooSmall);
        let mut metadata = [0; 64];
        let mut payload = [0; 16];
        let event = EventBuilder::new(&mut metadata, &mut payload, "Bad\0Name", 0);
        assert_eq!(BUILT.write_built(&DETAIL, None, None, event), NtStatus::InvalidParameter);
        let mut metadata = [0; 64];
        let mut payload = [0; 16];
        let event = EventBuilder::new(&mut metadata, &mut payload, "Tag", 0);
        let event = event.field("F", wdk_etw::InType::U8, OutType::Hex, 0x1000_0000, &[1]);
        assert_eq!(BUILT.write_built(&DETAIL, None, None, event), NtStatus::InvalidParameter);
        assert_eq!(session.events().len(), 1);
    });
}
