//! Routines by which a driver looks at its own stack.

use crate::cpu::crossing::{Crossing, word};
use crate::cpu::{thread, walk};
use crate::kernel::ex::image;
use crate::kernel::routine::{ANY, Call, Routine, routine};
use crate::memory::guest;
use crate::unwind::Handler;

use super::context;

/// `UNW_FLAG_EHANDLER` and `UNW_FLAG_UHANDLER`.
const ON_EXCEPTION: u32 = 1;
const ON_UNWIND: u32 = 2;
/// Most addresses that are written, whatever the driver asks for: a count is 16 bits wide.
const MOST: u64 = 0xFFFF;

pub(crate) const ROUTINES: &[Routine] = &[
    routine!("RtlCaptureStackBackTrace", ANY, |call| {
        let count = back_trace(call.u32(0).into(), call.u32(1).into(), call.arg(2));
        // The hash is the sum of the addresses, as the document says.
        let sum = (0..count).map(|index| guest::read::<u64>(call.arg(2) + index * 8) as u32);
        let hash = sum.fold(0, u32::wrapping_add);
        guest::write_if(call.arg(3), hash);
        count
    }),
    // The addresses of user mode, which the flag asks for, are not there.
    routine!("RtlWalkFrameChain", ANY, |call| match call.u32(2) & 1 {
        0 => back_trace(0, call.u32(1).into(), call.arg(0)),
        _ => 0,
    }),
    routine!("RtlCaptureContext", ANY, |call| {
        if let Some(crossing) = Crossing::current() {
            let mut registers = crossing.all_registers();
            // Of the registers that a routine may change, the arguments are known.
            for (number, index) in [(1, 0), (2, 1), (8, 2), (9, 3)] {
                registers.set(number, call.arg(index));
            }
            context::write(call.arg(0), &registers, None);
        }
        0
    }),
    routine!("RtlLookupFunctionEntry", ANY, |call| {
        let Some(base) = image::base_of(call.arg(0)) else { return 0 };
        guest::write_if(call.arg(1), base);
        let rva = (call.arg(0) - base) as u32;
        let found = walk::functions().and_then(|functions| functions.find(rva));
        found.map_or(0, |(_, entry)| base + u64::from(entry))
    }),
    routine!("RtlPcToFileHeader", ANY, |call| {
        let base = image::base_of(call.arg(0)).unwrap_or_default();
        guest::write_if(call.arg(1), base);
        base
    }),
    routine!("RtlVirtualUnwind", ANY, virtual_unwind),
];

/// Writes return addresses from the caller's on; answers how many.
fn back_trace(skip: u64, count: u64, place: u64) -> u64 {
    let Some(registers) = walk::here() else { return 0 };
    let (mut left, mut written) = (skip, 0);
    walk::walk(&registers, |address| {
        if left != 0 {
            left -= 1;
        } else if written < count.min(MOST) {
            guest::write(place + written * 8, address);
            written += 1;
        }
        written < count
    });
    written
}

/// Arguments: handler type, image base, control address, function entry, context, places for handler data, establisher
/// frame and the addresses of registers. The last is for debuggers and left alone.
fn virtual_unwind(call: &Call) -> u64 {
    let (kind, base, place) = (call.u32(0), call.arg(1), call.arg(4));
    let (Some(functions), Some(stack)) = (walk::functions(), thread::stack()) else { return 0 };
    let mut registers = context::read(place);
    registers.rip = call.arg(2);
    let Ok(unwound) = functions.unwind(base, &mut registers, &mut |address| word(stack, address)) else {
        // As at the end of a stack: there is no caller.
        guest::write(place + context::RIP, 0_u64);
        return 0;
    };
    context::update(place, &registers);
    guest::write_if(call.arg(6), unwound.frame);
    let wanted = |handler: &Handler| {
        (handler.on_exception && kind & ON_EXCEPTION != 0) || (handler.on_unwind && kind & ON_UNWIND != 0)
    };
    unwound.handler.filter(wanted).map_or(0, |handler| {
        guest::write_if(call.arg(5), base + u64::from(handler.data));
        base + u64::from(handler.address)
    })
}
