//! The metadata of a stop event with fields: the name is known to the scope, the fields to `stop_activity!`.
//!
//! Only where a stop is written are both at hand, so they are joined on the stack of the function that writes it.

use core::mem::MaybeUninit;
use core::ptr;
use core::slice;

use etw_types::EventDataDescriptor;

use super::Event;

/// The most bytes of a stop event's own metadata: its size, tag, name and result.
pub(super) const START_SIZE: usize = 250;

/// What the metadata of fields begins with: a size, an empty tag and an empty name.
const FIELDS_HEAD: usize = 4;

/// The size of a buffer for a stop event, if the metadata of its fields alone has `fields` bytes.
///
/// # IRQL
///
/// Any.
#[must_use]
pub const fn stop_metadata_size(fields: usize) -> usize {
    START_SIZE + fields.saturating_sub(FIELDS_HEAD)
}

/// Room for the metadata of a stop event.
#[derive(Debug)]
pub struct StopMetadata<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
}

impl<const N: usize> StopMetadata<N> {
    /// An empty buffer.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "made by macros only")]
    pub const fn new() -> Self {
        Self { bytes: [MaybeUninit::uninit(); N] }
    }

    /// The metadata of `stop` followed by that of `fields`, which is metadata of an event without tag and name.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline]
    pub fn join(&mut self, stop: &Event, fields: &[u8]) -> EventDataDescriptor<'_> {
        let start = stop.metadata_bytes();
        let fields = fields.get(FIELDS_HEAD..).unwrap_or_default();
        let size = start.len() + fields.len();
        // Never: `Event::of_activity` bounds the start, and the macros the buffer by the fields.
        let (true, Ok(total)) = (size <= N, u16::try_from(size)) else {
            return stop.metadata();
        };
        let to = self.bytes.as_mut_ptr().cast::<u8>();
        // SAFETY: the buffer has at least `size` bytes, and is not where the metadata of the event is.
        unsafe { ptr::copy_nonoverlapping(start.as_ptr(), to, start.len()) };
        // SAFETY: behind the start there is room for the fields.
        let behind = unsafe { to.add(start.len()) };
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(fields.as_ptr(), behind, fields.len()) };
        // SAFETY: the first `size` bytes were just written; the borrow lasts as long as that of `self`.
        let joined = unsafe { slice::from_raw_parts_mut(to, size) };
        if let Some(head) = joined.first_chunk_mut() {
            *head = total.to_le_bytes();
        }
        EventDataDescriptor::event_metadata(joined)
    }
}
