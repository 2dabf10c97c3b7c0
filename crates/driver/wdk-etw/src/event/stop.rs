//! The metadata of a stop event with fields. The scope has the name, and `stop_activity!` has the fields.
//!
//! They come together only when the stop event is written, so they are joined on the stack of the function that writes
//! it.

use core::mem::MaybeUninit;
use core::ptr;
use core::slice;

use etw_types::EventDataDescriptor;

use super::data::{Event, START_SIZE};

/// Size of the header of the fields' metadata: a size, an empty tag and an empty name.
const FIELDS_HEAD: usize = 4;

/// Returns the size of the buffer for a stop event whose fields' metadata has `fields` bytes.
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

    /// Joins the metadata of `stop` with that of `fields`, which is the metadata of an event without tag and name.
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
        // This cannot happen: `Event::of_activity` limits the size of the start, and the macros size the buffer for the
        // fields.
        let (true, Ok(total)) = (size <= N, u16::try_from(size)) else {
            return stop.metadata();
        };
        let to = self.bytes.as_mut_ptr().cast::<u8>();
        // SAFETY: the buffer has at least `size` bytes and does not overlap the event's metadata.
        unsafe { ptr::copy_nonoverlapping(start.as_ptr(), to, start.len()) };
        // SAFETY: the buffer has room for the fields after the start.
        let behind = unsafe { to.add(start.len()) };
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(fields.as_ptr(), behind, fields.len()) };
        // SAFETY: the first `size` bytes were just written, and the result borrows `self`.
        let joined = unsafe { slice::from_raw_parts_mut(to, size) };
        if let Some(head) = joined.first_chunk_mut() {
            *head = total.to_le_bytes();
        }
        EventDataDescriptor::event_metadata(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::stop_metadata_size;

    #[test]
    fn a_stop_has_room_for_the_start_and_for_the_fields_without_their_head() {
        assert_eq!([0, 4, 5, 104].map(stop_metadata_size), [250, 250, 251, 350]);
    }
}
