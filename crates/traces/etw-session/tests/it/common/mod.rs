//! Shared by the tests: a machine with a new engine, and a provider in it.

use std::sync::Arc;

use etw_engine::{Block, Engine, EngineOptions, EventWrite};
use etw_session::platform::EngineSystem;
use etw_session::{Machine, Properties, Session};
use etw_types::session::ClassicEventId;
use etw_types::{DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level};

pub(crate) const PROVIDER: Guid = Guid::from_name("Session-Test");
pub(crate) const GROUP: Guid = Guid::from_name("Session-Test-Group");

/// Returns a machine and its engine.
pub(crate) fn machine() -> (Machine, Engine) {
    machine_with(EngineOptions::default())
}

pub(crate) fn machine_with(options: EngineOptions) -> (Machine, Engine) {
    let engine = Engine::with_options(options);
    (Machine::with(Arc::new(EngineSystem::new(engine.clone()))), engine)
}

/// Starts a real-time session that receives events of the system providers.
pub(crate) fn system_session(machine: &Machine) -> Session {
    machine.start(&Properties::new("system").real_time().system_logger(0)).unwrap()
}

/// Starts a real-time session.
pub(crate) fn plain_session(machine: &Machine) -> Session {
    machine.start(&Properties::new("plain").real_time()).unwrap()
}

pub(crate) fn events(count: usize) -> Vec<ClassicEventId> {
    let event = |event_type| ClassicEventId { guid: PROVIDER, event_type, ..ClassicEventId::default() };
    (0..count).map(|number| event(u8::try_from(number % 256).unwrap())).collect()
}

/// Registers the provider as a member of the group.
pub(crate) fn register(engine: &Engine) -> u64 {
    let handle = engine.register(PROVIDER, None, |_| {}).unwrap();
    assert!(engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1][..]).is_success());
    let mut traits = vec![0, 0];
    traits.extend(b"Session-Test\0");
    traits.extend([19, 0, 1]);
    traits.extend(GROUP.to_bytes_le());
    let size = u16::try_from(traits.len()).unwrap();
    traits[..2].copy_from_slice(&size.to_le_bytes());
    assert!(engine.set_information(handle, EventInfoClass::SetTraits, traits.as_slice()).is_success());
    handle
}

/// Writes a TraceLogging event without fields.
pub(crate) fn write(engine: &Engine, handle: u64, id: u16, name: &str) {
    let mut metadata = vec![0, 0, 0];
    metadata.extend(name.bytes().chain([0]));
    let size = u16::try_from(metadata.len()).unwrap();
    metadata[..2].copy_from_slice(&size.to_le_bytes());
    let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_id_version(id, 0);
    let blocks = [
        Block { kind: DataKind::ProviderMetadata, bytes: b"\x0f\x00Session-Test\x00" },
        Block { kind: DataKind::EventMetadata, bytes: &metadata },
    ];
    assert!(engine.write(&EventWrite::new(handle, descriptor), blocks.as_slice()).is_success());
}
