//! Typed addresses in a guest.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use super::access;
use super::fault::Fault;
use super::plain::Plain;
use super::slice::GuestSlice;

/// An address in a guest where a `T` should be.
///
/// It may be anything: null, unaligned, unmapped. Every access is checked by the processor and returns a [`Fault`] if it is
/// refused. Arithmetic wraps, as the guest's own does.
#[repr(transparent)]
pub(crate) struct GuestPtr<T> {
    address: u64,
    of: PhantomData<fn() -> T>,
}

/// Code of a driver.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {}

/// Something that is not looked into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opaque {}

// SAFETY: a transparent u64.
unsafe impl<T: 'static> Plain for GuestPtr<T> {}

impl<T> GuestPtr<T> {
    pub(crate) const NULL: Self = Self::new(0);

    pub(crate) const fn new(address: u64) -> Self {
        Self { address, of: PhantomData }
    }

    pub(crate) const fn address(self) -> u64 {
        self.address
    }

    pub(crate) const fn is_null(self) -> bool {
        self.address == 0
    }

    /// `None` for NULL.
    pub(crate) fn non_null(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    /// The same address, for something else.
    pub(crate) const fn cast<U>(self) -> GuestPtr<U> {
        GuestPtr::new(self.address)
    }

    /// The element `index` of an array that starts here.
    pub(crate) const fn at(self, index: u64) -> Self {
        Self::new(self.address.wrapping_add(index.wrapping_mul(size_of::<T>() as u64)))
    }

    /// The element `count` before this one.
    pub(crate) const fn before(self, count: u64) -> Self {
        self.at(count.wrapping_neg())
    }

    /// What lies behind this one.
    pub(crate) const fn after<U>(self) -> GuestPtr<U> {
        self.at(1).cast()
    }

    /// A member; the macro [`layout!`](crate::layout) writes the calls.
    pub(crate) const fn member<U>(self, offset: usize) -> GuestPtr<U> {
        GuestPtr::new(self.address.wrapping_add(offset as u64))
    }

    /// What has its member here: `CONTAINING_RECORD`.
    pub(crate) const fn container<U>(self, offset: usize) -> GuestPtr<U> {
        GuestPtr::new(self.address.wrapping_sub(offset as u64))
    }

    /// The array of `length` elements that starts here.
    pub(crate) const fn array(self, length: u64) -> GuestSlice<T> {
        GuestSlice::new(self, length)
    }

    /// Whether memory is mapped there; no promise about the next moment.
    pub(crate) fn is_mapped(self) -> bool {
        access::is_mapped(self.address)
    }
}

impl<T: Plain> GuestPtr<T> {
    const WIDTH: usize = size_of::<T>();

    /// Copies the value.
    pub(crate) fn read(self) -> Result<T, Fault> {
        let mut value = MaybeUninit::<T>::zeroed();
        if matches!(Self::WIDTH, 1 | 2 | 4 | 8) {
            let bits = access::load(self.address, Self::WIDTH)?;
            // SAFETY: at most eight bytes, from the low end of a little-endian number.
            unsafe { ptr::copy_nonoverlapping((&raw const bits).cast::<u8>(), value.as_mut_ptr().cast(), Self::WIDTH) };
        } else {
            // SAFETY: the bytes of the value, which are zero and hence initialised.
            let bytes = unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), Self::WIDTH) };
            access::copy_in(bytes, self.address)?;
        }
        // SAFETY: all bytes were set, and a plain type takes any.
        Ok(unsafe { value.assume_init() })
    }

    /// Stores a value.
    pub(crate) fn write(self, value: T) -> Result<(), Fault> {
        if matches!(Self::WIDTH, 1 | 2 | 4 | 8) {
            let mut bits = 0_u64;
            // SAFETY: at most eight bytes, into the low end of a little-endian number.
            unsafe {
                ptr::copy_nonoverlapping((&raw const value).cast(), (&raw mut bits).cast::<u8>(), Self::WIDTH);
            }
            return access::store(self.address, bits, Self::WIDTH);
        }
        access::copy_out(self.address, bytes_of(std::slice::from_ref(&value)))
    }

    /// Stores a value unless this is NULL.
    pub(crate) fn write_if(self, value: T) -> Result<(), Fault> {
        if self.is_null() { Ok(()) } else { self.write(value) }
    }

    /// Reads, changes and stores a value. Another thread may write in between.
    pub(crate) fn change(self, change: impl FnOnce(T) -> T) -> Result<T, Fault> {
        let old = self.read()?;
        self.write(change(old))?;
        Ok(old)
    }

    /// Sets every byte of the value to zero.
    pub(crate) fn zero(self) -> Result<(), Fault> {
        access::fill(self.address, 0, Self::WIDTH as u64)
    }

    /// The elements before the first one that is `end`; at most `limit`.
    pub(crate) fn until(self, end: T, limit: u64) -> Result<Vec<T>, Fault>
    where
        T: PartialEq,
    {
        let mut found = Vec::new();
        for index in 0..limit {
            let value = self.at(index).read()?;
            if value == end {
                break;
            }
            found.push(value);
        }
        Ok(found)
    }
}

/// The bytes of values.
pub(super) const fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: a plain type has no padding, so that every byte is initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl<T: Plain, const N: usize> GuestPtr<[T; N]> {
    /// An element of an array; `None` behind its end.
    pub(crate) fn element(self, index: usize) -> Option<GuestPtr<T>> {
        (index < N).then(|| self.cast::<T>().at(index as u64))
    }
}

macro_rules! atomic {
    ($($int:ty)*) => {
        $(
            impl GuestPtr<$int> {
                /// Exchanges the value and returns the old one.
                #[allow(dead_code, reason = "both widths have the same set")]
                pub(crate) fn swap(self, value: $int) -> Result<$int, Fault> {
                    access::swap(self.address, value.into(), size_of::<$int>()).map(|old| old as $int)
                }

                /// Adds, wrapping, and returns the old value.
                pub(crate) fn fetch_add(self, value: $int) -> Result<$int, Fault> {
                    access::add(self.address, value.into(), size_of::<$int>()).map(|old| old as $int)
                }

                /// Subtracts, wrapping, and returns the old value.
                pub(crate) fn fetch_sub(self, value: $int) -> Result<$int, Fault> {
                    self.fetch_add(value.wrapping_neg())
                }

                /// Stores `new` if the value is `old`; whether it was.
                pub(crate) fn compare_exchange(self, old: $int, new: $int) -> Result<bool, Fault> {
                    let found = access::compare_exchange(self.address, old.into(), new.into(), size_of::<$int>())?;
                    Ok(found as $int == old)
                }
            }
        )*
    };
}
atomic!(u32 u64);

impl<T> Clone for GuestPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GuestPtr<T> {}

impl<T> Default for GuestPtr<T> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T> PartialEq for GuestPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for GuestPtr<T> {}

impl<T> PartialOrd for GuestPtr<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for GuestPtr<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.address.cmp(&other.address)
    }
}

impl<T> Hash for GuestPtr<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

impl<T> fmt::Debug for GuestPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

impl<T> fmt::LowerHex for GuestPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.address, f)
    }
}
