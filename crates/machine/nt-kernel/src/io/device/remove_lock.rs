//! Remove locks: who holds them, and whether a request is passed on without one.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::layout::{DEVICE_OBJECT, IO_REMOVE_LOCK};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{DISPATCH, Ignored, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Breach, Rule, Wdm};
use windows_constants::request::{
    IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE, IRP_MJ_DEVICE_CONTROL, IRP_MJ_INTERNAL_DEVICE_CONTROL, IRP_MJ_PNP,
    IRP_MJ_POWER, IRP_MJ_READ, IRP_MJ_SHUTDOWN, IRP_MJ_SYSTEM_CONTROL, IRP_MJ_WRITE, IRP_MN_QUERY_REMOVE_DEVICE,
    IRP_MN_REMOVE_DEVICE, IRP_MN_SURPRISE_REMOVAL,
};

use crate::io::request::Io;
use crate::io::request::dispatching::{self, Dispatch};
use crate::{Kernel, kernel, lock};

type Lock = GuestPtr<IO_REMOVE_LOCK>;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE)]
    fn IoInitializeRemoveLockEx(
        remove_lock: Lock,
        _tag: Ignored<u32>,
        _minutes: Ignored<u32>,
        _most: Ignored<u32>,
        _size: Ignored<u32>,
    ) -> Result<(), Fault> {
        lock(&kernel().io).remove_locks.holders.insert(remove_lock, Vec::new());
        remove_lock.zero()?;
        remove_lock.IoCount().write(1)
    }

    /// It fails only after the driver itself has begun to remove the device, so no failures are injected.
    #[irql(DISPATCH), keeps]
    fn IoAcquireRemoveLockEx(
        &call,
        remove_lock: Lock,
        tag: GuestPtr<Opaque>,
        _file: Ignored<GuestPtr<u8>>,
        _line: Ignored<u32>,
        _size: Ignored<u32>,
    ) -> Outcome {
        if remove_lock.Removed().read()? != 0 {
            return fail(NtStatus::DeletePending);
        }
        remove_lock.IoCount().fetch_add(1)?;
        lock(&kernel().io).remove_locks.acquired(remove_lock, tag, call.from);
        done(())
    }

    #[irql(DISPATCH)]
    fn IoReleaseRemoveLockEx(remove_lock: Lock, tag: GuestPtr<Opaque>, _size: Ignored<u32>) -> Result<(), Fault> {
        let Kernel { io, scheduler, .. } = kernel();
        if release(io, remove_lock, tag, &[]) {
            remove_lock.IoCount().fetch_sub(1)?;
            scheduler.change(|_| ());
        }
        Ok(())
    }

    #[irql(PASSIVE)]
    fn IoReleaseRemoveLockAndWaitEx(
        remove_lock: Lock,
        tag: GuestPtr<Opaque>,
        _size: Ignored<u32>,
    ) -> Result<(), Fault> {
        let Kernel { io, scheduler, .. } = kernel();
        if is_plug_and_play(io)? && !is_removing(io) {
            let breach = Rule::LockMisuse.named(Wdm::IoReleaseRemoveLockAndWaitOutsideRemoveDevice);
            verify::find(breach, format_args!("waits for the remove lock outside of IRP_MN_REMOVE_DEVICE"));
        }
        remove_lock.Removed().write(1)?;
        // One reference for the lock itself, one for the caller.
        let held = release(io, remove_lock, tag, &[Wdm::RemoveLockCheck, Wdm::RemoveLockMnRemove]);
        remove_lock.IoCount().fetch_sub(1 + u32::from(held))?;
        scheduler.wait(None, |_| is_free(remove_lock).transpose()).unwrap_or(Ok(()))
    }
}

fn is_free(remove_lock: Lock) -> Result<Option<()>, Fault> {
    Ok((remove_lock.IoCount().read()? == 0).then_some(()))
}

