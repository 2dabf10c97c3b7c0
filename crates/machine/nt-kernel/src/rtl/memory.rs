//! Memory operations that compilers and drivers call by name.

use std::cmp::Ordering;

use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, routines};

routines! { pub(super) ROUTINES;
    #[irql(ANY), leavable]
    fn memcpy(target: GuestPtr<u8>, source: GuestPtr<u8>, count: u64) -> Result<GuestPtr<u8>, Fault> {
        copy(target, source, count)?;
        Ok(target)
    }

    #[irql(ANY), leavable]
    fn memmove(target: GuestPtr<u8>, source: GuestPtr<u8>, count: u64) -> Result<GuestPtr<u8>, Fault> {
        copy(target, source, count)?;
        Ok(target)
    }

    #[irql(ANY), leavable]
    fn RtlCopyMemory(target: GuestPtr<u8>, source: GuestPtr<u8>, length: u64) -> Result<(), Fault> {
        copy(target, source, length)
    }

    #[irql(ANY), leavable]
    fn RtlMoveMemory(target: GuestPtr<u8>, source: GuestPtr<u8>, length: u64) -> Result<(), Fault> {
        copy(target, source, length)
    }

    #[irql(ANY), leavable]
    fn memcpy_s(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>, count: u64) -> Result<i32, Fault> {
        safe_copy(target, room, source, count)
    }

    #[irql(ANY), leavable]
    fn memmove_s(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>, count: u64) -> Result<i32, Fault> {
        safe_copy(target, room, source, count)
    }

    #[irql(ANY), leavable]
    fn memset(target: GuestPtr<u8>, byte: i32, count: u64) -> Result<GuestPtr<u8>, Fault> {
        target.array(count).fill(byte.cast_unsigned() as u8)?;
        Ok(target)
    }

    #[irql(ANY), leavable]
    fn RtlFillMemory(target: GuestPtr<u8>, length: u64, byte: u8) -> Result<(), Fault> {
        target.array(length).fill(byte)
    }

    #[irql(ANY), leavable]
    fn RtlZeroMemory(target: GuestPtr<u8>, length: u64) -> Result<(), Fault> {
        target.array(length).fill(0)
    }

    #[irql(ANY), leavable]
    fn RtlSecureZeroMemory(target: GuestPtr<u8>, length: u64) -> Result<GuestPtr<u8>, Fault> {
        target.array(length).fill(0)?;
        Ok(target)
    }

    #[irql(ANY), leavable]
    fn memcmp(one: GuestPtr<u8>, other: GuestPtr<u8>, count: u64) -> Result<Ordering, Fault> {
        let difference = difference(one, other, count)?;
        Ok(difference.map_or(Ordering::Equal, |(_, order)| order))
    }

    #[irql(ANY), leavable]
    fn RtlCompareMemory(one: GuestPtr<u8>, other: GuestPtr<u8>, length: u64) -> Result<u64, Fault> {
        let difference = difference(one, other, length)?;
        Ok(difference.map_or(length, |(index, _)| index))
    }

    #[irql(ANY), leavable]
    fn memchr(start: GuestPtr<u8>, wanted: i32, count: u64) -> Result<Option<GuestPtr<u8>>, Fault> {
        for place in start.array(count).places() {
            if place.read()? == wanted.cast_unsigned() as u8 {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

fn copy(target: GuestPtr<u8>, source: GuestPtr<u8>, length: u64) -> Result<(), Fault> {
    target.array(length).copy_from(source)
}

/// Copies if there is room. Otherwise clears the destination and returns `ERANGE`, or `EINVAL` for a NULL address.
fn safe_copy(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>, length: u64) -> Result<i32, Fault> {
    if length == 0 {
        return Ok(0);
    }
    if target.is_null() {
        return Ok(22);
    }
    if source.is_null() || room < length {
        target.array(room).fill(0)?;
        return Ok(if source.is_null() { 22 } else { 34 });
    }
    target.array(length).copy_from(source)?;
    Ok(0)
}

/// Returns the index of the first byte in which two ranges differ, and its order.
fn difference(one: GuestPtr<u8>, other: GuestPtr<u8>, length: u64) -> Result<Option<(u64, Ordering)>, Fault> {
    let a = one.array(length).read()?;
    let b = other.array(length).read()?;
    let mut orders = (0..).zip(a.iter().zip(&b).map(|(a, b)| a.cmp(b)));
    Ok(orders.find(|(_, order)| order.is_ne()))
}
