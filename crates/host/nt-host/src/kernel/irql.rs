//! The IRQL, and regions without APCs.

use std::cell::Cell;
use std::thread::LocalKey;

use super::routine::{ANY, APC, Call, DISPATCH, Routine, routine};
use crate::cpu::thread;
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeGetCurrentIrql", ANY, |_| thread::irql().into()),
    routine("KfRaiseIrql", ANY, |call| raise(call.u8(0)).into()),
    routine("KeRaiseIrqlToDpcLevel", ANY, |_| raise(DISPATCH).into()),
    routine("KeRaiseIrqlToSynchLevel", ANY, |_| raise(12).into()),
    routine("KeRaiseIrql", ANY, |call| {
        crate::memory::guest::write(call.arg(1), raise(call.u8(0)));
        0
    }),
    routine("KeLowerIrql", ANY, lower_routine),
    routine("KfLowerIrql", ANY, lower_routine),
    routine("KeEnterCriticalRegion", APC, |_| enter(&CRITICAL)),
    routine("KeLeaveCriticalRegion", DISPATCH, |_| leave(&CRITICAL)),
    routine("KeEnterGuardedRegion", APC, |_| enter(&GUARDED)),
    routine("KeLeaveGuardedRegion", APC, |_| leave(&GUARDED)),
    routine("KeAreApcsDisabled", DISPATCH, |_| {
        u64::from(thread::irql() >= APC || CRITICAL.get() > 0 || GUARDED.get() > 0)
    }),
    routine("KeAreAllApcsDisabled", DISPATCH, |_| u64::from(thread::irql() >= APC || GUARDED.get() > 0)),
];

thread_local! {
    /// Regions that this thread is in.
    static CRITICAL: Cell<u32> = const { Cell::new(0) };
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

fn enter(region: &'static LocalKey<Cell<u32>>) -> u64 {
    region.set(region.get() + 1);
    0
}

fn leave(region: &'static LocalKey<Cell<u32>>) -> u64 {
    match region.get() {
        0 => verify::find(Rule::LockMisuse, format_args!("a region is left that the thread is not in")),
        depth => region.set(depth - 1),
    }
    0
}

fn lower_routine(call: &Call) -> u64 {
    lower(call.u8(0));
    0
}

/// Raises the IRQL and answers the old one.
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

/// The driver changed the IRQL with an instruction of its own.
pub(crate) fn change_silently(irql: u8) {
    thread::set_irql(irql);
    noticed(irql);
}

/// What follows from a higher IRQL.
pub(crate) fn noticed(irql: u8) {
    if irql >= DISPATCH {
        super::paging::page_out();
    }
}
