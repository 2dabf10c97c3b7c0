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
/// The address may be null, unaligned or unmapped. The processor checks every access; one that it refuses returns a
/// [`Fault`]. Arithmetic wraps, as it does in the guest.
#[repr(transparent)]
pub struct GuestPtr<T> {
    address: u64,
    of: PhantomData<fn() -> T>,
}

/// Code of a driver.
#[derive(Clone, Copy, Debug)]
pub enum Code {}

/// Something that the host never looks into.
#[derive(Clone, Copy, Debug)]
pub enum Opaque {}

// SAFETY: `GuestPtr` is a transparent wrapper around a `u64`.
unsafe impl<T: 'static> Plain for GuestPtr<T> {}

impl<T> GuestPtr<T> {
    /// The address 0.
    pub const NULL: Self = Self::new(0);

    /// Returns the pointer with this address, which may be invalid.
    pub const fn new(address: u64) -> Self {
        Self { address, of: PhantomData }
    }

    /// Returns the address.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Returns whether the address is 0.
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// Returns `None` if this is NULL.
    pub fn non_null(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    /// Returns the same address as a pointer to another type.
    pub const fn cast<U>(self) -> GuestPtr<U> {
        GuestPtr::new(self.address)
    }

    /// Returns the address of element `index` of an array that starts here.
    pub const fn at(self, index: u64) -> Self {
        Self::new(self.address.wrapping_add(index.wrapping_mul(size_of::<T>() as u64)))
    }

    /// Returns the address `count` elements before this one.
    pub const fn before(self, count: u64) -> Self {
        self.at(count.wrapping_neg())
    }

    /// Returns the address just after this value.
    pub const fn after<U>(self) -> GuestPtr<U> {
        self.at(1).cast()
    }

    /// Returns the address of a member. The macro [`layout!`](crate::layout) generates the calls.
    pub const fn member<U>(self, offset: usize) -> GuestPtr<U> {
        GuestPtr::new(self.address.wrapping_add(offset as u64))
    }

    /// Returns the address of the structure whose member at `offset` is here, like `CONTAINING_RECORD`.
    pub const fn container<U>(self, offset: usize) -> GuestPtr<U> {
        GuestPtr::new(self.address.wrapping_sub(offset as u64))
    }

    /// Returns the array of `length` elements that starts here.
    pub const fn array(self, length: u64) -> GuestSlice<T> {
        GuestSlice::new(self, length)
    }

    /// Returns whether memory is mapped there now; this may change at any time.
    pub fn is_mapped(self) -> bool {
        access::is_mapped(self.address)
    }
}

impl<T: Plain> GuestPtr<T> {
    const WIDTH: usize = size_of::<T>();

    /// Reads the value.
    pub fn read(self) -> Result<T, Fault> {
        let mut value = MaybeUninit::<T>::zeroed();
        if matches!(Self::WIDTH, 1 | 2 | 4 | 8) {
            let bits = access::load(self.address, Self::WIDTH)?;
            // SAFETY: copies at most eight bytes, from the low end of a little-endian number.
            unsafe { ptr::copy_nonoverlapping((&raw const bits).cast::<u8>(), value.as_mut_ptr().cast(), Self::WIDTH) };
        } else {
            // SAFETY: these are the bytes of the value, which were zeroed and hence are initialised.
            let bytes = unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), Self::WIDTH) };
            access::copy_in(bytes, self.address)?;
        }
        // SAFETY: all bytes were set, and every bit pattern is a valid value of a plain type.
        Ok(unsafe { value.assume_init() })
    }

    /// Writes a value.
    pub fn write(self, value: T) -> Result<(), Fault> {
        if matches!(Self::WIDTH, 1 | 2 | 4 | 8) {
            let mut bits = 0_u64;
            // SAFETY: copies at most eight bytes, into the low end of a little-endian number.
            unsafe {
                ptr::copy_nonoverlapping((&raw const value).cast(), (&raw mut bits).cast::<u8>(), Self::WIDTH);
            }
            return access::store(self.address, bits, Self::WIDTH);
        }
        access::copy_out(self.address, bytes_of(std::slice::from_ref(&value)))
    }

    /// Writes a value, unless this is NULL.
    pub fn write_if(self, value: T) -> Result<(), Fault> {
        if self.is_null() { Ok(()) } else { self.write(value) }
    }

    /// Reads, changes and writes a value; returns the old one. This is not atomic: another thread may write in between.
    pub fn change(self, change: impl FnOnce(T) -> T) -> Result<T, Fault> {
        let old = self.read()?;
        self.write(change(old))?;
        Ok(old)
    }

    /// Sets every byte of the value to zero.
    pub fn zero(self) -> Result<(), Fault> {
        access::fill(self.address, 0, Self::WIDTH as u64)
    }

    /// Reads the elements before the first one that equals `end`, at most `limit`.
    pub fn until(self, end: T, limit: u64) -> Result<Vec<T>, Fault>
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

/// Returns the bytes of values.
pub(super) const fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: a plain type has no padding, so every byte is initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl<T: Plain, const N: usize> GuestPtr<[T; N]> {
    /// Returns the address of an element, or `None` if `index` is out of bounds.
    pub fn element(self, index: usize) -> Option<GuestPtr<T>> {
        (index < N).then(|| self.cast::<T>().at(index as u64))
    }
}

macro_rules! atomic {
    ($($int:ty)*) => {
        $(
            impl GuestPtr<$int> {
                /// Exchanges the value and returns the old one.
                #[allow(dead_code, reason = "both widths have the same set")]
                #[inline]
                pub fn swap(self, value: $int) -> Result<$int, Fault> {
                    access::swap(self.address, value.into(), size_of::<$int>()).map(|old| old as $int)
                }

                /// Adds, wrapping, and returns the old value.
                #[inline]
                pub fn fetch_add(self, value: $int) -> Result<$int, Fault> {
                    access::add(self.address, value.into(), size_of::<$int>()).map(|old| old as $int)
                }

                /// Subtracts, wrapping, and returns the old value.
                #[inline]
                pub fn fetch_sub(self, value: $int) -> Result<$int, Fault> {
                    self.fetch_add(value.wrapping_neg())
                }

                /// Stores `new` if the value is `old`. Returns whether it was.
                #[inline]
                pub fn compare_exchange(self, old: $int, new: $int) -> Result<bool, Fault> {
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
