//! One model of an event's schema, and one trait for what can provide it.

mod event;

use std::sync::Arc;

use etw_types::Guid;

pub(crate) use event::limited;
pub use event::{EventSchema, Extent, Field, MapEntry, Source, ValueMap};

/// The width of pointers of the process or kernel that wrote an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PointerSize {
    /// 32 bits.
    Four,
    /// 64 bits.
    Eight,
}

impl PointerSize {
    /// Bytes of a pointer.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// What tells one kind of event from another.
///
/// A manifest event is known by provider, id and version. A classic event has no id: the GUID is that of its class, and opcode
/// and version tell the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKey {
    /// The provider of a manifest event, the class of a classic one.
    pub provider: Guid,
    /// The id; 0 for a classic event.
    pub id: u16,
    /// The version.
    pub version: u8,
    /// The opcode; the type of a classic event.
    pub opcode: u8,
    /// Whether the event is classic.
    pub is_classic: bool,
    /// The width of pointers.
    pub pointer: PointerSize,
}

/// Something that knows schemas.
pub trait Schema: Send + Sync {
    /// The schema of an event, if it is known.
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>>;

    /// The name of a provider, if it is known; also when the event in question is not.
    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>>;
}

/// Sources of schemas, asked in their order: the first that knows an event decides.
#[derive(Clone, Default)]
pub struct Layers {
    sources: Vec<Arc<dyn Schema>>,
}

impl Layers {
    /// No source.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source that is asked after all others.
    pub fn push(&mut self, source: Arc<dyn Schema>) {
        self.sources.push(source);
    }
}

impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layers").field("sources", &self.sources.len()).finish()
    }
}

impl Schema for Layers {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        self.sources.iter().find_map(|source| source.event(key))
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.sources.iter().find_map(|source| source.provider_name(provider))
    }
}
