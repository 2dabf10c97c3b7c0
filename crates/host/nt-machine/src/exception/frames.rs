//! Routines with which a driver inspects its own stack.

use crate::cpu::crossing::{Crossing, word};
use crate::cpu::thread;
use crate::cpu::walk::{self, Frame};
use crate::image;
use crate::layout::CONTEXT;
use crate::routine::{ANY, Call, Outcome, Routine, done, routine};
use pe_image::unwind::Handler;

/// `UNW_FLAG_EHANDLER` and `UNW_FLAG_UHANDLER`.
const ON_EXCEPTION: u32 = 1;
const ON_UNWIND: u32 = 2;
/// The maximum number of addresses that are written, whatever count the driver passes: a count is 16 bits wide.
const MOST: usize = 0xFFFF;

pub(crate) const ROUTINES: &[Routine] = &[
    // Arguments: frames to skip, frames to capture, buffer for the addresses, pointer to their hash.
    routine!("RtlCaptureStackBackTrace", ANY, |call| {
        let addresses = back_trace(call.u32(0), call.u32(1));
        call.ptr(2).write_all(&addresses)?;
        // The hash is the sum of the addresses, as documented.
        call.ptr(3).write_if(addresses.iter().fold(0, |sum: u32, address| sum.wrapping_add(*address as u32)))?;
        done(addresses.len() as u64)
    }),
    // Arguments: buffer for the addresses, their maximum number, flags. A flag selects user-mode frames; there are
    // none.
    routine!("RtlWalkFrameChain", ANY, |call| {
        let addresses = if call.u32(2) & 1 == 0 { back_trace(0, call.u32(1)) } else { Vec::new() };
        call.ptr(0).write_all(&addresses)?;
        done(addresses.len() as u64)
    }),
    routine!("RtlCaptureContext", ANY, |call| {
        let Some(crossing) = Crossing::current() else { return Ok(()) };
        let mut registers = crossing.all_registers();
        // Of the volatile registers, only the arguments are known.
        for (number, index) in [(1, 0), (2, 1), (8, 2), (9, 3)] {
            registers.set(number, call.arg(index));
        }
        call.ptr::<CONTEXT>(0).set(&registers, None)
    }),
    routine!("RtlLookupFunctionEntry", ANY, |call| {
        let Some((base, functions)) = image::functions(call.arg(0)) else { return done(0) };
        call.ptr(1).write_if(base)?;
        let found = functions.find((call.arg(0) - base) as u32);
        done(found.map_or(0, |(_, entry)| base + u64::from(entry)))
    }),
    routine!("RtlPcToFileHeader", ANY, |call| {
        let base = image::base_of(call.arg(0)).unwrap_or_default();
        call.ptr(1).write_if(base)?;
        done(base)
    }),
    routine!("RtlVirtualUnwind", ANY, virtual_unwind),
];

/// Returns return addresses, starting with the caller's.
fn back_trace(skip: u32, count: u32) -> Vec<u64> {
    let (mut left, count, mut addresses) = (skip, (count as usize).min(MOST), Vec::new());
    if let Some(registers) = walk::here() {
        walk::walk(&registers, |Frame { address, .. }| {
            if left != 0 {
                left -= 1;
            } else if addresses.len() < count {
                addresses.push(address);
            }
            addresses.len() < count
        });
    }
    addresses
}

/// Arguments: handler type, image base, control address, function entry, context, pointers to handler data, to the
/// establisher frame and to the addresses of registers. The last one is for debuggers and is not written.
fn virtual_unwind(call: &Call) -> Outcome<u64> {
    let (kind, base, context) = (call.u32(0), call.arg(1), call.ptr::<CONTEXT>(4));
    let (Some((_, functions)), Some(stack)) = (image::functions(call.arg(2)), thread::stack()) else { return Ok(0) };
    let mut registers = context.registers()?;
    registers.rip = call.arg(2);
    let Ok(unwound) = functions.unwind(base, &mut registers, &mut |address| word(stack, address)) else {
        // As at the end of a stack, where there is no caller.
        context.Rip().write(0)?;
        return Ok(0);
    };
    context.update(&registers)?;
    call.ptr(6).write_if(unwound.frame)?;
    let wanted = |handler: &Handler| {
        (handler.on_exception && kind & ON_EXCEPTION != 0) || (handler.on_unwind && kind & ON_UNWIND != 0)
    };
    let Some(handler) = unwound.handler.filter(wanted) else { return Ok(0) };
    call.ptr(5).write_if(base + u64::from(handler.data))?;
    Ok(base + u64::from(handler.address))
}
