//! Bitmaps.

use nt_processor::layout::RTL_BITMAP;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, routines};

/// The return value of a search that finds nothing.
const NONE: u32 = 0xFFFF_FFFF;

type Map = GuestPtr<RTL_BITMAP>;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn RtlInitializeBitMap(map: Map, buffer: GuestPtr<u32>, size: u32) -> Result<(), Fault> {
        map.SizeOfBitMap().write(size)?;
        map.Buffer().write(buffer)
    }

    #[irql(ANY)]
    fn RtlClearAllBits(map: Map) -> Result<(), Fault> {
        fill(map, 0)
    }

    #[irql(ANY)]
    fn RtlSetAllBits(map: Map) -> Result<(), Fault> {
        fill(map, 0xFF)
    }

    #[irql(ANY)]
    fn RtlSetBits(map: Map, first: u32, count: u32) -> Result<(), Fault> {
        set(map, first, count, true)
    }

    #[irql(ANY)]
    fn RtlClearBits(map: Map, first: u32, count: u32) -> Result<(), Fault> {
        set(map, first, count, false)
    }

    #[irql(ANY)]
    fn RtlSetBit(map: Map, index: u32) -> Result<(), Fault> {
        set(map, index, 1, true)
    }

    #[irql(ANY)]
    fn RtlClearBit(map: Map, index: u32) -> Result<(), Fault> {
        set(map, index, 1, false)
    }

    #[irql(ANY)]
    fn RtlTestBit(map: Map, index: u32) -> Result<bool, Fault> {
        bit(map, index)
    }

    #[irql(ANY)]
    fn RtlNumberOfSetBits(map: Map) -> Result<u32, Fault> {
        count(map, true)
    }

    #[irql(ANY)]
    fn RtlNumberOfClearBits(map: Map) -> Result<u32, Fault> {
        count(map, false)
    }

    #[irql(ANY)]
    fn RtlAreBitsSet(map: Map, first: u32, length: u32) -> Result<bool, Fault> {
        run_of(map, first, length, true)
    }

    #[irql(ANY)]
    fn RtlAreBitsClear(map: Map, first: u32, length: u32) -> Result<bool, Fault> {
        run_of(map, first, length, false)
    }

    #[irql(ANY)]
    fn RtlFindClearBits(map: Map, count: u32, hint: u32) -> Result<u32, Fault> {
        find(map, count, hint, false)
    }

    #[irql(ANY)]
    fn RtlFindSetBits(map: Map, count: u32, hint: u32) -> Result<u32, Fault> {
        find(map, count, hint, true)
    }

    #[irql(ANY)]
    fn RtlFindLeastSignificantBit(set: u64) -> i8 {
        if set == 0 { -1 } else { set.trailing_zeros() as i8 }
    }

    #[irql(ANY)]
    fn RtlFindMostSignificantBit(set: u64) -> i8 {
        set.checked_ilog2().map_or(-1, |position| position as i8)
    }

    #[irql(ANY)]
    fn RtlFindClearBitsAndSet(map: Map, count: u32, hint: u32) -> Result<u32, Fault> {
        find_and(map, count, hint, false)
    }

    #[irql(ANY)]
    fn RtlFindSetBitsAndClear(map: Map, count: u32, hint: u32) -> Result<u32, Fault> {
        find_and(map, count, hint, true)
    }
}

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

/// Sets all words of a map, also the bits of the last word that are beyond its size.
fn fill(map: Map, byte: u8) -> Result<(), Fault> {
    let words = u64::from(map.SizeOfBitMap().read()?.div_ceil(32));
    map.Buffer().read()?.cast::<u8>().array(words * 4).fill(byte)
}

fn count(map: Map, value: bool) -> Result<u32, Fault> {
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
fn find(map: Map, count: u32, hint: u32, value: bool) -> Result<u32, Fault> {
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

fn find_and(map: Map, count: u32, hint: u32, value: bool) -> Result<u32, Fault> {
    let found = find(map, count, hint, value)?;
    if found != NONE {
        set(map, found, count, !value)?;
    }
    Ok(found)
}
