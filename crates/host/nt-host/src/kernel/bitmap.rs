//! Bit maps: `RTL_BITMAP`, a size in bits at 0 and a buffer of words at 8.

use super::routine::{ANY, Call, Routine, routine};
use crate::memory::guest;

/// What a search answers that finds nothing.
const NONE: u64 = 0xFFFF_FFFF;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: map, buffer, size.
    routine("RtlInitializeBitMap", ANY, |call| {
        guest::write(call.arg(0), call.u32(2));
        guest::write(call.arg(0) + 8, call.arg(1));
        0
    }),
    routine("RtlClearAllBits", ANY, |call| set(call.arg(0), 0, size(call.arg(0)), false)),
    routine("RtlSetAllBits", ANY, |call| set(call.arg(0), 0, size(call.arg(0)), true)),
    routine("RtlSetBits", ANY, |call| set(call.arg(0), call.u32(1), call.u32(2), true)),
    routine("RtlClearBits", ANY, |call| set(call.arg(0), call.u32(1), call.u32(2), false)),
    routine("RtlSetBit", ANY, |call| set(call.arg(0), call.u32(1), 1, true)),
    routine("RtlClearBit", ANY, |call| set(call.arg(0), call.u32(1), 1, false)),
    routine("RtlTestBit", ANY, |call| u64::from(bit(call.arg(0), call.u32(1)))),
    routine("RtlNumberOfSetBits", ANY, |call| count(call, true)),
    routine("RtlNumberOfClearBits", ANY, |call| count(call, false)),
    routine("RtlAreBitsSet", ANY, |call| u64::from(run_of(call.arg(0), call.u32(1), call.u32(2), true))),
    routine("RtlAreBitsClear", ANY, |call| u64::from(run_of(call.arg(0), call.u32(1), call.u32(2), false))),
    // Arguments: map, how many, where to begin.
    routine("RtlFindClearBits", ANY, |call| find(call, false)),
    routine("RtlFindSetBits", ANY, |call| find(call, true)),
    routine("RtlFindClearBitsAndSet", ANY, |call| find_and(call, false)),
    routine("RtlFindSetBitsAndClear", ANY, |call| find_and(call, true)),
];

fn size(map: u64) -> u32 {
    guest::read(map)
}

fn place(map: u64, index: u32) -> (u64, u32) {
    let buffer: u64 = guest::read(map + 8);
    (buffer + u64::from(index / 32) * 4, 1 << (index % 32))
}

fn bit(map: u64, index: u32) -> bool {
    let (word, mask) = place(map, index);
    guest::read::<u32>(word) & mask != 0
}

fn set(map: u64, first: u32, count: u32, value: bool) -> u64 {
    for index in first..first.saturating_add(count).min(size(map)) {
        let (word, mask) = place(map, index);
        let old: u32 = guest::read(word);
        guest::write(word, if value { old | mask } else { old & !mask });
    }
    0
}

fn count(call: &Call, value: bool) -> u64 {
    (0..size(call.arg(0))).filter(|index| bit(call.arg(0), *index) == value).count() as u64
}

fn run_of(map: u64, first: u32, count: u32, value: bool) -> bool {
    let end = first.checked_add(count).filter(|end| *end <= size(map));
    count != 0 && end.is_some_and(|end| (first..end).all(|index| bit(map, index) == value))
}

/// The first run from the hint on, else from the start on.
fn find(call: &Call, value: bool) -> u64 {
    let (map, count, hint) = (call.arg(0), call.u32(1), call.u32(2));
    let all = size(map);
    let hint = if hint < all { hint } else { 0 };
    if count == 0 {
        return u64::from(hint & !7);
    }
    let found = (hint..all).chain(0..hint).find(|first| run_of(map, *first, count, value));
    found.map_or(NONE, u64::from)
}

fn find_and(call: &Call, value: bool) -> u64 {
    let found = find(call, value);
    if found != NONE {
        set(call.arg(0), found as u32, call.u32(1), !value);
    }
    found
}
