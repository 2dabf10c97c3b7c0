//! Bitmaps.

use crate::layout::RTL_BITMAP;
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, Routine, routine};

/// The return value of a search that finds nothing.
const NONE: u32 = 0xFFFF_FFFF;

type Map = GuestPtr<RTL_BITMAP>;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: bitmap, buffer, size.
    routine!("RtlInitializeBitMap", ANY, |call| {
        call.ptr::<RTL_BITMAP>(0).SizeOfBitMap().write(call.u32(2))?;
        call.ptr::<RTL_BITMAP>(0).Buffer().write(call.ptr(1))
    }),
    routine!("RtlClearAllBits", ANY, |call| set(call.ptr(0), 0, u32::MAX, false)),
    routine!("RtlSetAllBits", ANY, |call| set(call.ptr(0), 0, u32::MAX, true)),
    routine!("RtlSetBits", ANY, |call| set(call.ptr(0), call.u32(1), call.u32(2), true)),
    routine!("RtlClearBits", ANY, |call| set(call.ptr(0), call.u32(1), call.u32(2), false)),
    routine!("RtlSetBit", ANY, |call| set(call.ptr(0), call.u32(1), 1, true)),
    routine!("RtlClearBit", ANY, |call| set(call.ptr(0), call.u32(1), 1, false)),
    routine!("RtlTestBit", ANY, |call| bit(call.ptr(0), call.u32(1))),
    routine!("RtlNumberOfSetBits", ANY, |call| count(call, true)),
    routine!("RtlNumberOfClearBits", ANY, |call| count(call, false)),
    routine!("RtlAreBitsSet", ANY, |call| run_of(call.ptr(0), call.u32(1), call.u32(2), true)),
    routine!("RtlAreBitsClear", ANY, |call| run_of(call.ptr(0), call.u32(1), call.u32(2), false)),
    // Arguments: bitmap, number of bits, index at which to start.
    routine!("RtlFindClearBits", ANY, |call| find(call, false)),
    routine!("RtlFindSetBits", ANY, |call| find(call, true)),
    routine!("RtlFindClearBitsAndSet", ANY, |call| find_and(call, false)),
    routine!("RtlFindSetBitsAndClear", ANY, |call| find_and(call, true)),
];

/// Returns the address of the word that contains a bit, and the bit's mask.
fn place(map: Map, index: u32) -> Result<(GuestPtr<u32>, u32), Fault> {
    Ok((map.Buffer().read()?.at((index / 32).into()), 1 << (index % 32)))
}

fn bit(map: Map, index: u32) -> Result<bool, Fault> {
    let (word, mask) = place(map, index)?;
    Ok(word.read()? & mask != 0)
}

fn set(map: Map, first: u32, count: u32, value: bool) -> Result<(), Fault> {
    for index in first..first.saturating_add(count).min(map.SizeOfBitMap().read()?) {
        let (word, mask) = place(map, index)?;
        word.change(|old| if value { old | mask } else { old & !mask })?;
    }
    Ok(())
}

fn count(call: &Call, value: bool) -> Result<u32, Fault> {
    let map: Map = call.ptr(0);
    let mut count = 0;
    for index in 0..map.SizeOfBitMap().read()? {
        count += u32::from(bit(map, index)? == value);
    }
    Ok(count)
}

fn run_of(map: Map, first: u32, count: u32, value: bool) -> Result<bool, Fault> {
    let size = map.SizeOfBitMap().read()?;
    let Some(end) = first.checked_add(count).filter(|end| *end <= size && count != 0) else { return Ok(false) };
    for index in first..end {
        if bit(map, index)? != value {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds the first run, starting at the hint, then from the beginning.
fn find(call: &Call, value: bool) -> Result<u32, Fault> {
    let (map, count, hint) = (call.ptr::<RTL_BITMAP>(0), call.u32(1), call.u32(2));
    let all = map.SizeOfBitMap().read()?;
    let hint = if hint < all { hint } else { 0 };
    if count == 0 {
        return Ok(hint & !7);
    }
    for first in (hint..all).chain(0..hint) {
        if run_of(map, first, count, value)? {
            return Ok(first);
        }
    }
    Ok(NONE)
}

fn find_and(call: &Call, value: bool) -> Result<u32, Fault> {
    let found = find(call, value)?;
    if found != NONE {
        set(call.ptr(0), found, call.u32(1), !value)?;
    }
    Ok(found)
}
