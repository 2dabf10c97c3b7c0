//! The constant half of an event.

use etw_types::{EventDataDescriptor, EventDescriptor};

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
        Self { descriptor, metadata: EventDataDescriptor::event_metadata(metadata) }
    }

    /// The stop event of an activity, which leaves [`StopMetadata`](super::stop::StopMetadata) room for fields.
    ///
    /// # Panics
    ///
    /// If the metadata is longer than `stop_activity!` expects; in a constant that is a compile error.
    #[must_use]
    pub const fn of_activity(descriptor: EventDescriptor, metadata: &'static [u8]) -> Self {
        assert!(
            metadata.len() <= super::stop::START_SIZE,
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

    /// This event, by a reference of which the compiler does not know where it points.
    ///
    /// The function that writes an event has one caller, so the compiler would build the event's address into it, and no
    /// two such functions would be alike. Without that knowledge, all events of one signature share one function.
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

/// The same address, through a register that the compiler does not look into.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "the pointer passes through; nothing is read or written")]
pub(super) fn opaque<T>(pointer: *const T) -> *const T {
    let mut pointer = pointer;
    // SAFETY: there is no instruction, so the register keeps its value and nothing else is touched.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}

/// Elsewhere (an interpreter has no registers) functions are not shared.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline(always)]
pub(super) fn opaque<T>(pointer: *const T) -> *const T {
    pointer
}
