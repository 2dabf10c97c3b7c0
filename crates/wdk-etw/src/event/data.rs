//! The constant half of an event.

use etw_types::{DataKind, EventDataDescriptor, EventDescriptor};

/// What is known of an event when the driver is built: its descriptor, and the descriptor of its metadata.
///
/// The macros put one into a `static` for each event, so that writing copies sixteen prepared bytes instead of building
/// them.
#[derive(Debug)]
pub struct Event {
    descriptor: EventDescriptor,
    metadata: EventDataDescriptor<'static>,
}

// SAFETY: an event is never written to, and the bytes its metadata descriptor points at are `'static` and immutable.
unsafe impl Sync for Event {}

impl Event {
    /// An event with encoded TraceLogging metadata.
    #[must_use]
    pub const fn new(descriptor: EventDescriptor, metadata: &'static [u8]) -> Self {
        Self { descriptor, metadata: EventDataDescriptor::with_kind(metadata, DataKind::EventMetadata) }
    }

    /// The event's fixed attributes.
    #[must_use]
    #[inline(always)]
    pub const fn descriptor(&self) -> &EventDescriptor {
        &self.descriptor
    }

    /// The event's metadata as the second descriptor of a write.
    #[must_use]
    #[inline(always)]
    pub const fn metadata(&self) -> EventDataDescriptor<'static> {
        self.metadata
    }
}
