//! The way back: what lies on a driver's stack where the driver called a routine.
//!
//! The common entry of all imports stores the registers that the caller keeps, right below the return address. Nothing
//! here writes; all of it is read from the calling thread's own stack and checked to lie there.

use super::stack::Stack;
use super::switch::MARK;
use super::thread;
use crate::layout::{CALL_FRAME, CROSSING, EXCEPTION_AREA, HOST_FRAME};
use crate::memory::{GuestPtr, OrStop as _};
use pe_image::unwind::Registers;

/// What an exception has in place of the address that a call returns to; no code has this address.
pub(crate) const EXCEPTION: u64 = 1;
/// Numbers of the registers that a crossing holds, from its start.
const KEPT: [u8; 8] = [15, 14, 13, 12, 7, 6, 5, 3];

/// The call of a routine that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossing {
    at: GuestPtr<CROSSING>,
}

impl Crossing {
    /// The call that the driver is making on this thread.
    pub(crate) fn current() -> Option<Self> {
        thread::site()?;
        Self::at(GuestPtr::new(thread::driver_stack()))
    }

    /// The crossing at an address; `None` if there is none or nobody called.
    fn at(at: GuestPtr<CROSSING>) -> Option<Self> {
        let crossing = Self { at };
        (!matches!(crossing.from()?, 0 | EXCEPTION)).then_some(crossing)
    }

    /// The driver's registers where the host called back from, if `rsp` is what it was then: in a routine's call, or
    /// where an exception was raised.
    pub(crate) fn behind(rsp: u64) -> Option<Registers> {
        let (stack, frame) = (thread::stack()?, GuestPtr::<CALL_FRAME>::new(rsp));
        if word(stack, frame.Mark().address())? != MARK {
            return None;
        }
        let at = GuestPtr::<CROSSING>::new(word(stack, frame.Link().address())?);
        let registers = if word(stack, at.Return().address())? == EXCEPTION {
            raised_at(stack, at.cast())?
        } else {
            Self::at(at)?.registers()
        };
        // A stack grows downwards, so a walk along it has an end.
        (at.address() > rsp && registers.rsp() > at.address()).then_some(registers)
    }

    /// Where the call returns to.
    fn from(self) -> Option<u64> {
        word(thread::stack()?, self.at.Return().address())
    }

    /// The caller's registers as they will be when the call returns. Those that a routine may change are not known.
    pub(crate) fn registers(self) -> Registers {
        let CROSSING { Kept, Return } = self.at.read().or_stop();
        let mut registers = Registers { rip: Return, ..Registers::default() };
        for (number, value) in KEPT.into_iter().zip(Kept) {
            registers.set(number, value);
        }
        registers.set_rsp(self.at.after::<u64>().address());
        registers
    }

    /// What the common entry keeps on the host's stack for the call that is being made now.
    fn host_frame(self) -> GuestPtr<HOST_FRAME> {
        debug_assert_eq!(self.at.address(), thread::driver_stack(), "the call that is being made");
        GuestPtr::<HOST_FRAME>::new(thread::host_stack() & !15).before(1)
    }

    /// Where the driver's stack continued before the call that is being made now.
    pub(crate) fn level(self) -> u64 {
        self.host_frame().Level().read().or_stop()
    }

    /// [`Self::registers`], with the vector registers that the caller keeps: for the call that is being made now.
    pub(crate) fn all_registers(self) -> Registers {
        let mut registers = self.registers();
        let kept = self.host_frame().Vectors().read().or_stop();
        for (vector, value) in registers.xmm.iter_mut().skip(6).zip(kept) {
            *vector = value;
        }
        registers
    }
}

/// The registers at which an exception was raised; `None` if it is not on this stack.
fn raised_at(stack: Stack, area: GuestPtr<EXCEPTION_AREA>) -> Option<Registers> {
    let (start, end) = (area.address(), area.after::<u8>().address());
    (start >= stack.low() && start < end && end <= stack.high()).then(|| area.Context().registers().or_stop())
}

/// A word of a stack; `None` outside of it.
pub(crate) fn word(stack: Stack, address: u64) -> Option<u64> {
    let inside = address >= stack.low() && address.checked_add(8)? <= stack.high();
    inside.then(|| GuestPtr::new(address).read().or_stop())
}
