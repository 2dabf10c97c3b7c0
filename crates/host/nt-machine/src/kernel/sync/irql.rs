//! The IRQL, and regions in which APCs are disabled.

use std::cell::Cell;
use std::thread::LocalKey;

use crate::cpu::thread;
use crate::kernel::pool::paging;
use crate::memory::Fault;
use crate::routine::{ANY, APC, DISPATCH, Irql, Out, routines};
use crate::verify::{self, Rule};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeGetCurrentIrql() -> Irql {
        Irql(thread::irql())
    }

    #[irql(ANY), keeps]
    fn KfRaiseIrql(new: Irql) -> Irql {
        Irql(raise(new.0))
    }

    #[irql(ANY), keeps]
    fn KeRaiseIrqlToDpcLevel() -> Irql {
        Irql(raise(DISPATCH))
    }

    #[irql(ANY), keeps]
    fn KeRaiseIrqlToSynchLevel() -> Irql {
        Irql(raise(12))
    }

    #[irql(ANY), keeps]
    fn KeRaiseIrql(new: Irql, old: Out<u8>) -> Result<(), Fault> {
        old.set(raise(new.0))
    }

    #[irql(ANY)]
    fn KeLowerIrql(new: Irql) {
        lower(new.0);
    }

    #[irql(ANY)]
    fn KfLowerIrql(new: Irql) {
        lower(new.0);
    }

    #[irql(APC)]
    fn KeEnterCriticalRegion() {
        enter(&CRITICAL);
    }

    #[irql(DISPATCH)]
    fn KeLeaveCriticalRegion() {
        leave(&CRITICAL);
    }

    #[irql(APC)]
    fn KeEnterGuardedRegion() {
        enter(&GUARDED);
    }

    #[irql(APC)]
    fn KeLeaveGuardedRegion() {
        leave(&GUARDED);
    }

    #[irql(DISPATCH)]
    fn KeAreApcsDisabled() -> bool {
        thread::irql() >= APC || CRITICAL.get() > 0 || GUARDED.get() > 0
    }

    #[irql(DISPATCH)]
    fn KeAreAllApcsDisabled() -> bool {
        thread::irql() >= APC || GUARDED.get() > 0
    }
}

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
    page_out_at(irql);
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
    page_out_at(irql);
}

/// Pages out memory if the new IRQL requires it.
pub(crate) fn page_out_at(irql: u8) {
    if irql >= DISPATCH {
        paging::page_out();
    }
}
