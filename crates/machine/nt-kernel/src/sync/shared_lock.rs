//! Reader-writer locks: executive spin locks and push locks.

use nt_processor::cpu::thread;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, Irql, Out, routines};
use nt_verifier::verify::{self, Rule};

use super::irql;
use crate::kernel;

/// The writer's bit of an `EX_SPIN_LOCK`; the other bits count readers.
const WRITER: u32 = 0x8000_0000;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), keeps]
    fn ExAcquireSpinLockExclusive(lock: GuestPtr<u32>) -> Result<Irql, Fault> {
        raised(lock, true)
    }

    #[irql(DISPATCH), keeps]
    fn ExAcquireSpinLockShared(lock: GuestPtr<u32>) -> Result<Irql, Fault> {
        raised(lock, false)
    }

    #[irql(ANY), keeps]
    fn ExAcquireSpinLockExclusiveAtDpcLevel(lock: GuestPtr<u32>) -> Result<(), Fault> {
        at_dispatch(lock, true)
    }

    #[irql(ANY), keeps]
    fn ExAcquireSpinLockSharedAtDpcLevel(lock: GuestPtr<u32>) -> Result<(), Fault> {
        at_dispatch(lock, false)
    }

    #[irql(DISPATCH)]
    fn ExTryConvertSharedSpinLockExclusive(lock: GuestPtr<u32>) -> Result<u32, Fault> {
        Ok(lock.compare_exchange(1, WRITER)?.into())
    }

    #[irql(DISPATCH)]
    fn ExReleaseSpinLockExclusive(lock: GuestPtr<u32>, old: Irql) -> Result<(), Fault> {
        release(lock, true)?;
        irql::lower(old.0);
        Ok(())
    }

    #[irql(DISPATCH)]
    fn ExReleaseSpinLockShared(lock: GuestPtr<u32>, old: Irql) -> Result<(), Fault> {
        release(lock, false)?;
        irql::lower(old.0);
        Ok(())
    }

    #[irql(ANY)]
    fn ExReleaseSpinLockExclusiveFromDpcLevel(lock: GuestPtr<u32>) -> Result<(), Fault> {
        release(lock, true)
    }

    #[irql(ANY)]
    fn ExReleaseSpinLockSharedFromDpcLevel(lock: GuestPtr<u32>) -> Result<(), Fault> {
        release(lock, false)
    }

    #[irql(ANY)]
    fn ExInitializePushLock(lock: Out<u64>) -> Result<(), Fault> {
        lock.set(0)
    }

    #[irql(APC), keeps]
    fn ExAcquirePushLockExclusiveEx(lock: GuestPtr<u64>, _flags: Ignored<u32>) -> Result<(), Fault> {
        push(lock, true)
    }

    #[irql(APC), keeps]
    fn ExAcquirePushLockSharedEx(lock: GuestPtr<u64>, _flags: Ignored<u32>) -> Result<(), Fault> {
        push(lock, false)
    }

    #[irql(APC), keeps]
    fn ExfAcquirePushLockExclusive(lock: GuestPtr<u64>) -> Result<(), Fault> {
        push(lock, true)
    }

    #[irql(APC), keeps]
    fn ExfAcquirePushLockShared(lock: GuestPtr<u64>) -> Result<(), Fault> {
        push(lock, false)
    }

    #[irql(APC)]
    fn ExfReleasePushLockExclusive(lock: GuestPtr<u64>) -> Result<(), Fault> {
        pop(lock, true)
    }

    #[irql(APC)]
    fn ExfReleasePushLockShared(lock: GuestPtr<u64>) -> Result<(), Fault> {
        pop(lock, false)
    }

    #[irql(APC)]
    fn ExReleasePushLockExclusiveEx(lock: GuestPtr<u64>, _flags: Ignored<u32>) -> Result<(), Fault> {
        pop(lock, true)
    }

    #[irql(APC)]
    fn ExReleasePushLockSharedEx(lock: GuestPtr<u64>, _flags: Ignored<u32>) -> Result<(), Fault> {
        pop(lock, false)
    }
}

/// Changes a word, unless `next` returns `None`. Returns whether it was changed.
fn update(word: GuestPtr<u32>, next: impl Fn(u32) -> Option<u32>) -> Result<bool, Fault> {
    loop {
        let old = word.read()?;
        let Some(new) = next(old) else { return Ok(false) };
        if word.compare_exchange(old, new)? {
            return Ok(true);
        }
    }
}

fn spin(lock: GuestPtr<u32>, exclusive: bool) -> Result<(), Fault> {
    let next = |old: u32| match (exclusive, old) {
        (true, 0) => Some(WRITER),
        (false, readers) if readers & WRITER == 0 => Some(readers + 1),
        _ => None,
    };
    while !update(lock, next)? {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn raised(lock: GuestPtr<u32>, exclusive: bool) -> Result<Irql, Fault> {
    let old = irql::raise(DISPATCH);
    spin(lock, exclusive)?;
    Ok(Irql(old))
}

fn at_dispatch(lock: GuestPtr<u32>, exclusive: bool) -> Result<(), Fault> {
    let irql = thread::irql();
    if irql < DISPATCH {
        verify::find(Rule::IrqlTooLow, format_args!("called at IRQL {irql}, needs 2"));
    }
    spin(lock, exclusive)
}

fn release(lock: GuestPtr<u32>, exclusive: bool) -> Result<(), Fault> {
    let next = |old: u32| match (exclusive, old) {
        (true, WRITER) => Some(0),
        (false, readers @ 1..WRITER) => Some(readers - 1),
        _ => None,
    };
    if !update(lock, next)? {
        verify::find(Rule::LockMisuse, format_args!("releases a spin lock that is not held in this mode"));
    }
    Ok(())
}

/// Acquires a push lock. The word contains 1 for a writer and 2 for each reader. A waiting thread sleeps.
pub(super) fn push(place: GuestPtr<u64>, exclusive: bool) -> Result<(), Fault> {
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

pub(super) fn pop(place: GuestPtr<u64>, exclusive: bool) -> Result<(), Fault> {
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
