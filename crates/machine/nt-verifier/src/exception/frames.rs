//! Routines with which a driver inspects its own stack.

use nt_processor::cpu::crossing::{Crossing, word};
use nt_processor::cpu::thread;
use nt_processor::cpu::walk::{self, Frame};
use nt_processor::image;
use nt_processor::layout::CONTEXT;
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use pe_image::unwind::Handler;
use windows_constants::exception::{UNW_FLAG_EHANDLER, UNW_FLAG_UHANDLER};

use crate::routine::{ANY, Ignored, Out, routines};

/// The maximum number of addresses that are written, whatever count the driver passes: a count is 16 bits wide.
const MOST: usize = 0xFFFF;

routines! { pub(crate) ROUTINES;
    /// The hash is the sum of the addresses, as documented.
    #[irql(ANY)]
    fn RtlCaptureStackBackTrace(skip: u32, count: u32, buffer: GuestPtr<u64>, hash: Out<u32>) -> Result<u16, Fault> {
        let addresses = back_trace(skip, count);
        buffer.write_all(&addresses)?;
        hash.set_if_wanted(addresses.iter().fold(0, |sum: u32, address| sum.wrapping_add(*address as u32)))?;
        Ok(addresses.len() as u16)
    }

    /// A flag selects user-mode frames; there are none.
    #[irql(ANY)]
    fn RtlWalkFrameChain(buffer: GuestPtr<u64>, count: u32, flags: u32) -> Result<u32, Fault> {
        let addresses = if flags & 1 == 0 { back_trace(0, count) } else { Vec::new() };
        buffer.write_all(&addresses)?;
        Ok(addresses.len() as u32)
    }

    #[irql(ANY)]
    fn RtlCaptureContext(&call, context: GuestPtr<CONTEXT>) -> Result<(), Fault> {
        let Some(crossing) = Crossing::current() else { return Ok(()) };
        let mut registers = crossing.all_registers();
        // Of the volatile registers, only those of the arguments are known: rcx, rdx, r8 and r9.
        for (number, value) in [1, 2, 8, 9].into_iter().zip(call.argument_registers()) {
            registers.set(number, value);
        }
        context.set(&registers, None)
    }

    #[irql(ANY)]
    fn RtlLookupFunctionEntry(
        address: u64,
        place: Out<u64>,
        _history: Ignored<GuestPtr<Opaque>>,
    ) -> Result<GuestPtr<Opaque>, Fault> {
        let Some((base, functions)) = image::functions(address) else { return Ok(GuestPtr::NULL) };
        place.set_if_wanted(base)?;
        let found = functions.find((address - base) as u32);
        Ok(GuestPtr::new(found.map_or(0, |(_, entry)| base + u64::from(entry))))
    }

    #[irql(ANY)]
    fn RtlPcToFileHeader(address: GuestPtr<Code>, place: Out<u64>) -> Result<GuestPtr<Opaque>, Fault> {
        let base = image::base_of(address.address()).unwrap_or_default();
        place.set_if_wanted(base)?;
        Ok(GuestPtr::new(base))
    }

    /// The addresses of registers are for debuggers and are not written.
    #[irql(ANY)]
    fn RtlVirtualUnwind(
        kind: u32,
        base: u64,
        address: u64,
        _function: Ignored<GuestPtr<Opaque>>,
        context: GuestPtr<CONTEXT>,
        data: Out<u64>,
        frame: Out<u64>,
        _registers: Ignored<GuestPtr<Opaque>>,
    ) -> Result<GuestPtr<Code>, Fault> {
        let (Some((_, functions)), Some(stack)) = (image::functions(address), thread::stack()) else {
            return Ok(GuestPtr::NULL);
        };
        let mut registers = context.registers()?;
        registers.rip = address;
        let Ok(unwound) = functions.unwind(base, &mut registers, &mut |address| word(stack, address)) else {
            // As at the end of a stack, where there is no caller.
            context.Rip().write(0)?;
            return Ok(GuestPtr::NULL);
        };
        context.update(&registers)?;
        frame.set_if_wanted(unwound.frame)?;
        let wanted = |handler: &Handler| {
            (handler.on_exception && kind & u32::from(UNW_FLAG_EHANDLER) != 0) || (handler.on_unwind && kind & u32::from(UNW_FLAG_UHANDLER) != 0)
        };
        let Some(handler) = unwound.handler.filter(wanted) else { return Ok(GuestPtr::NULL) };
        data.set_if_wanted(base + u64::from(handler.data))?;
        Ok(GuestPtr::new(base + u64::from(handler.address)))
    }
}

/// Returns return addresses, starting with the caller's.
fn back_trace(skip: u32, count: u32) -> Vec<u64> {
    let mut left = skip;
    let count = (count as usize).min(MOST);
    let mut addresses = Vec::new();
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
