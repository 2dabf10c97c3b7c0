//! Reads the memory that callers point to.
//!
//! Every pointer that crosses the ABI is checked for NULL here. Structures and strings are copied, without requiring
//! alignment. Nothing here writes.

use std::cell::Cell;
use std::ffi::c_void;
use std::slice;

use etw_engine::{Block, BlockSource, Buffer, MAX_BLOCKS, MAX_DATA};
use etw_types::{EventDataDescriptor, UnicodeString};

/// The length at which a string without a terminator is cut: more units than any event can hold.
const LONGEST_TEXT: usize = 0x8000;

/// Copies the value that `pointer` points to. Returns `None` for NULL.
///
/// # Safety
///
/// `pointer` must be NULL or readable for a `T`, aligned or not.
pub(crate) unsafe fn read<T: Copy>(pointer: *const T) -> Option<T> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: `pointer` is not NULL, so the caller guarantees that it is readable; it need not be aligned.
    Some(unsafe { pointer.read_unaligned() })
}

/// Copies a NUL-terminated string without its terminator. Returns `None` for NULL.
///
/// # Safety
///
/// `text` must be NULL, or readable up to and including its first zero or for [`LONGEST_TEXT`] units.
pub(crate) unsafe fn read_terminated<T: Copy + Default + PartialEq>(text: *const T) -> Option<Vec<T>> {
    if text.is_null() {
        return None;
    }
    let mut units = Vec::new();
    while units.len() < LONGEST_TEXT {
        let next = text.wrapping_add(units.len());
        // SAFETY: there is no zero before this unit, so it is part of the string.
        let unit = unsafe { next.read_unaligned() };
        if unit == T::default() {
            break;
        }
        units.push(unit);
    }
    Some(units)
}

/// Copies a terminated UTF-16 string.
///
/// # Safety
///
/// `text` must be NULL, or readable up to and including its first zero or for 0x8000 units.
pub(crate) unsafe fn read_wide(text: *const u16) -> Option<Vec<u16>> {
    // SAFETY: the caller upholds the same contract.
    unsafe { read_terminated(text) }
}

/// Copies a counted UTF-16 string. Returns `None` if it is NULL or not well formed.
///
/// # Safety
///
/// `string` must be NULL or readable, and its buffer must be NULL or readable for its length.
pub(crate) unsafe fn read_unicode(string: *const UnicodeString) -> Option<String> {
    // SAFETY: the caller upholds the same contract.
    let string = unsafe { read(string) }?;
    let units = usize::from(string.length / 2);
    if !string.length.is_multiple_of(2) || string.length > string.maximum_length || string.buffer.is_null() {
        return None;
    }
    let text: Option<Vec<u16>> = (0..units)
        .map(|index| {
            let unit = string.buffer.wrapping_add(index);
            // SAFETY: the index is less than the length of the buffer.
            unsafe { read(unit) }
        })
        .collect();
    String::from_utf16(&text?).ok()
}

/// Converts the buffer argument of a set-information call.
///
/// # Safety
///
/// `data` must be NULL, or readable for `length` bytes during `'a` if `length` is at most [`Buffer::MAX`].
#[must_use]
pub unsafe fn buffer<'a>(data: *const c_void, length: u32) -> Buffer<'a> {
    match usize::try_from(length) {
        _ if data.is_null() => Buffer::Null(length),
        Ok(size) if length <= Buffer::MAX => {
            // SAFETY: `data` is not NULL and short enough, so the caller guarantees that it is readable.
            Buffer::Bytes(unsafe { slice::from_raw_parts(data.cast::<u8>(), size) })
        }
        _ => Buffer::TooLong(length),
    }
}

/// A caller's array of data descriptors. Nothing is read before the engine needs it.
#[derive(Debug)]
pub struct RawBlocks {
    descriptors: *const EventDataDescriptor<'static>,
    count: u32,
    /// Whether the sizes add up to at most the limit; computed when a block is first requested.
    fits: Cell<Option<bool>>,
}

