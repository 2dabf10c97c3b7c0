//! Reading what callers point at.
//!
//! Every pointer that crosses the ABI is checked for NULL and read here, unaligned, by copying. Nothing here writes.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::slice;

use etw_engine::{Block, BlockSource, Buffer, MAX_BLOCKS, MAX_DATA};
use etw_types::{EventDataDescriptor, UnicodeString};

/// Units after which a string without an end is cut: more than any event can hold.
const LONGEST_TEXT: usize = 0x8000;

/// Pointers up to this one are ordinals or mistakes, not addresses.
const LOWEST_ADDRESS: usize = 0x1_0000;

/// Copies what `pointer` points at; `None` for NULL.
///
/// # Safety
///
/// `pointer` is NULL or readable for a `T`, aligned or not.
pub(crate) unsafe fn read<T: Copy>(pointer: *const T) -> Option<T> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence readable by this function's contract; alignment is not needed.
    Some(unsafe { pointer.read_unaligned() })
}

/// Copies a NUL-terminated string, without its end; `None` for NULL.
///
/// # Safety
///
/// `text` is NULL or readable up to and including its first zero, or for [`LONGEST_TEXT`] units.
unsafe fn read_terminated<T: Copy + Default + PartialEq>(text: *const T) -> Option<Vec<T>> {
    if text.is_null() {
        return None;
    }
    let mut units = Vec::new();
    while units.len() < LONGEST_TEXT {
        let next = text.wrapping_add(units.len());
        // SAFETY: no zero was found before this unit, so it is part of the string.
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
/// `text` is NULL or readable up to and including its first zero, or for 0x8000 units.
pub(crate) unsafe fn read_wide(text: *const u16) -> Option<Vec<u16>> {
    // SAFETY: the same contract.
    unsafe { read_terminated(text) }
}

/// Copies a terminated ASCII name; `None` for NULL, for an ordinal in place of a name, and for other characters.
///
/// # Safety
///
/// `name` is at most 0xFFFF, or readable up to and including its first zero.
pub(crate) unsafe fn read_name(name: *const c_char) -> Option<String> {
    if name.addr() < LOWEST_ADDRESS {
        return None;
    }
    // SAFETY: an address, hence readable by this function's contract.
    let bytes = unsafe { read_terminated(name.cast::<u8>()) }?;
    String::from_utf8(bytes).ok()
}

/// Copies a counted UTF-16 string; `None` where it is not well formed.
///
/// # Safety
///
/// `string` is NULL or readable, and its buffer is NULL or readable for its length.
pub(crate) unsafe fn read_unicode(string: *const UnicodeString) -> Option<String> {
    // SAFETY: the same contract.
    let string = unsafe { read(string) }?;
    let units = usize::from(string.length / 2);
    if !string.length.is_multiple_of(2) || string.length > string.maximum_length || string.buffer.is_null() {
        return None;
    }
    let text: Option<Vec<u16>> = (0..units)
        .map(|index| {
            let unit = string.buffer.wrapping_add(index);
            // SAFETY: inside the length of the buffer.
            unsafe { read(unit) }
        })
        .collect();
    String::from_utf16(&text?).ok()
}

/// The buffer of a set-information call.
///
/// # Safety
///
/// `data` is NULL or, where `length` is at most [`Buffer::MAX`], readable for `length` bytes during `'a`.
#[must_use]
pub unsafe fn buffer<'a>(data: *const c_void, length: u32) -> Buffer<'a> {
    match usize::try_from(length) {
        _ if data.is_null() => Buffer::Null(length),
        Ok(size) if length <= Buffer::MAX => {
            // SAFETY: not NULL and short enough, hence readable by this function's contract.
            Buffer::Bytes(unsafe { slice::from_raw_parts(data.cast::<u8>(), size) })
        }
        _ => Buffer::TooLong(length),
    }
}

/// A caller's array of data descriptors. Nothing is read before the engine asks.
#[derive(Debug)]
pub struct RawBlocks {
    descriptors: *const EventDataDescriptor<'static>,
    count: u32,
    /// Whether the sizes together are within the limit, once somebody asked for a block.
    fits: Cell<Option<bool>>,
}

impl RawBlocks {
    /// Wraps an array.
    ///
    /// # Safety
    ///
    /// While this exists, `descriptors` is NULL or readable for the first [`MAX_BLOCKS`] of `count` descriptors. If there
    /// are no more than that, and all of their sizes together are at most [`MAX_DATA`], each with a pointer that is not
    /// NULL is readable for its size.
    #[must_use]
    pub const unsafe fn new(descriptors: *const EventDataDescriptor<'_>, count: u32) -> Self {
        Self { descriptors: descriptors.cast(), count, fits: Cell::new(None) }
    }

    fn descriptor(&self, index: usize) -> Option<EventDataDescriptor<'static>> {
        if self.descriptors.is_null() || index >= self.count().min(MAX_BLOCKS) {
            return None;
        }
        let descriptor = self.descriptors.wrapping_add(index);
        // SAFETY: not NULL and among the first descriptors of the array, hence readable by the contract of `new`.
        unsafe { read(descriptor) }
    }

    /// Whether number and sizes are within the limits up to which the bytes are known to be readable.
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
            // SAFETY: not NULL and within the limits, hence readable for its size by the contract of `new`.
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
        // SAFETY: the array has as many descriptors, each of readable bytes.
        let blocks = unsafe { RawBlocks::new(descriptors.as_ptr(), 1) };
        assert_eq!(blocks.block(0).map(|block| block.bytes), Some(b"data".as_slice()));
        for index in [1, MAX_BLOCKS, usize::MAX] {
            assert!(blocks.block(index).is_none() && blocks.size(index) == 0, "{index}");
        }
    }

    #[test]
    fn more_descriptors_than_an_event_can_have_are_counted_but_not_read() {
        let descriptors = [EventDataDescriptor::new(b"data"); MAX_BLOCKS];
        // SAFETY: the first descriptors are readable; more are not promised.
        let blocks = unsafe { RawBlocks::new(descriptors.as_ptr(), u32::MAX) };
        assert!(blocks.count() > MAX_BLOCKS);
        assert!(blocks.block(0).is_none() && blocks.block(MAX_BLOCKS).is_none());
        assert_eq!((blocks.size(MAX_BLOCKS - 1), blocks.size(MAX_BLOCKS)), (4, 0));
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
        assert!(both.block(0).is_none() && both.block(1).is_none());
        assert_eq!(both.size(1), 1);
    }
}
