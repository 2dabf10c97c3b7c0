//! Instructions that read and write ports, which a process of Linux may not.

use nt_processor::cpu::decode::PortAccess;
use nt_processor::cpu::switch::DIRECTION;
use nt_processor::memory::{Fault, GuestPtr};

use super::interrupted::Context;
use crate::hardware::{self, Register};

/// The numbers of registers.
const RAX: u8 = 0;
const RCX: u8 = 1;
const RDX: u8 = 2;
const RSI: u8 = 6;
const RDI: u8 = 7;

/// Executes an instruction. Returns `false` if its memory cannot be accessed. A port without a device reads as ones.
pub(super) fn imitate(access: PortAccess, context: &mut Context<'_>) -> bool {
    let PortAccess { writes, width, port, is_string, repeats, length } = access;
    let register = Register::Port(port.map_or(context.get(RDX) as u16, u16::from));
    if !is_string {
        if writes {
            hardware::write(register, width, context.get(RAX));
        } else {
            let value = hardware::read(register, width, u64::MAX);
            // Only a 32-bit result clears the upper half of the register.
            let kept = if width < 4 { context.get(RAX) & (!0 << (width * 8)) } else { 0 };
            context.set(RAX, kept | value);
        }
        context.skip(length);
        return true;
    }
    let pointer = if writes { RSI } else { RDI };
    let step = if context.eflags() & DIRECTION == 0 { u64::from(width) } else { u64::from(width).wrapping_neg() };
    while !repeats || context.get(RCX) != 0 {
        if transfer(register, width, writes, context.get(pointer)).is_err() {
            return false;
        }
        context.set(pointer, context.get(pointer).wrapping_add(step));
        if !repeats {
            break;
        }
        context.set(RCX, context.get(RCX) - 1);
    }
    context.skip(length);
    true
}

/// Moves one element between a port and memory.
fn transfer(register: Register, width: u8, writes: bool, address: u64) -> Result<(), Fault> {
    let memory = GuestPtr::<u8>::new(address).array(width.into());
    if writes {
        let bytes = memory.read()?;
        hardware::write(register, width, bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
        return Ok(());
    }
    memory.write(&hardware::read(register, width, u64::MAX).to_le_bytes())
}
