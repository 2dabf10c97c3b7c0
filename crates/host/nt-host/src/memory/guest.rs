//! What a driver's addresses point at.
//!
//! A driver passes addresses, and this host reads and writes there, as a kernel does. Nobody can vouch for an address. It
//! is followed all the same: where it is bad the processor faults, the fault handler names the driver's mistake and never
//! returns here. Where an address hits memory of the host itself, nothing is lost that the driver's own code, which runs in
//! this process, could not have done.
//!
//! So these functions are safe to call in the process that runs a driver, and are called nowhere else. They copy: no
//! reference to driver memory exists in Rust, but for atomics.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Units after which a string without an end is cut.
const LONGEST_TEXT: u64 = 0x8000;

/// Integers: any bytes are a value.
pub(crate) trait Plain: Copy + Default + PartialEq + 'static {}

macro_rules! plain {
    ($($int:ty)*) => { $(impl Plain for $int {})* };
}
plain!(u8 u16 u32 u64 i8 i16 i32 i64);

/// Copies a value.
pub(crate) fn read<T: Plain>(address: u64) -> T {
    let place: *const T = ptr::with_exposed_provenance(address as usize);
    // SAFETY: a bad address faults and does not come back, see above; the value may have any bytes and any alignment.
    unsafe { place.read_unaligned() }
}

/// Faults where an address is bad, and does nothing else.
pub(crate) fn probe(address: u64) {
    let place: *const u8 = ptr::with_exposed_provenance(address as usize);
    // SAFETY: a bad address faults and does not come back, see above.
    let _ = unsafe { place.read_volatile() };
}

/// Stores a value.
pub(crate) fn write<T: Plain>(address: u64, value: T) {
    let place: *mut T = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: a bad address faults and does not come back, see above.
    unsafe { place.write_unaligned(value) };
}

/// Stores a value unless the address is NULL.
pub(crate) fn write_if<T: Plain>(address: u64, value: T) {
    if address != 0 {
        write(address, value);
    }
}

/// Copies bytes out.
pub(crate) fn bytes(address: u64, length: u64) -> Vec<u8> {
    let mut copy = vec![0; length as usize];
    let place: *const u8 = ptr::with_exposed_provenance(address as usize);
    if length != 0 {
        // SAFETY: a bad address faults and does not come back, see above; the copy has this length.
        unsafe { ptr::copy(place, copy.as_mut_ptr(), copy.len()) };
    }
    copy
}

/// Copies bytes in.
pub(crate) fn put(address: u64, bytes: &[u8]) {
    let place: *mut u8 = ptr::with_exposed_provenance_mut(address as usize);
    if !bytes.is_empty() {
        // SAFETY: a bad address faults and does not come back, see above.
        unsafe { ptr::copy(bytes.as_ptr(), place, bytes.len()) };
    }
}

/// Copies within driver memory; the ranges may overlap.
pub(crate) fn copy(to: u64, from: u64, length: u64) {
    let source: *const u8 = ptr::with_exposed_provenance(from as usize);
    let place: *mut u8 = ptr::with_exposed_provenance_mut(to as usize);
    // SAFETY: bad addresses fault and do not come back, see above.
    unsafe { ptr::copy(source, place, length as usize) };
}

/// Fills memory.
pub(crate) fn fill(address: u64, byte: u8, length: u64) {
    let place: *mut u8 = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: a bad address faults and does not come back, see above.
    unsafe { ptr::write_bytes(place, byte, length as usize) };
}

/// A word that several threads change.
pub(crate) fn atomic32(address: u64) -> &'static AtomicU32 {
    let place = ptr::with_exposed_provenance_mut(address as usize & !3);
    // SAFETY: a bad address faults at its use and does not come back, see above; it was aligned.
    unsafe { AtomicU32::from_ptr(place) }
}

/// A double word that several threads change.
pub(crate) fn atomic64(address: u64) -> &'static AtomicU64 {
    let place = ptr::with_exposed_provenance_mut(address as usize & !7);
    // SAFETY: a bad address faults at its use and does not come back, see above; it was aligned.
    unsafe { AtomicU64::from_ptr(place) }
}

/// Units of a string up to its zero.
pub(crate) fn terminated<T: Plain>(address: u64) -> Vec<T> {
    let width = size_of::<T>() as u64;
    let units = (0..LONGEST_TEXT).map(|index| read::<T>(address + index * width));
    units.take_while(|unit| *unit != T::default()).collect()
}

/// The units of a `UNICODE_STRING`; empty for NULL.
pub(crate) fn unicode(string: u64) -> Vec<u16> {
    if string == 0 {
        return Vec::new();
    }
    let (length, buffer) = (u64::from(read::<u16>(string)), read::<u64>(string + 8));
    (0..length / 2).map(|index| read(buffer + index * 2)).collect()
}

/// The text of a `UNICODE_STRING`.
pub(crate) fn text(string: u64) -> String {
    String::from_utf16_lossy(&unicode(string))
}

/// The bytes of an `ANSI_STRING`; empty for NULL.
pub(crate) fn ansi(string: u64) -> Vec<u8> {
    if string == 0 {
        return Vec::new();
    }
    bytes(read(string + 8), u64::from(read::<u16>(string)))
}

/// Initialises a counted string in place.
pub(crate) fn set_string(string: u64, length: u16, maximum: u16, buffer: u64) {
    write(string, length);
    write(string + 2, maximum);
    write(string + 8, buffer);
}

/// Copies UTF-16 units in.
pub(crate) fn put_units(address: u64, units: &[u16]) {
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    put(address, &bytes);
}
