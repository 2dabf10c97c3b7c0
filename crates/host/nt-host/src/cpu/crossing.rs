//! The way back: what lies on a driver's stack where the driver called a routine.
//!
//! The common entry of all imports stores the registers that the caller keeps, right below the return address. Nothing
//! here writes; all of it is read from the calling thread's own stack and checked to lie there.

use super::stack::Stack;
use super::switch::{LINK, MARK};
use super::thread;
use crate::memory::guest;
use crate::seh;
use crate::unwind::Registers;

/// Where the return address is in a crossing.
pub(crate) const RETURN: u64 = 64;
/// What is there instead where an exception was raised; no code has this address.
pub(crate) const EXCEPTION: u64 = 1;
/// Numbers of the registers that a crossing holds, from its start.
const KEPT: [u8; 8] = [15, 14, 13, 12, 7, 6, 5, 3];
/// Bytes that the common entry keeps on the host's stack; xmm6 to xmm15 are the first of them.
const HOST_FRAME: u64 = 176;
/// Where, among them, is what the driver's stack was before.
const LEVEL: u64 = 160;

/// The call of a routine that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossing {
    at: u64,
}

impl Crossing {
    /// The call that the driver is making on this thread.
    pub(crate) fn current() -> Option<Self> {
        thread::site()?;
        Self::at(thread::driver_stack())
    }

    /// The crossing at an address; `None` where there is none or nobody called.
    fn at(at: u64) -> Option<Self> {
        let crossing = Self { at };
        let inside = word(thread::stack()?, at).is_some();
        (inside && !matches!(crossing.from()?, 0 | EXCEPTION)).then_some(crossing)
    }

    /// The driver's registers where the host called back from, where `rsp` is what it was then: in a routine's call, or
    /// where an exception was raised.
    pub(crate) fn behind(rsp: u64) -> Option<Registers> {
        let stack = thread::stack()?;
        if word(stack, rsp.checked_add(MARK.0)?)? != MARK.1 {
            return None;
        }
        let at = word(stack, rsp.checked_add(LINK)?)?;
        let registers = if word(stack, at.checked_add(RETURN)?)? == EXCEPTION {
            seh::raised_at(at)?
        } else {
            Self::at(at)?.registers()
        };
        // A stack grows downwards, so a walk along it has an end.
        (at > rsp && registers.rsp() > at).then_some(registers)
    }

    /// Where the call returns to.
    fn from(self) -> Option<u64> {
        word(thread::stack()?, self.at.checked_add(RETURN)?)
    }

    /// The caller's registers as they will be when the call returns. Those that a routine may change are not known.
    pub(crate) fn registers(self) -> Registers {
        let mut registers = Registers { rip: self.from().unwrap_or_default(), ..Registers::default() };
        for (number, place) in KEPT.into_iter().zip((self.at..).step_by(8)) {
            registers.set(number, guest::read(place));
        }
        registers.set_rsp(self.at + RETURN + 8);
        registers
    }

    /// Where the driver's stack continued before the call that is being made now.
    pub(crate) fn level(self) -> u64 {
        debug_assert_eq!(self.at, thread::driver_stack(), "the call that is being made");
        guest::read((thread::host_stack() & !15).wrapping_sub(HOST_FRAME) + LEVEL)
    }

    /// [`Self::registers`], with the vector registers that the caller keeps: for the call that is being made now.
    pub(crate) fn all_registers(self) -> Registers {
        let mut registers = self.registers();
        let saved = (thread::host_stack() & !15).wrapping_sub(HOST_FRAME);
        for (vector, place) in registers.xmm.iter_mut().skip(6).zip((saved..).step_by(16)) {
            *vector = u128::from(guest::read::<u64>(place)) | u128::from(guest::read::<u64>(place + 8)) << 64;
        }
        registers
    }
}

/// A word of a stack; `None` outside of it.
pub(crate) fn word(stack: Stack, address: u64) -> Option<u64> {
    let inside = address >= stack.low() && address.checked_add(8)? <= stack.high();
    inside.then(|| guest::read(address))
}
