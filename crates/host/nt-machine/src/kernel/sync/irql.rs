//! The IRQL, and regions in which APCs are disabled.

use std::cell::Cell;
use std::thread::LocalKey;

use crate::cpu::thread;
use crate::kernel::pool::paging;
use crate::routine::{ANY, APC, DISPATCH, Routine, routine};
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeGetCurrentIrql", ANY, |_| thread::irql()),
    routine!("KfRaiseIrql", ANY, |call| raise(call.u8(0))).keeps(),
    routine!("KeRaiseIrqlToDpcLevel", ANY, |_| raise(DISPATCH)).keeps(),
    routine!("KeRaiseIrqlToSynchLevel", ANY, |_| raise(12)).keeps(),
    routine!("KeRaiseIrql", ANY, |call| call.ptr(1).write(raise(call.u8(0)))).keeps(),
    routine!("KeLowerIrql", ANY, |call| lower(call.u8(0))),
    routine!("KfLowerIrql", ANY, |call| lower(call.u8(0))),
    routine!("KeEnterCriticalRegion", APC, |_| enter(&CRITICAL)),
    routine!("KeLeaveCriticalRegion", DISPATCH, |_| leave(&CRITICAL)),
    routine!("KeEnterGuardedRegion", APC, |_| enter(&GUARDED)),
    routine!("KeLeaveGuardedRegion", APC, |_| leave(&GUARDED)),
    routine!("KeAreApcsDisabled", DISPATCH, |_| thread::irql() >= APC || CRITICAL.get() > 0 || GUARDED.get() > 0),
    routine!("KeAreAllApcsDisabled", DISPATCH, |_| thread::irql() >= APC || GUARDED.get() > 0),
];

thread_local! {
    /// The number of regions that this thread is in.
    static CRITICAL: Cell<u32> = const { Cell::new(0) };
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// `KeEnterCriticalRegion`.
pub(super) fn enter_critical() {
    enter(&CRITICAL);
}

/// `KeLeaveCriticalRegion`.
pub(super) fn leave_critical() {
    leave(&CRITICAL);
}

/// `KeEnterGuardedRegion`.
pub(super) fn enter_guarded() {
    enter(&GUARDED);
}

/// `KeLeaveGuardedRegion`.
pub(super) fn leave_guarded() {
    leave(&GUARDED);
}

fn enter(region: &'static LocalKey<Cell<u32>>) {
    region.set(region.get() + 1);
}

fn leave(region: &'static LocalKey<Cell<u32>>) {
    match region.get() {
        0 => verify::find(Rule::LockMisuse, format_args!("the thread leaves a region that it has not entered")),
        depth => region.set(depth - 1),
    }
}

/// Raises the IRQL and returns the old one.
pub(crate) fn raise(irql: u8) -> u8 {
    let old = thread::irql();
    if irql < old {
        verify::find(Rule::IrqlTooLow, format_args!("raises the IRQL from {old} to {irql}"));
    }
    thread::set_irql(irql);
    noticed(irql);
    old
}

/// Lowers the IRQL.
pub(crate) fn lower(irql: u8) {
    let old = thread::irql();
    if irql > old {
        verify::find(Rule::IrqlTooLow, format_args!("lowers the IRQL from {old} to {irql}"));
    }
    thread::set_irql(irql);
}

/// Changes the IRQL for an instruction of the driver.
pub(crate) fn change_silently(irql: u8) {
    thread::set_irql(irql);
    noticed(irql);
}

/// Pages out memory if the new IRQL requires it.
pub(crate) fn noticed(irql: u8) {
    if irql >= DISPATCH {
        paging::page_out();
    }
}
