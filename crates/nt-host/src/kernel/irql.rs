//! The IRQL.

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
    routine("KeEnterCriticalRegion", APC, |_| 0),
    routine("KeLeaveCriticalRegion", DISPATCH, |_| 0),
    routine("KeEnterGuardedRegion", APC, |_| 0),
    routine("KeLeaveGuardedRegion", APC, |_| 0),
    routine("KeAreApcsDisabled", DISPATCH, |_| u64::from(thread::irql() >= APC)),
    routine("KeAreAllApcsDisabled", DISPATCH, |_| u64::from(thread::irql() >= APC)),
];

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
