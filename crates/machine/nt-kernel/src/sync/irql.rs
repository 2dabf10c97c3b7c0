//! The IRQL, and regions in which APCs are disabled.

use std::cell::{Cell, RefCell};
use std::thread::LocalKey;

use nt_processor::cpu::thread;
use nt_processor::memory::Fault;
use nt_verifier::routine::{ANY, APC, DISPATCH, Irql, Out, routines};
use nt_verifier::verify::{self, Rule, Wdm};

use super::dpc;
use crate::pool::paging;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeGetCurrentIrql() -> Irql {
        Irql(thread::irql())
    }

    #[irql(ANY), keeps]
    fn KfRaiseIrql(new: Irql) -> Irql {
        Irql(raise_for_driver(new.0))
    }

    #[irql(ANY), keeps]
    fn KeRaiseIrqlToDpcLevel() -> Irql {
        Irql(raise_for_driver(DISPATCH))
    }

    #[irql(ANY), keeps]
    fn KeRaiseIrqlToSynchLevel() -> Irql {
        Irql(raise_for_driver(12))
    }

    #[irql(ANY), keeps]
    fn KeRaiseIrql(new: Irql, old: Out<u8>) -> Result<(), Fault> {
        old.set(raise_for_driver(new.0))
    }

    #[irql(ANY)]
    fn KeLowerIrql(new: Irql) {
        lower_for_driver(new.0);
    }

    #[irql(ANY)]
    fn KfLowerIrql(new: Irql) {
        lower_for_driver(new.0);
    }

    #[irql(APC)]
    fn KeEnterCriticalRegion() {
        enter(&CRITICAL);
    }

    #[irql(DISPATCH)]
    fn KeLeaveCriticalRegion() {
        leave(&CRITICAL, Wdm::CriticalRegions);
    }

    #[irql(APC)]
    fn KeEnterGuardedRegion() {
        enter(&GUARDED);
    }

    #[irql(APC)]
    fn KeLeaveGuardedRegion() {
        leave(&GUARDED, Wdm::GuardedRegions);
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
    /// The IRQLs that the driver raised with `KeRaiseIrql`, and has not restored.
    static RAISED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The IRQLs at which this thread acquired spin locks, by the address of the lock.
    static SAVED: RefCell<Vec<(u64, u8)>> = const { RefCell::new(Vec::new()) };
}

/// The number of critical and of guarded regions that this thread is in.
pub(crate) fn regions() -> [u32; 2] {
    [CRITICAL.get(), GUARDED.get()]
}

/// Returns whether normal kernel APCs can run on this thread.
pub(super) fn are_apcs_enabled() -> bool {
    thread::irql() < APC && regions() == [0, 0]
}

/// `KeEnterCriticalRegion`.
pub(super) fn enter_critical() {
    enter(&CRITICAL);
}

/// `KeLeaveCriticalRegion`.
pub(super) fn leave_critical() {
    leave(&CRITICAL, Wdm::CriticalRegions);
}

/// `KeEnterGuardedRegion`.
pub(super) fn enter_guarded() {
    enter(&GUARDED);
}

/// `KeLeaveGuardedRegion`.
pub(super) fn leave_guarded() {
    leave(&GUARDED, Wdm::GuardedRegions);
}

fn enter(region: &'static LocalKey<Cell<u32>>) {
    region.set(region.get() + 1);
}

fn leave(region: &'static LocalKey<Cell<u32>>, name: Wdm) {
    match region.get() {
        0 => {
            let what = format_args!("leaves a region that the thread has not entered");
            verify::find(Rule::LockMisuse.named(name), what);
        }
        depth => region.set(depth - 1),
    }
}

/// Raises the IRQL and returns the old one.
pub fn raise(irql: u8) -> u8 {
    let old = thread::irql();
    if irql < old {
        verify::find(Rule::IrqlTooLow, format_args!("raises the IRQL from {old} to {irql}"));
    }
    thread::set_irql(irql);
    page_out_at(irql);
    old
}

/// Lowers the IRQL.
pub fn lower(irql: u8) {
    let old = thread::irql();
    if irql > old {
        verify::find(Rule::IrqlTooLow, format_args!("lowers the IRQL from {old} to {irql}"));
    }
    thread::set_irql(irql);
    dpc::interrupt(irql);
}

/// Raises the IRQL for the driver, which must restore it.
fn raise_for_driver(irql: u8) -> u8 {
    let old = raise(irql);
    RAISED.with_borrow_mut(|raised| raised.push(old));
    old
}

/// Lowers the IRQL for the driver. It must have been raised from there.
fn lower_for_driver(irql: u8) {
    let is_restored = RAISED.with_borrow_mut(|raised| {
        let position = raised.iter().rposition(|old| *old == irql);
        position.map(|position| raised.truncate(position)).is_some()
    });
    let old = thread::irql();
    if !is_restored && irql < old {
        let breach = Rule::IrqlTooLow.named(Wdm::IrqlKeRaiseLower2);
        verify::find(breach, format_args!("lowers the IRQL to {irql}, from which it was not raised"));
    }
    lower(irql);
}

/// Reports a call below `DISPATCH_LEVEL`.
pub(crate) fn needs_dispatch() {
    let irql = thread::irql();
    if irql < DISPATCH {
        verify::find(Rule::IrqlTooLow, format_args!("called at IRQL {irql}, needs 2"));
    }
}

/// Notes the IRQL at which a spin lock was acquired.
pub(super) fn saved(spin_lock: u64, irql: u8) {
    SAVED.with_borrow_mut(|saved| saved.push((spin_lock, irql)));
}

/// Notes that a spin lock is released and this IRQL restored. Returns the IRQL at which the lock was acquired if that is
/// another one. Two locks may be released in the order in which they were acquired, with their IRQLs exchanged.
pub(super) fn restores(spin_lock: u64, irql: u8) -> Option<u8> {
    SAVED.with_borrow_mut(|saved| {
        let own = saved.iter().rposition(|(address, _)| *address == spin_lock)?;
        let (_, at) = saved.remove(own);
        let other = saved.iter_mut().find(|(_, other)| at != irql && *other == irql);
        match other {
            Some((_, other)) => *other = at,
            None => return (at != irql).then_some(at),
        }
        None
    })
}

/// Changes the IRQL for an instruction of the driver.
pub(crate) fn change_silently(irql: u8) {
    let old = thread::set_irql(irql);
    RAISED.with_borrow_mut(|raised| match raised.iter().rposition(|known| *known == irql) {
        Some(position) if irql < old => raised.truncate(position),
        _ if irql > old => raised.push(old),
        _ => {}
    });
    dpc::release(irql);
    page_out_at(irql);
}

/// Pages out memory if the new IRQL requires it.
pub(crate) fn page_out_at(irql: u8) {
    if irql >= DISPATCH {
        paging::page_out();
    }
}
