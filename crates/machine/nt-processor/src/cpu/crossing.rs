//! Crossings: what lies on a driver's stack where the driver called a routine.
//!
//! The common entry of all imports stores the nonvolatile registers of the caller right below the return address. This
//! module only reads: it takes everything from the calling thread's own stack and checks that it lies there.

use super::stack::Stack;
use super::switch::MARK;
use super::thread;
use crate::layout::{CALL_FRAME, CROSSING, EXCEPTION_AREA, HOST_FRAME};
use crate::memory::{GuestPtr, OrStop as _};
use pe_image::unwind::Registers;

/// The value that an exception has in place of a return address; no code has this address.
pub const EXCEPTION: u64 = 1;
/// The numbers of the registers in a crossing, from its start.
const KEPT: [u8; 8] = [15, 14, 13, 12, 7, 6, 5, 3];

/// A call of a routine that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    at: GuestPtr<CROSSING>,
}

impl Crossing {
    /// Returns the call that the driver is making on this thread.
    pub fn current() -> Option<Self> {
        thread::site()?;
        Self::at(GuestPtr::new(thread::driver_stack()))
    }

    /// Returns the crossing at an address, or `None` if the address is not on the stack or nothing called from there.
    fn at(at: GuestPtr<CROSSING>) -> Option<Self> {
        let crossing = Self { at };
        (!matches!(crossing.from()?, 0 | EXCEPTION)).then_some(crossing)
    }

    /// Returns the driver's registers at the point from which the host called the driver back: in the call of a
    /// routine, or where an exception was raised. `rsp` must be the stack pointer of that callback's frame; otherwise
    /// returns `None`.
    pub fn behind(rsp: u64) -> Option<Registers> {
        let stack = thread::stack()?;
        let frame = GuestPtr::<CALL_FRAME>::new(rsp);
        if word(stack, frame.Mark().address())? != MARK {
            return None;
        }
        let at = GuestPtr::<CROSSING>::new(word(stack, frame.Link().address())?);
        let registers = if word(stack, at.Return().address())? == EXCEPTION {
            raised_at(stack, at.cast())?
        } else {
            Self::at(at)?.registers()
        };
        // A stack grows downwards, so a walk along it ends.
        (at.address() > rsp && registers.rsp() > at.address()).then_some(registers)
    }

    /// Returns the address that the call returns to.
    fn from(self) -> Option<u64> {
        word(thread::stack()?, self.at.Return().address())
    }

    /// Returns the caller's registers as they will be when the call returns. Volatile registers are unknown.
    pub fn registers(self) -> Registers {
        let CROSSING { Kept, Return } = self.at.read().or_stop();
        let mut registers = Registers { rip: Return, ..Registers::default() };
        for (number, value) in KEPT.into_iter().zip(Kept) {
            registers.set(number, value);
        }
        registers.set_rsp(self.at.after::<u64>().address());
        registers
    }

    /// Returns the frame that the common entry keeps on the host's stack for the current call.
    fn host_frame(self) -> GuestPtr<HOST_FRAME> {
        debug_assert_eq!(self.at.address(), thread::driver_stack(), "the call that is being made");
        GuestPtr::<HOST_FRAME>::new(thread::host_stack() & !15).before(1)
    }

    /// Returns where the driver's stack continued before the current call.
    pub fn level(self) -> u64 {
        self.host_frame().Level().read().or_stop()
    }

    /// Returns [`Self::registers`] with the nonvolatile vector registers of the caller. Only for the current call.
    pub fn all_registers(self) -> Registers {
        let mut registers = self.registers();
        let kept = self.host_frame().Vectors().read().or_stop();
        for (vector, value) in registers.xmm.iter_mut().skip(6).zip(kept) {
            *vector = value;
        }
        registers
    }
}

/// Returns the registers at which an exception was raised, or `None` if its area is not on this stack.
fn raised_at(stack: Stack, area: GuestPtr<EXCEPTION_AREA>) -> Option<Registers> {
    let start = area.address();
    let end = area.after::<u8>().address();
    (start >= stack.low() && start < end && end <= stack.high()).then(|| area.Context().registers().or_stop())
}

/// Reads a word of a stack; returns `None` outside of it.
pub fn word(stack: Stack, address: u64) -> Option<u64> {
    let inside = address >= stack.low() && address.checked_add(8)? <= stack.high();
    inside.then(|| GuestPtr::new(address).read().or_stop())
}
