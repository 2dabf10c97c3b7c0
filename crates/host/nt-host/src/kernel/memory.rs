//! Memory operations that compilers and drivers call by name.

use super::routine::{ANY, Call, Routine, routine};
use crate::memory::guest;

pub(super) const ROUTINES: &[Routine] = &[
    routine("memcpy", ANY, copy),
    routine("memmove", ANY, copy),
    routine("RtlCopyMemory", ANY, copy),
    routine("RtlMoveMemory", ANY, copy),
    routine("memset", ANY, |call| {
        guest::fill(call.arg(0), call.u8(1), call.arg(2));
        call.arg(0)
    }),
    routine("RtlFillMemory", ANY, |call| {
        guest::fill(call.arg(0), call.u8(2), call.arg(1));
        0
    }),
    routine("RtlZeroMemory", ANY, |call| {
        guest::fill(call.arg(0), 0, call.arg(1));
        0
    }),
    routine("RtlSecureZeroMemory", ANY, |call| {
        guest::fill(call.arg(0), 0, call.arg(1));
        call.arg(0)
    }),
    routine("memcmp", ANY, |call| {
        let (a, b) = (guest::bytes(call.arg(0), call.arg(2)), guest::bytes(call.arg(1), call.arg(2)));
        (a.cmp(&b) as i32).cast_unsigned().into()
    }),
    routine("RtlCompareMemory", ANY, |call| {
        let (a, b) = (guest::bytes(call.arg(0), call.arg(2)), guest::bytes(call.arg(1), call.arg(2)));
        a.iter().zip(&b).take_while(|(a, b)| a == b).count() as u64
    }),
    routine("memchr", ANY, |call| {
        let (start, byte) = (call.arg(0), call.u8(1));
        (start..start + call.arg(2)).find(|place| guest::read::<u8>(*place) == byte).unwrap_or_default()
    }),
];

fn copy(call: &Call) -> u64 {
    guest::copy(call.arg(0), call.arg(1), call.arg(2));
    call.arg(0)
}