impl RawBlocks {
    /// Wraps an array.
    ///
    /// # Safety
    ///
    /// While this exists, `descriptors` must be NULL or readable for the first [`MAX_BLOCKS`] of `count` descriptors.
    /// If `count` is at most [`MAX_BLOCKS`] and the sizes of all descriptors add up to at most [`MAX_DATA`], every
    /// non-NULL pointer in a descriptor must be readable for its size.
    #[must_use]
    pub const unsafe fn new(descriptors: *const EventDataDescriptor<'_>, count: u32) -> Self {
        Self { descriptors: descriptors.cast(), count, fits: Cell::new(None) }
    }

    fn descriptor(&self, index: usize) -> Option<EventDataDescriptor<'static>> {
        if self.descriptors.is_null() || index >= self.count().min(MAX_BLOCKS) {
            return None;
        }
        let descriptor = self.descriptors.wrapping_add(index);
        // SAFETY: the array is not NULL and the index is among its first descriptors, which `new` requires to be
        // readable.
        unsafe { read(descriptor) }
    }

    /// Whether count and sizes are within the limits that `new` requires for the data to be readable.
    fn fits(&self) -> bool {
        self.fits.get().unwrap_or_else(|| {
            let count = self.count();
            let total = |count| (0..count).fold(0_usize, |total, index| total.saturating_add(self.size(index)));
            let fits = count <= MAX_BLOCKS && total(count) <= MAX_DATA;
            self.fits.set(Some(fits));
            fits
        })
    }
}

impl BlockSource for RawBlocks {
    fn count(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    fn size(&self, index: usize) -> usize {
        self.descriptor(index).map_or(0, |descriptor| usize::try_from(descriptor.size()).unwrap_or(usize::MAX))
    }

    fn block(&self, index: usize) -> Option<Block<'_>> {
        let descriptor = self.descriptor(index)?;
        let size = usize::try_from(descriptor.size()).ok()?;
        let bytes = match descriptor.as_ptr() {
            _ if size == 0 => &[],
            pointer if pointer.is_null() || !self.fits() => return None,
            // SAFETY: the pointer is not NULL and the sizes are within the limits, so `new` requires it to be readable
            // for its size.
            pointer => unsafe { slice::from_raw_parts(pointer, size) },
        };
        Some(Block::with_kind(bytes, descriptor.kind()))
    }
}

#[cfg(test)]
mod tests {
    use etw_engine::{BlockSource, MAX_BLOCKS, MAX_DATA};
    use etw_types::EventDataDescriptor;

    use super::RawBlocks;

    #[test]
    fn an_index_outside_of_the_array_has_no_block() {
        let descriptors = [EventDataDescriptor::new(b"data")];
        // SAFETY: the array has one descriptor, and its bytes are readable.
        let blocks = unsafe { RawBlocks::new(descriptors.as_ptr(), 1) };
        assert_eq!(blocks.block(0).map(|block| block.bytes), Some(b"data".as_slice()));
        for index in [1, MAX_BLOCKS, usize::MAX] {
            assert!(blocks.block(index).is_none(), "{index}");
            assert!(blocks.size(index) == 0, "{index}");
        }
    }

    #[test]
    fn more_descriptors_than_an_event_can_have_are_counted_but_not_read() {
        let descriptors = [EventDataDescriptor::new(b"data"); MAX_BLOCKS];
        // SAFETY: the first `MAX_BLOCKS` descriptors are readable; `new` requires no more.
        let blocks = unsafe { RawBlocks::new(descriptors.as_ptr(), u32::MAX) };
        assert!(blocks.count() > MAX_BLOCKS);
        assert!(blocks.block(0).is_none());
        assert!(blocks.block(MAX_BLOCKS).is_none());
        assert_eq!(blocks.size(MAX_BLOCKS - 1), 4);
        assert_eq!(blocks.size(MAX_BLOCKS), 0);
    }

    #[test]
    fn sizes_that_no_event_can_have_together_are_not_read() {
        let bytes = vec![0; MAX_DATA];
        let descriptors = [EventDataDescriptor::new(&bytes), EventDataDescriptor::new(b"!")];
        // SAFETY: the bytes are readable.
        let one = unsafe { RawBlocks::new(descriptors.as_ptr(), 1) };
        // SAFETY: all bytes are readable.
        let both = unsafe { RawBlocks::new(descriptors.as_ptr(), 2) };
        assert!(one.block(0).is_some());
        assert!(both.block(0).is_none());
        assert!(both.block(1).is_none());
        assert_eq!(both.size(1), 1);
    }
}
