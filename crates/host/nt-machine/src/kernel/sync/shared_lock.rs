//! Reader-writer locks: executive spin locks and push locks.

use super::irql;
use crate::cpu::thread;
use crate::kernel::kernel;
use crate::memory::Fault;
use crate::routine::{ANY, APC, Call, DISPATCH, Outcome, Routine, done, routine};
use crate::verify::{self, Rule};

/// The writer's bit of an `EX_SPIN_LOCK`; the other bits count readers.
const WRITER: u32 = 0x8000_0000;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ExAcquireSpinLockExclusive", DISPATCH, |call| raised(call, true)).keeps(),
    routine!("ExAcquireSpinLockShared", DISPATCH, |call| raised(call, false)).keeps(),
    routine!("ExAcquireSpinLockExclusiveAtDpcLevel", DISPATCH, |call| at_dispatch(call, true)).keeps(),
    routine!("ExAcquireSpinLockSharedAtDpcLevel", DISPATCH, |call| at_dispatch(call, false)).keeps(),
    routine!("ExTryConvertSharedSpinLockExclusive", DISPATCH, |call| call.ptr::<u32>(0).compare_exchange(1, WRITER)),
    routine!("ExReleaseSpinLockExclusive", DISPATCH, |call| {
        release(call, true)?;
        irql::lower(call.u8(1));
        done(())
    }),
    routine!("ExReleaseSpinLockShared", DISPATCH, |call| {
        release(call, false)?;
        irql::lower(call.u8(1));
        done(())
    }),
    routine!("ExReleaseSpinLockExclusiveFromDpcLevel", DISPATCH, |call| release(call, true)),
    routine!("ExReleaseSpinLockSharedFromDpcLevel", DISPATCH, |call| release(call, false)),
    routine!("ExInitializePushLock", ANY, |call| call.ptr::<u64>(0).write(0)),
    routine!("ExAcquirePushLockExclusiveEx", APC, |call| push(call, true)).keeps(),
    routine!("ExAcquirePushLockSharedEx", APC, |call| push(call, false)).keeps(),
    routine!("ExfAcquirePushLockExclusive", APC, |call| push(call, true)).keeps(),
    routine!("ExfAcquirePushLockShared", APC, |call| push(call, false)).keeps(),
    routine!("ExfReleasePushLockExclusive", APC, |call| pop(call, true)),
    routine!("ExfReleasePushLockShared", APC, |call| pop(call, false)),
    routine!("ExReleasePushLockExclusiveEx", APC, |call| pop(call, true)),
    routine!("ExReleasePushLockSharedEx", APC, |call| pop(call, false)),
];

/// Changes the word at the first argument, unless `next` returns `None`. Returns whether it was changed.
fn update(call: &Call, next: impl Fn(u32) -> Option<u32>) -> Result<bool, Fault> {
    let word = call.ptr::<u32>(0);
    loop {
        let old = word.read()?;
        let Some(new) = next(old) else { return Ok(false) };
        if word.compare_exchange(old, new)? {
            return Ok(true);
        }
    }
}

fn spin(call: &Call, exclusive: bool) -> Result<(), Fault> {
    let next = |old: u32| match (exclusive, old) {
        (true, 0) => Some(WRITER),
        (false, readers) if readers & WRITER == 0 => Some(readers + 1),
        _ => None,
    };
    while !update(call, next)? {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn raised(call: &Call, exclusive: bool) -> Result<u8, Fault> {
    let old = irql::raise(DISPATCH);
    spin(call, exclusive)?;
    Ok(old)
}

fn at_dispatch(call: &Call, exclusive: bool) -> Result<(), Fault> {
    let irql = thread::irql();
    if irql < DISPATCH {
        verify::find(Rule::IrqlTooLow, format_args!("called at IRQL {irql}, needs 2"));
    }
    spin(call, exclusive)
}

fn release(call: &Call, exclusive: bool) -> Result<(), Fault> {
    let next = |old: u32| match (exclusive, old) {
        (true, WRITER) => Some(0),
        (false, readers @ 1..WRITER) => Some(readers - 1),
        _ => None,
    };
    if !update(call, next)? {
        verify::find(Rule::LockMisuse, format_args!("releases a spin lock that is not held in this mode"));
    }
    Ok(())
}

/// Acquires a push lock. The word contains 1 for a writer and 2 for each reader. A waiting thread sleeps.
fn push(call: &Call, exclusive: bool) -> Outcome {
    let place = call.ptr::<u64>(0);
    let attempt = || {
        let next = match (exclusive, place.read()?) {
            (true, 0) => 1,
            (false, readers) if readers & 1 == 0 => readers + 2,
            _ => return Ok::<_, Fault>(None),
        };
        place.write(next).map(Some)
    };
    kernel().scheduler.wait(None, |_| attempt().transpose()).transpose()?;
    Ok(())
}

fn pop(call: &Call, exclusive: bool) -> Outcome {
    let place = call.ptr::<u64>(0);
    let held = kernel().scheduler.change(|_| {
        let next = match (exclusive, place.read()?) {
            (true, 1) => 0,
            (false, readers @ 2..) if readers & 1 == 0 => readers - 2,
            _ => return Ok::<_, Fault>(false),
        };
        place.write(next).map(|()| true)
    })?;
    if !held {
        verify::find(Rule::LockMisuse, format_args!("releases a push lock that is not held in this mode"));
    }
    Ok(())
}
