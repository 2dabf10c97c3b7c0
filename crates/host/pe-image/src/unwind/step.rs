//! One step: from the registers in a function to those in its caller.

use super::code::Operation;
use super::epilog;
use super::info::Info;
use super::{Function, Functions, ReadStack, Registers, UnwindError};

/// More parts than any function is split into.
const MOST_CHAINED: usize = 32;

/// The handler of a function's language. Addresses are relative to the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The routine.
    pub address: u32,
    /// Its data.
    pub data: u32,
    /// It is asked whether it takes an exception.
    pub on_exception: bool,
    /// It is told that its function is left.
    pub on_unwind: bool,
}

/// What is known about a function that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// Its entry, and where that is; `None` for a leaf.
    pub function: Option<(Function, u32)>,
    /// The establisher frame: what its handler knows its variables by.
    pub frame: u64,
    /// Its handler, where the instruction is neither in the prolog nor in an epilog.
    pub handler: Option<Handler>,
}

impl Functions<'_> {
    /// Takes the registers back to the caller of the function that they are in. `base` is where the image lies.
    ///
    /// A function without an entry is a leaf: it has neither moved rsp nor stored a register.
    ///
    /// # Errors
    ///
    /// When the tables are damaged or the stack ends; the registers are then as they were.
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

    /// Undoes a prolog, and those that it continues. Answers the information of the whole function.
    fn undo<'a>(
        &'a self,
        mut info: Info<'a>,
        position: u32,
        frame: u64,
        registers: &mut Registers,
        read: ReadStack<'_>,
    ) -> Result<Info<'a>, UnwindError> {
        let (mut position, mut frame) = (position, frame);
        for _ in 0..MOST_CHAINED {
            if prolog(&info, position, frame, registers, read)? {
                // The processor's own frame: nothing was called.
                return Ok(info);
            }
            let Some(next) = info.chained(self)? else {
                pop(registers, read)?;
                return Ok(info);
            };
            info = Info::read(self, next.info)?;
            // Whoever is in a later part has the earlier ones behind them.
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

/// Where the fixed part of the frame begins: by the frame register once that is set, else rsp.
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

/// Undoes the instructions of a prolog that were carried out at `position`. Whether a machine frame was among them, which
/// holds rip and rsp itself.
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
                let (low, high) = (word(place, read)?, word(place.wrapping_add(8), read)?);
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
