//! Accesses for code that cannot return a fault yet: a fault ends the routine that the driver called.

use super::{Fault, GuestPtr, Plain};
use crate::cpu::fault::OrStop as _;
use crate::layout::{STRING, UNICODE_STRING};

/// Copies a value.
pub(crate) fn read<T: Plain>(address: u64) -> T {
    GuestPtr::new(address).read().or_stop()
}

/// Faults where an address is bad, and does nothing else.
pub(crate) fn probe(address: u64) {
    let _: u8 = read(address);
}

/// Stores a value.
pub(crate) fn write<T: Plain>(address: u64, value: T) {
    GuestPtr::new(address).write(value).or_stop();
}

/// Stores a value unless the address is NULL.
pub(crate) fn write_if<T: Plain>(address: u64, value: T) {
    GuestPtr::new(address).write_if(value).or_stop();
}

/// Copies bytes out.
pub(crate) fn bytes(address: u64, length: u64) -> Vec<u8> {
    GuestPtr::new(address).array(length).read().or_stop()
}

/// Copies bytes in.
pub(crate) fn put(address: u64, bytes: &[u8]) {
    GuestPtr::new(address).write_all(bytes).or_stop();
}

/// Copies within driver memory; the ranges may overlap.
pub(crate) fn copy(to: u64, from: u64, length: u64) {
    GuestPtr::new(to).array(length).copy_from(GuestPtr::new(from)).or_stop();
}

/// Fills memory.
pub(crate) fn fill(address: u64, byte: u8, length: u64) {
    GuestPtr::new(address).array(length).fill(byte).or_stop();
}

/// Units of a string up to its zero.
pub(crate) fn terminated<T: Plain + Default + PartialEq>(address: u64) -> Vec<T> {
    let units: Result<Vec<T>, Fault> = GuestPtr::new(address).until(T::default(), 0x8000);
    units.or_stop()
}

/// The units of a `UNICODE_STRING`; empty for NULL.
pub(crate) fn unicode(string: u64) -> Vec<u16> {
    GuestPtr::<UNICODE_STRING>::new(string).units().or_stop()
}

/// The text of a `UNICODE_STRING`.
pub(crate) fn text(string: u64) -> String {
    String::from_utf16_lossy(&unicode(string))
}

/// The bytes of an `ANSI_STRING`; empty for NULL.
pub(crate) fn ansi(string: u64) -> Vec<u8> {
    GuestPtr::<STRING>::new(string).units().or_stop()
}

/// Initialises a counted string in place.
pub(crate) fn set_string(string: u64, length: u16, maximum: u16, buffer: u64) {
    GuestPtr::<UNICODE_STRING>::new(string).set(length, maximum, GuestPtr::new(buffer)).or_stop();
}

/// Copies UTF-16 units in.
pub(crate) fn put_units(address: u64, units: &[u16]) {
    GuestPtr::new(address).write_all(units).or_stop();
}

/// A word that several threads change.
pub(crate) fn atomic32(address: u64) -> &'static std::sync::atomic::AtomicU32 {
    let place = std::ptr::with_exposed_provenance_mut(address as usize & !3);
    // SAFETY: a bad address faults at its use and does not come back; it was aligned.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(place) }
}

/// A double word that several threads change.
pub(crate) fn atomic64(address: u64) -> &'static std::sync::atomic::AtomicU64 {
    let place = std::ptr::with_exposed_provenance_mut(address as usize & !7);
    // SAFETY: a bad address faults at its use and does not come back; it was aligned.
    unsafe { std::sync::atomic::AtomicU64::from_ptr(place) }
}
