//! `KUSER_SHARED_DATA`, the page that Windows has at one address in every process and in the kernel.
//!
//! Compiled drivers have the address in their code: system time, tick count, versions and the debugger's flag are read
//! without a call. It is in the upper half, which a Linux process cannot map, so that each read faults. The page is somewhere else
//! in this process. The fault handler moves the instruction's address register there and has the processor carry out this one
//! instruction (the trap flag); the trap behind it moves the register back. So every instruction works that can read memory,
//! and none is imitated. A read by a routine of this host on the driver's behalf goes the same way.

use std::cell::Cell;

use super::HOOKS;
use super::fault::{PAGE_FAULT, Trap};
use super::interrupted::Context;
use crate::cpu::operand::{Operand, operand};
use crate::memory::{GuestPtr, PAGE};

/// Where the page is on every Windows for x64: `KI_USER_SHARED_DATA` of Microsoft's headers.
pub(crate) const ADDRESS: u64 = 0xFFFF_F780_0000_0000;

/// The trap behind an instruction, as the processor numbers it.
const DEBUG: i64 = 1;
/// Bits of a page fault's error code: a write, and an instruction that was to be carried out.
const WRITE_OR_FETCH: i64 = 2 | 16;

/// An instruction that is being carried out with another address.
#[derive(Clone, Copy)]
struct Step {
    register: u8,
    /// The register before, and while the instruction runs.
    before: u64,
    moved: u64,
    /// The instruction itself moves the register on.
    is_string: bool,
}

thread_local! {
    static STEP: Cell<Option<Step>> = const { Cell::new(None) };
}

/// Whether an address is in the page.
pub(crate) fn contains(address: u64) -> bool {
    address.wrapping_sub(ADDRESS) < PAGE
}

/// Has a read of the page go to where it is; whether the fault was one.
pub(super) fn begin(trap: Trap, context: &mut Context<'_>) -> bool {
    if trap.number != PAGE_FAULT || trap.error & WRITE_OR_FETCH != 0 || !contains(trap.address) {
        return false;
    }
    let Some(page) = HOOKS.find().and_then(|hooks| (hooks.shared_data)()) else { return false };
    let code = GuestPtr::<u8>::new(context.rip()).array(15).read().unwrap_or_default();
    let (register, is_string) = match operand(&code) {
        Some(Operand::Base(register)) => (register, false),
        Some(Operand::String) => (if contains(context.get(6)) { 6 } else { 7 }, true),
        Some(Operand::Absolute { width, length }) => {
            let Ok(value) = load(page + (trap.address - ADDRESS), width) else { return false };
            let kept = if width < 4 { context.get(0) & !0 << (width * 8) } else { 0 };
            context.set(0, kept | value);
            context.skip(length);
            return true;
        }
        None => return false,
    };
    let before = context.get(register);
    let moved = before.wrapping_sub(ADDRESS).wrapping_add(page);
    context.set(register, moved);
    context.step(true);
    STEP.set(Some(Step { register, before, moved, is_string }));
    true
}

/// The instruction was carried out, or faulted in another operand: the register goes back. Whether nothing else happened.
pub(super) fn end(trap: Trap, context: &mut Context<'_>) -> bool {
    let Some(step) = STEP.take() else { return false };
    context.step(false);
    let now = context.get(step.register);
    if step.is_string {
        context.set(step.register, now.wrapping_sub(step.moved).wrapping_add(step.before));
    } else if now == step.moved {
        context.set(step.register, step.before);
    }
    trap.signal == libc::SIGTRAP && trap.number == DEBUG
}

fn load(at: u64, width: u8) -> Result<u64, crate::memory::Fault> {
    Ok(match width {
        1 => GuestPtr::<u8>::new(at).read()?.into(),
        2 => GuestPtr::<u16>::new(at).read()?.into(),
        4 => GuestPtr::<u32>::new(at).read()?.into(),
        _ => GuestPtr::<u64>::new(at).read()?,
    })
}
