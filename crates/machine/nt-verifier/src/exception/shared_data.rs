//! `KUSER_SHARED_DATA`, the page that Windows maps at a fixed address in every process and in the kernel.
//!
//! Compiled drivers contain this address: they read the system time, tick count, versions and the debugger flag without
//! a call. The address is in the upper half, which a Linux process cannot map, so each read faults. In this process,
//! the page is at another address. The fault handler changes the instruction's address register accordingly and lets
//! the processor execute this one instruction with the trap flag set. The trap after the instruction restores the
//! register. So instructions need not be emulated, except for a `mov` from an absolute address, which has no address
//! register. Reads by a routine of this host for the driver work in the same way.

use std::cell::Cell;

use nt_processor::cpu::operand::{Operand, operand};
use nt_processor::memory::{GuestPtr, PAGE};
use windows_constants::memory::KI_USER_SHARED_DATA;

use super::HOOKS;
use super::fault::{PAGE_FAULT, Trap};
use super::interrupted::Context;

/// The processor's number for the trap after an instruction.
const DEBUG: i64 = 1;
/// Bits of a page fault's error code: a write, and an instruction fetch.
const WRITE_OR_FETCH: i64 = 2 | 16;

/// An instruction that is being executed with a changed address register.
#[derive(Clone, Copy)]
struct Step {
    register: u8,
    /// The value of the register before the instruction, and while it runs.
    before: u64,
    moved: u64,
    /// Whether the instruction itself advances the register.
    is_string: bool,
}

thread_local! {
    static STEP: Cell<Option<Step>> = const { Cell::new(None) };
}

/// Returns whether an address is in the page.
pub fn contains(address: u64) -> bool {
    address.wrapping_sub(KI_USER_SHARED_DATA) < PAGE
}

/// Redirects a read of the page to its real address. Returns whether the fault was such a read.
pub(super) fn begin(trap: Trap, context: &mut Context<'_>) -> bool {
    if trap.number != PAGE_FAULT || trap.error & WRITE_OR_FETCH != 0 || !contains(trap.address) {
        return false;
    }
    let Some(page) = HOOKS.find().and_then(|hooks| (hooks.shared_data)()) else { return false };
    let code = GuestPtr::<u8>::new(context.rip()).array(15).read().unwrap_or_default();
    let (register, is_string) = match operand(&code) {
        Some(Operand::Sum { base: Some(register), .. }) => (register, false),
        Some(Operand::String) => (if contains(context.get(6)) { 6 } else { 7 }, true),
        Some(Operand::Absolute { width, length }) => {
            let Ok(value) = load(page + (trap.address - KI_USER_SHARED_DATA), width) else { return false };
            let kept = if width < 4 { context.get(0) & !0 << (width * 8) } else { 0 };
            context.set(0, kept | value);
            context.skip(length);
            return true;
        }
        _ => return false,
    };
    let before = context.get(register);
    let moved = before.wrapping_sub(KI_USER_SHARED_DATA).wrapping_add(page);
    context.set(register, moved);
    context.step(true);
    STEP.set(Some(Step { register, before, moved, is_string }));
    true
}

/// Restores the register after the instruction was executed or faulted in another operand. Returns `true` if it was
/// executed, so that the fault needs no further handling.
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

fn load(at: u64, width: u8) -> Result<u64, nt_processor::memory::Fault> {
    Ok(match width {
        1 => GuestPtr::<u8>::new(at).read()?.into(),
        2 => GuestPtr::<u16>::new(at).read()?.into(),
        4 => GuestPtr::<u32>::new(at).read()?.into(),
        _ => GuestPtr::<u64>::new(at).read()?,
    })
}
