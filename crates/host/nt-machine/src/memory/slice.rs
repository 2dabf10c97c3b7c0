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
pub(crate) struct GuestSlice<T> {
    start: GuestPtr<T>,
    length: u64,
}

impl<T> GuestSlice<T> {
    pub(crate) const fn new(start: GuestPtr<T>, length: u64) -> Self {
        Self { start, length }
    }

    pub(crate) const fn start(self) -> GuestPtr<T> {
        self.start
    }

    pub(crate) const fn len(self) -> u64 {
        self.length
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the first elements, at most `length`.
    pub(crate) fn take(self, length: u64) -> Self {
        Self { length: self.length.min(length), ..self }
    }

    /// Returns the addresses of the elements.
    pub(crate) fn places(self) -> impl Iterator<Item = GuestPtr<T>> {
        (0..self.length).map(move |index| self.start.at(index))
    }
}

impl<T: Plain> GuestSlice<T> {
    /// Reads the elements.
    pub(crate) fn read(self) -> Result<Vec<T>, Fault> {
        let mut values = Vec::new();
        let step = (STEP / size_of::<T>() as u64).max(1);
        while (values.len() as u64) < self.length {
            let count = (self.length - values.len() as u64).min(step) as usize;
            let mut bytes = vec![0; count * size_of::<T>()];
            access::copy_in(&mut bytes, self.start.at(values.len() as u64).address())?;
            // SAFETY: each chunk has the size of one element, and every bit pattern is a valid value.
            values.extend(
                bytes.chunks_exact(size_of::<T>()).map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }),
            );
        }
        Ok(values)
    }

    /// Writes values from the start, as many as fit.
    pub(crate) fn write(self, values: &[T]) -> Result<(), Fault> {
        let fitting = usize::try_from(self.length).ok().and_then(|room| values.get(..room)).unwrap_or(values);
        access::copy_out(self.start.address(), bytes_of(fitting))
    }
}

impl GuestSlice<u8> {
    /// Sets every byte to `byte`.
    pub(crate) fn fill(self, byte: u8) -> Result<(), Fault> {
        access::fill(self.start.address(), byte, self.length)
    }

    /// Copies a range of the same length from `source`; the two may overlap.
    pub(crate) fn copy_from(self, source: GuestPtr<u8>) -> Result<(), Fault> {
        let (to, from) = (self.start.address(), source.address());
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
    pub(crate) fn write_all(self, values: &[T]) -> Result<(), Fault> {
        self.array(values.len() as u64).write(values)
    }
}