/// An acquired remove lock.
#[derive(Clone, Copy, Debug)]
struct Held {
    tag: GuestPtr<Opaque>,
    /// The call that acquired it.
    from: u64,
}

/// The remove locks of all devices.
#[derive(Debug, Default)]
pub(crate) struct RemoveLocks {
    holders: SortedMap<Lock, Vec<Held>>,
    /// The number of requests to remove a device that drivers are handling.
    removing: u32,
}

impl RemoveLocks {
    fn acquired(&mut self, remove_lock: Lock, tag: GuestPtr<Opaque>, from: u64) {
        self.holders.get_or_default(remove_lock).push(Held { tag, from });
    }

    /// Returns the remove locks in the memory of a device.
    fn in_device(&self, device: GuestPtr<DEVICE_OBJECT>, size: u16) -> impl Iterator<Item = (&Lock, &Vec<Held>)> {
        self.holders.range(Lock::new(device.address())..Lock::new(device.cast::<u8>().at(size.into()).address()))
    }
}

/// Releases a remove lock. Returns whether it was held. A tag that is not known is a finding, with these names.
fn release(io: &Mutex<Io>, remove_lock: Lock, tag: GuestPtr<Opaque>, names: &[Wdm]) -> bool {
    let (known, held) = {
        let mut io = lock(io);
        let Some(held) = io.remove_locks.holders.get_mut(&remove_lock) else { return true };
        let known = held.iter().rposition(|held| held.tag == tag);
        let any = known.or_else(|| held.len().checked_sub(1));
        (known.is_some(), any.map(|position| held.remove(position)).is_some())
    };
    if !known {
        let how = if held { "with a tag with which it was not acquired" } else { "that is not held" };
        let names = if names.is_empty() {
            dispatching::current().map_or(&[][..], |call| release_names(call.major))
        } else {
            names
        };
        verify::find(Breach::from(Rule::LockMisuse).named_all(names), format_args!("releases a remove lock {how}"));
    }
    held
}

/// Returns whether the driver under test has an `AddDevice` routine.
fn is_plug_and_play(io: &Mutex<Io>) -> Result<bool, Fault> {
    let driver = lock(io).driver;
    Ok(!driver.DriverExtension().read()?.AddDevice().read()?.is_null())
}

fn is_removing(io: &Mutex<Io>) -> bool {
    lock(io).remove_locks.removing != 0
}

/// Called when a dispatch routine begins.
pub(in crate::io) fn begins(call: &Dispatch) {
    if (call.major, call.minor) == (IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE) {
        lock(&kernel().io).remove_locks.removing += 1;
    }
}

/// Called when a dispatch routine has returned. Reports a lock that was acquired for an IRP, if this thread has completed
/// the IRP, and releases it, so that the run can go on.
pub(in crate::io) fn ended(call: &Dispatch) -> Result<(), Fault> {
    let Kernel { io, scheduler, .. } = kernel();
    let tag = call.irp.cast::<Opaque>();
    let leaked: Vec<(Lock, Held)> = {
        let locks = &mut lock(io).remove_locks;
        if (call.major, call.minor) == (IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE) {
            locks.removing = locks.removing.saturating_sub(1);
        }
        let all = locks.holders.iter_mut().filter(|_| call.is_completed);
        all.flat_map(|(lock, held)| held.extract_if(.., |held| held.tag == tag).map(|held| (*lock, held))).collect()
    };
    for (remove_lock, held) in leaked {
        let breach = Breach::from(Rule::LockLeak).named_all(release_names(call.major));
        let what = format_args!("completes the IRP without releasing the remove lock that it acquired for it");
        verify::find_at(breach, Some("IoAcquireRemoveLockEx"), held.from, what);
        remove_lock.IoCount().fetch_sub(1)?;
        scheduler.change(|_| ());
    }
    Ok(())
}

