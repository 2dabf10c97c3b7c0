//! The constant part of an event.

use etw_types::{EventDataDescriptor, EventDescriptor};

/// Maximum size of a stop event's own metadata: its size field, tag, name and result.
pub(super) const START_SIZE: usize = 250;

/// The data of an event that is known when the driver is built: its descriptor, and the descriptor of its metadata.
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
        Self { descriptor, metadata: EventDataDescriptor::event_metadata(metadata) }
    }

    /// Creates the stop event of an activity. Its metadata leaves room for the fields that
    /// `StopMetadata` adds.
    ///
    /// # Panics
    ///
    /// Panics if the metadata is longer than `stop_activity!` expects. In a constant, that is a compile error.
    #[must_use]
    pub const fn of_activity(descriptor: EventDescriptor, metadata: &'static [u8]) -> Self {
        assert!(
            metadata.len() <= START_SIZE,
            "the name of an activity and that of its result have at most 240 bytes together"
        );
        Self::new(descriptor, metadata)
    }

    /// The encoded metadata.
    #[must_use]
    pub fn metadata_bytes(&self) -> &'static [u8] {
        let size = usize::try_from(self.metadata.size()).unwrap_or_default();
        // SAFETY: the descriptor was made from a `&'static [u8]`, whose address and length these are.
        unsafe { core::slice::from_raw_parts(self.metadata.as_ptr(), size) }
    }

    /// Returns a reference to this event whose address the compiler does not know.
    ///
    /// The function that writes an event has only one caller, so the compiler would make the event's address a constant
    /// in it, and no two such functions would be identical. With an unknown address, all events with the same types of
    /// fields share one function.
    #[must_use]
    #[inline(always)]
    pub fn opaque(&'static self) -> &'static Self {
        let pointer = opaque(self);
        // SAFETY: `opaque` returns the address it was given.
        unsafe { &*pointer }
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

/// Returns the same address, through a register whose value the compiler cannot see.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "the pointer passes through; nothing is read or written")]
pub(super) fn opaque<T>(pointer: *const T) -> *const T {
    let mut pointer = pointer;
    // SAFETY: the assembly has no instructions, so the register keeps its value and nothing else changes.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}

/// On other targets (and in Miri, which has no registers), functions are not shared.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline(always)]
pub(super) fn opaque<T>(pointer: *const T) -> *const T {
    pointer
}
