//! Memory operations that compilers and drivers call by name.

use std::cmp::Ordering;

use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, Routine, done, routine};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("memcpy", ANY, copy).leavable(),
    routine!("memmove", ANY, copy).leavable(),
    routine!("RtlCopyMemory", ANY, copy).leavable(),
    routine!("RtlMoveMemory", ANY, copy).leavable(),
    // Arguments: destination, its size, source, length.
    routine!("memcpy_s", ANY, safe_copy).leavable(),
    routine!("memmove_s", ANY, safe_copy).leavable(),
    routine!("memset", ANY, |call| {
        call.ptr::<u8>(0).array(call.arg(2)).fill(call.u8(1))?;
        done(call.arg(0))
    })
    .leavable(),
    routine!("RtlFillMemory", ANY, |call| call.ptr::<u8>(0).array(call.arg(1)).fill(call.u8(2))).leavable(),
    routine!("RtlZeroMemory", ANY, |call| call.ptr::<u8>(0).array(call.arg(1)).fill(0)).leavable(),
    routine!("RtlSecureZeroMemory", ANY, |call| {
        call.ptr::<u8>(0).array(call.arg(1)).fill(0)?;
        done(call.arg(0))
    })
    .leavable(),
    routine!("memcmp", ANY, |call| {
        let difference = difference(call)?;
        done(difference.map_or(Ordering::Equal, |(_, order)| order))
    })
    .leavable(),
    routine!("RtlCompareMemory", ANY, |call| {
        let difference = difference(call)?;
        done(difference.map_or(call.arg(2), |(index, _)| index))
    })
    .leavable(),
    routine!("memchr", ANY, |call| {
        let wanted = call.u8(1);
        for place in call.ptr::<u8>(0).array(call.arg(2)).places() {
            if place.read()? == wanted {
                return done(place);
            }
        }
        done(GuestPtr::NULL)
    })
    .leavable(),
];

fn copy(call: &Call) -> Result<u64, Fault> {
    call.ptr::<u8>(0).array(call.arg(2)).copy_from(call.ptr(1))?;
    Ok(call.arg(0))
}

/// Copies if there is room. Otherwise clears the destination and returns `ERANGE`, or `EINVAL` for a NULL address.
fn safe_copy(call: &Call) -> Result<u32, Fault> {
    let (target, room, length) = (call.ptr::<u8>(0), call.arg(1), call.arg(3));
    if length == 0 {
        return Ok(0);
    }
    if target.is_null() {
        return Ok(22);
    }
    if call.ptr::<u8>(2).is_null() || room < length {
        target.array(room).fill(0)?;
        return Ok(if call.ptr::<u8>(2).is_null() { 22 } else { 34 });
    }
    target.array(length).copy_from(call.ptr(2))?;
    Ok(0)
}

/// Returns the index of the first byte in which two ranges differ, and its order.
fn difference(call: &Call) -> Result<Option<(u64, Ordering)>, Fault> {
    let (a, b) = (call.ptr::<u8>(0).array(call.arg(2)).read()?, call.ptr::<u8>(1).array(call.arg(2)).read()?);
    let mut orders = (0..).zip(a.iter().zip(&b).map(|(a, b)| a.cmp(b)));
    Ok(orders.find(|(_, order)| order.is_ne()))
}
