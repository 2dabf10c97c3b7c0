//! The model of an event schema, and the trait of schema sources.

mod event;
mod name;

use std::sync::Arc;

use etw_types::{Guid, InType};

use crate::types::Encoding;
pub(crate) use event::limited;
pub use event::{EventSchema, Extent, Field, MapEntry, Source, ValueMap};
pub(crate) use name::Named;

/// The pointer size of the process or kernel that wrote an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PointerSize {
    /// 32 bits.
    Four,
    /// 64 bits.
    Eight,
}

impl PointerSize {
    /// Returns the size of a pointer in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// Identifies a kind of event.
///
/// A manifest event is identified by provider, id and version. A classic event has no id: it is identified by the GUID of its
/// class, its opcode (the event type) and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKey {
    /// The provider of a manifest event, or the class of a classic event.
    pub provider: Guid,
    /// The id; 0 for a classic event.
    pub id: u16,
    /// The version.
    pub version: u8,
    /// The opcode, or the type of a classic event.
    pub opcode: u8,
    /// Whether the event is classic.
    pub is_classic: bool,
    /// The size of pointers.
    pub pointer: PointerSize,
}

/// A source of schemas.
pub trait Schema: Send + Sync {
    /// Returns the schema of an event, if it is known.
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>>;

    /// Returns the name of a provider, if it is known. It may be known even if the event is not.
    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>>;
}

/// Sources of schemas in order of precedence. As a [`Schema`], the first source that knows an event is used; a decoder chooses among
/// all [`candidates`](Self::candidates).
#[derive(Clone, Default)]
pub struct Layers {
    sources: Vec<Arc<dyn Schema>>,
}

impl Layers {
    /// Creates an empty list of sources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source that is searched after all others.
    pub fn push(&mut self, source: Arc<dyn Schema>) {
        self.sources.push(source);
    }

    /// Returns the different schemas that the sources have for an event, in order of precedence.
    #[must_use]
    pub fn candidates(&self, key: &EventKey) -> Vec<Arc<EventSchema>> {
        let mut found: Vec<Arc<EventSchema>> = Vec::new();
        for schema in self.sources.iter().filter_map(|source| source.event(key)).map(with_all_frames) {
            if !found.iter().any(|known| known.fields == schema.fields) {
                found.push(schema);
            }
        }
        found
    }
}

impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layers").field("sources", &self.sources.len()).finish()
    }
}

/// Corrects the stacks of the .NET runtime. Its manifest declares a stack as an array of two frames after a frame count, and
/// manifests that were made from its binary as a single frame, but the runtime writes all frames: there are as many as the preceding
/// field says.
fn with_all_frames(mut schema: Arc<EventSchema>) -> Arc<EventSchema> {
    let Some(last) = schema.top_level.checked_sub(1) else { return schema };
    let is_stack = |field: &Field| {
        &*field.name == "Stack"
            && field.encoding == Encoding::Pointer
            && matches!(field.count, Extent::None | Extent::Fixed(_))
    };
    let counts = |field: &Field| &*field.name == "FrameCount" && field.encoding == Encoding::Value(InType::U32);
    if let (Some([.., count, stack]), Ok(place)) = (schema.fields.get(..=last), u16::try_from(last))
        && counts(count)
        && is_stack(stack)
        && let Some(stack) = Arc::make_mut(&mut Arc::make_mut(&mut schema).fields).get_mut(last)
    {
        stack.count = Extent::Field(place - 1);
    }
    schema
}

impl Schema for Layers {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        self.sources.iter().find_map(|source| source.event(key)).map(with_all_frames)
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.sources.iter().find_map(|source| source.provider_name(provider))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Arc, Encoding, EventKey, EventSchema, Extent, Field, Guid, InType, Layers, PointerSize, Schema, Source,
    };

    struct One(Arc<EventSchema>);

    impl Schema for One {
        fn event(&self, _key: &EventKey) -> Option<Arc<EventSchema>> {
            Some(Arc::clone(&self.0))
        }

        fn provider_name(&self, _provider: &Guid) -> Option<Arc<str>> {
            None
        }
    }

    /// Returns the count of the last of these fields, as returned by [`Layers`].
    fn count(fields: Vec<Field>) -> Extent {
        let provider = "P".into();
        let name = "E".into();
        let top_level = fields.len();
        let source = Source::Trace;
        let level = None;
        let channel = None;
        let keywords = Vec::new();
        let message = None;
        let fields = fields.into();
        let schema = EventSchema { provider, name, level, channel, keywords, message, fields, top_level, source };
        let mut layers = Layers::new();
        layers.push(Arc::new(One(Arc::new(schema))));
        let provider = Guid::from_u128(1);
        let key = EventKey { provider, id: 82, version: 0, opcode: 0, is_classic: false, pointer: PointerSize::Eight };
        layers.event(&key).unwrap().fields.last().map_or(Extent::None, |field| field.count)
    }

    #[test]
    fn a_stack_has_all_its_frames() {
        let number = Field::new("FrameCount", Encoding::Value(InType::U32));
        let stack = Field { count: Extent::Fixed(2), ..Field::new("Stack", Encoding::Pointer) };
        assert_eq!(count(vec![number.clone(), stack.clone()]), Extent::Field(0));
        assert_eq!(count(vec![stack.clone()]), Extent::Fixed(2));
        let other = Field { name: "Frames".into(), ..stack };
        assert_eq!(count(vec![number, other]), Extent::Fixed(2));
        assert_eq!(count(Vec::new()), Extent::None);
    }
}