/// Checks that a driver which passes on an IRP holds the remove lock of its device, if it has one.
pub(in crate::io) fn check_sent(call: &Dispatch) -> Result<(), Fault> {
    // A framework that is an image of its own passes on requests; its remove lock is for plug and play only.
    if thread::site().is_some_and(|site| image::is_other(site.from)) {
        return Ok(());
    }
    // The memory of a deleted device may be gone.
    let Ok(size) = call.device.Size().read() else { return Ok(()) };
    let locks: Vec<(Lock, bool)> = {
        let io = lock(&kernel().io);
        io.remove_locks.in_device(call.device, size).map(|(lock, held)| (*lock, held.is_empty())).collect()
    };
    for (remove_lock, is_unheld) in &locks {
        // A driver that has already waited for the lock passes on the request without it.
        if !is_unheld || remove_lock.Removed().read()? != 0 {
            return Ok(());
        }
    }
    if !locks.is_empty() {
        let breach = Breach::from(Rule::LockMisuse).named_all(forward_names(call));
        verify::find(breach, format_args!("passes on an IRP without holding the remove lock of the device"));
    }
    Ok(())
}

/// Returns the rules about a remove lock that is not released, for a major function.
const fn release_names(major: u8) -> &'static [Wdm] {
    use Wdm as W;
    match major {
        IRP_MJ_CREATE => &[W::RemoveLockRelease2, W::RemoveLockReleaseCreate],
        IRP_MJ_CLOSE => &[W::RemoveLockRelease2, W::RemoveLockReleaseClose],
        IRP_MJ_READ => &[W::RemoveLockRelease2, W::RemoveLockReleaseRead],
        IRP_MJ_WRITE => &[W::RemoveLockRelease2, W::RemoveLockReleaseWrite],
        IRP_MJ_DEVICE_CONTROL => &[W::RemoveLockRelease2, W::RemoveLockReleaseDeviceControl],
        IRP_MJ_INTERNAL_DEVICE_CONTROL => &[W::RemoveLockRelease2, W::RemoveLockReleaseInternalDeviceControl],
        IRP_MJ_SHUTDOWN => &[W::RemoveLockRelease2, W::RemoveLockReleaseShutdown],
        IRP_MJ_CLEANUP => &[W::RemoveLockRelease2, W::RemoveLockReleaseCleanup],
        IRP_MJ_POWER => &[W::RemoveLock, W::RemoveLockRelease2, W::RemoveLockReleasePower],
        IRP_MJ_SYSTEM_CONTROL => &[W::RemoveLockRelease2, W::RemoveLockReleaseSystemControl],
        IRP_MJ_PNP => &[W::RemoveLock, W::RemoveLockRelease2, W::RemoveLockReleasePnp],
        _ => &[W::RemoveLockRelease2],
    }
}

/// Returns the rules about a request that is passed on without the lock.
const fn forward_names(call: &Dispatch) -> &'static [Wdm] {
    use Wdm as W;
    match (call.major, call.minor) {
        (IRP_MJ_READ, _) => &[W::RemoveLockForwardRead, W::RemoveLockForwardRead2],
        (IRP_MJ_WRITE, _) => &[W::RemoveLockForwardWrite, W::RemoveLockForwardWrite2],
        (IRP_MJ_DEVICE_CONTROL, _) => &[W::RemoveLockForwardDeviceControl, W::RemoveLockForwardDeviceControl2],
        (IRP_MJ_INTERNAL_DEVICE_CONTROL, _) => {
            &[W::RemoveLockForwardDeviceControlInternal, W::RemoveLockForwardDeviceControlInternal2]
        }
        (IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE) => &[W::RemoveLockMnRemove2],
        (IRP_MJ_PNP, IRP_MN_SURPRISE_REMOVAL) => &[W::RemoveLockMnSurpriseRemove],
        (IRP_MJ_PNP, IRP_MN_QUERY_REMOVE_DEVICE) => &[W::RemoveLockQueryMnRemove],
        _ => &[W::RemoveLockForward, W::RemoveLockForward2],
    }
}
