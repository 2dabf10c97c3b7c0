//! [`super::access`] for Miri, which runs neither assembly nor signal handlers.
//!
//! Guest memory is the memory that a test has [registered](map); every other address faults. Only the accesses
//! themselves differ: the pointers and slices above them are the same code.

use std::cell::RefCell;
use std::ptr;

use super::fault::{Access, Fault, Recovery};

thread_local! {
    static MAPPED: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Registers a buffer as guest memory and returns its address.
pub fn map(arena: &mut [u8]) -> u64 {
    let start = arena.as_mut_ptr().expose_provenance() as u64;
    MAPPED.with_borrow_mut(|mapped| mapped.push((start, arena.len() as u64)));
    start
}

/// Returns `None`: accesses are checked first, so they never fault.
pub const fn recover(_rip: u64, _address: Option<u64>, _write: bool) -> Option<Recovery> {
    None
}

fn check(at: u64, length: u64, access: Access) -> Result<(), Fault> {
    let is_mapped = |place: u64| {
        MAPPED.with_borrow(|mapped| mapped.iter().any(|(start, size)| place >= *start && place - start < *size))
    };
    let bad = (0..length).map(|offset| at.wrapping_add(offset)).find(|place| !is_mapped(*place));
    bad.map_or(Ok(()), |address| Err(Fault { address, access }))
}

pub(super) fn load(at: u64, width: usize) -> Result<u64, Fault> {
    let mut value = [0; 8];
    copy_in(&mut value[..width], at)?;
    Ok(u64::from_le_bytes(value))
}

pub(super) fn store(at: u64, value: u64, width: usize) -> Result<(), Fault> {
    copy_out(at, &value.to_le_bytes()[..width])
}

pub(super) fn swap(at: u64, value: u64, width: usize) -> Result<u64, Fault> {
    check(at, width as u64, Access::Write)?;
    let old = load(at, width)?;
    store(at, value, width)?;
    Ok(old)
}

pub(super) fn add(at: u64, value: u64, width: usize) -> Result<u64, Fault> {
    check(at, width as u64, Access::Write)?;
    let old = load(at, width)?;
    store(at, old.wrapping_add(value), width)?;
    Ok(old)
}

pub(super) fn compare_exchange(at: u64, old: u64, new: u64, width: usize) -> Result<u64, Fault> {
    check(at, width as u64, Access::Write)?;
    let found = load(at, width)?;
    if found == old {
        store(at, new, width)?;
    }
    Ok(found)
}

pub(super) fn fill(at: u64, byte: u8, length: u64) -> Result<(), Fault> {
    check(at, length, Access::Write)?;
    // SAFETY: the range is registered.
    unsafe { ptr::write_bytes(ptr::with_exposed_provenance_mut::<u8>(at as usize), byte, length as usize) };
    Ok(())
}

pub(super) fn copy(to: u64, from: u64, length: u64) -> Result<(), Fault> {
    check(from, length, Access::Read)?;
    check(to, length, Access::Write)?;
    let from = ptr::with_exposed_provenance::<u8>(from as usize);
    let to = ptr::with_exposed_provenance_mut::<u8>(to as usize);
    for offset in 0..length as usize {
        // SAFETY: both ranges are registered.
        unsafe { to.add(offset).write(from.add(offset).read()) };
    }
    Ok(())
}

pub(super) fn copy_in(to: &mut [u8], from: u64) -> Result<(), Fault> {
    check(from, to.len() as u64, Access::Read)?;
    let from = ptr::with_exposed_provenance::<u8>(from as usize);
    // SAFETY: the range is registered, and `to` does not overlap it.
    unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    Ok(())
}

pub(super) fn copy_out(to: u64, from: &[u8]) -> Result<(), Fault> {
    check(to, from.len() as u64, Access::Write)?;
    let to = ptr::with_exposed_provenance_mut::<u8>(to as usize);
    // SAFETY: the range is registered, and `from` does not overlap it.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    Ok(())
}

pub(super) fn is_mapped(address: u64) -> bool {
    check(address, 1, Access::Read).is_ok()
}
