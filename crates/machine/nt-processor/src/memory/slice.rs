//! Typed ranges of guest memory.

use super::access;
use super::fault::Fault;
use super::plain::Plain;
use super::pointer::{GuestPtr, bytes_of};

/// The number of bytes copied at a time. If a length is wrong, a fault occurs before the host allocates that much
/// memory.
const STEP: u64 = 0x1_0000;

/// An array in a guest: an untrusted address and an untrusted number of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuestSlice<T> {
    start: GuestPtr<T>,
    length: u64,
}

impl<T> GuestSlice<T> {
    /// Returns the array with this start and number of elements, which may be invalid.
    pub const fn new(start: GuestPtr<T>, length: u64) -> Self {
        Self { start, length }
    }

    /// Returns the address of the first element.
    pub const fn start(self) -> GuestPtr<T> {
        self.start
    }

    /// Returns the number of elements.
    pub const fn len(self) -> u64 {
        self.length
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Returns the first elements, at most `length`.
    pub fn take(self, length: u64) -> Self {
        Self { length: self.length.min(length), ..self }
    }

    /// Returns whether all of `part` lies in this range.
    pub fn contains(self, part: Self) -> bool {
        let offset = part.start.address().checked_sub(self.start.address());
        let size = |slice: Self| slice.length.checked_mul(size_of::<T>() as u64);
        let end = offset.zip(size(part)).and_then(|(offset, size)| offset.checked_add(size));
        end.zip(size(self)).is_some_and(|(end, size)| end <= size)
    }

    /// Returns the addresses of the elements.
    pub fn places(self) -> impl Iterator<Item = GuestPtr<T>> {
        (0..self.length).map(move |index| self.start.at(index))
    }
}

impl<T: Plain> GuestSlice<T> {
    /// Reads the elements.
    pub fn read(self) -> Result<Vec<T>, Fault> {
        let mut values: Vec<T> = Vec::new();
        let step = (STEP / size_of::<T>() as u64).max(1);
        while (values.len() as u64) < self.length {
            let start = values.len();
            let count = (self.length - values.len() as u64).min(step) as usize;
            values.reserve(count);
            // SAFETY: there is room for these elements.
            let place = unsafe { values.as_mut_ptr().add(start) };
            // SAFETY: as above.
            unsafe { place.write_bytes(0, count) };
            // SAFETY: their bytes are set, and every bit pattern is a valid value.
            unsafe { values.set_len(start + count) };
            // SAFETY: a plain type has no padding, and these bytes of it were set above.
            let bytes = unsafe { std::slice::from_raw_parts_mut(place.cast::<u8>(), count * size_of::<T>()) };
            access::copy_in(bytes, self.start.at(start as u64).address())?;
        }
        Ok(values)
    }

    /// Writes values from the start, as many as fit.
    pub fn write(self, values: &[T]) -> Result<(), Fault> {
        let fitting = usize::try_from(self.length).ok().and_then(|room| values.get(..room)).unwrap_or(values);
        access::copy_out(self.start.address(), bytes_of(fitting))
    }
}

impl GuestSlice<u8> {
    /// Sets every byte to `byte`.
    pub fn fill(self, byte: u8) -> Result<(), Fault> {
        if self.length == 0 { Ok(()) } else { access::fill(self.start.address(), byte, self.length) }
    }

    /// Copies a range of the same length from `source`; the two may overlap.
    pub fn copy_from(self, source: GuestPtr<u8>) -> Result<(), Fault> {
        let to = self.start.address();
        let from = source.address();
        if to.wrapping_sub(from) >= self.length {
            return access::copy(to, from, self.length);
        }
        // Copy from the end, so that no byte is overwritten before it is read.
        let mut left = self.length;
        while left != 0 {
            let count = left.min(STEP);
            left -= count;
            let bytes = source.at(left).array(count).read()?;
            access::copy_out(self.start.at(left).address(), &bytes)?;
        }
        Ok(())
    }
}

impl<T: Plain> GuestPtr<T> {
    /// Writes values from this address on.
    pub fn write_all(self, values: &[T]) -> Result<(), Fault> {
        self.array(values.len() as u64).write(values)
    }
}
