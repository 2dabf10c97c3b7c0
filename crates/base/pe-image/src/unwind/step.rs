//! One unwind step: computes the registers of the caller from the registers in a function.

use super::code::Operation;
use super::epilog;
use super::info::Info;
use super::{Function, Functions, ReadStack, Registers, UnwindError};

/// Maximum number of chained entries, more than any function has.
const MAX_CHAINED: usize = 32;

/// The language-specific handler of a function. Addresses are relative to the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Address of the handler routine.
    pub address: u32,
    /// Address of its data.
    pub data: u32,
    /// It is called to decide whether it handles an exception.
    pub on_exception: bool,
    /// It is called when its function is unwound.
    pub on_unwind: bool,
}

/// What is known about the function that was unwound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// The function's table entry and the address of that entry; `None` for a leaf function.
    pub function: Option<(Function, u32)>,
    /// The establisher frame, which the handler uses to find the function's variables.
    pub frame: u64,
    /// The handler, if the instruction is neither in the prolog nor in an epilog.
    pub handler: Option<Handler>,
}

impl Functions<'_> {
    /// Returns the language-specific handler of a function; `None` if it has none, or if its unwind information is damaged.
    #[must_use]
    pub fn handler(&self, function: &Function) -> Option<Handler> {
        Info::read(self, function.info).and_then(|info| info.handler(self)).ok().flatten()
    }

    /// Returns the entry that a part of a function is chained to in the end; the function itself if it has no such parent.
    #[must_use]
    pub fn primary(&self, function: &Function) -> Function {
        let next = |part: &Function| Info::read(self, part.info).and_then(|info| info.chained(self)).ok().flatten();
        std::iter::successors(Some(*function), next).take(MAX_CHAINED).last().unwrap_or(*function)
    }

    /// Restores the registers of the caller of the current function. `base` is the address of the image.
    ///
    /// A function without an entry is a leaf function: it has neither changed rsp nor saved a register.
    ///
    /// # Errors
    ///
    /// Fails if the tables are damaged or the stack cannot be read. The registers are then unchanged.
    pub fn unwind(&self, base: u64, registers: &mut Registers, read: ReadStack<'_>) -> Result<Unwound, UnwindError> {
        let rva = registers.rip.checked_sub(base).and_then(|rva| u32::try_from(rva).ok());
        let Some((rva, (function, entry))) = rva.and_then(|rva| Some((rva, self.find(rva)?))) else {
            let frame = registers.rsp();
            pop(registers, read)?;
            return Ok(Unwound { function: None, frame, handler: None });
        };
        let info = Info::read(self, function.info)?;
        let position = rva - function.begin;
        let in_prolog = position < u32::from(info.prolog);
        let mut result = *registers;
        let mut unwound =
            Unwound { function: Some((function, entry)), frame: frame(&info, position, registers)?, handler: None };
        if !in_prolog && epilog::finish(self, &function, rva, info.frame_register, &mut result, read)? {
            *registers = result;
            return Ok(unwound);
        }
        let last = self.undo(info, position, unwound.frame, &mut result, read)?;
        if !in_prolog {
            unwound.handler = last.handler(self)?;
        }
        *registers = result;
        Ok(unwound)
    }

    /// Undoes a prolog and the prologs that it is chained to. Returns the unwind information of the last entry in the chain.
    fn undo<'a>(
        &'a self,
        mut info: Info<'a>,
        position: u32,
        frame: u64,
        registers: &mut Registers,
        read: ReadStack<'_>,
    ) -> Result<Info<'a>, UnwindError> {
        let mut position = position;
        let mut frame = frame;
        for _ in 0..MAX_CHAINED {
            if prolog(&info, position, frame, registers, read)? {
                // A machine frame was pushed by the processor: there is no return address to pop.
                return Ok(info);
            }
            let Some(next) = info.chained(self)? else {
                pop(registers, read)?;
                return Ok(info);
            };
            info = Info::read(self, next.info)?;
            // Code in a later part runs after the prologs of the earlier parts have completed.
            position = u32::MAX;
            frame = self::frame(&info, position, registers)?;
        }
        Err(UnwindError::Chain)
    }
}

fn word(address: u64, read: ReadStack<'_>) -> Result<u64, UnwindError> {
    read(address).ok_or(UnwindError::Stack(address))
}

fn pop(registers: &mut Registers, read: ReadStack<'_>) -> Result<(), UnwindError> {
    registers.rip = word(registers.rsp(), read)?;
    registers.set_rsp(registers.rsp().wrapping_add(8));
    Ok(())
}

/// Returns the start of the fixed part of the frame: from the frame register if it is set, otherwise rsp.
fn frame(info: &Info<'_>, position: u32, registers: &Registers) -> Result<u64, UnwindError> {
    if info.frame_register == 0 {
        return Ok(registers.rsp());
    }
    let mut is_set = position >= u32::from(info.prolog) || info.is_chained();
    for code in info.codes() {
        let code = code?;
        is_set |= code.operation == Operation::SetFrame && u32::from(code.offset) <= position;
    }
    let by_register = registers.get(info.frame_register).wrapping_sub(info.frame_offset);
    Ok(if is_set { by_register } else { registers.rsp() })
}

/// Undoes the instructions of a prolog that were executed before `position`. Returns whether one of them is a machine frame. A
/// machine frame contains rip and rsp, so there is no return address to pop.
fn prolog(
    info: &Info<'_>,
    position: u32,
    frame: u64,
    registers: &mut Registers,
    read: ReadStack<'_>,
) -> Result<bool, UnwindError> {
    for code in info.codes() {
        let code = code?;
        if u32::from(code.offset) > position && code.operation != Operation::Epilog {
            continue;
        }
        match code.operation {
            Operation::Push(register) => {
                let rsp = registers.rsp();
                registers.set(register, word(rsp, read)?);
                registers.set_rsp(rsp.wrapping_add(8));
            }
            Operation::Allocate(bytes) => registers.set_rsp(registers.rsp().wrapping_add(bytes.into())),
            Operation::SetFrame => {
                registers.set_rsp(registers.get(info.frame_register).wrapping_sub(info.frame_offset));
            }
            Operation::Save { register, offset } => {
                registers.set(register, word(frame.wrapping_add(offset.into()), read)?);
            }
            Operation::SaveVector { register, offset } => {
                let place = frame.wrapping_add(offset.into());
                let low = word(place, read)?;
                let high = word(place.wrapping_add(8), read)?;
                if let Some(vector) = registers.xmm.get_mut(usize::from(register)) {
                    *vector = u128::from(low) | u128::from(high) << 64;
                }
            }
            Operation::MachineFrame { error_code } => {
                let place = registers.rsp().wrapping_add(u64::from(error_code) * 8);
                registers.rip = word(place, read)?;
                registers.set_rsp(word(place.wrapping_add(24), read)?);
                return Ok(true);
            }
            Operation::Epilog => {}
        }
    }
    Ok(false)
}
