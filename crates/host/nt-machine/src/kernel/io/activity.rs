//! Activity ids of I/O requests and of threads (Windows 8 and later).
//!
//! The engine keeps the ids of requests. A thread's id stays in memory of the driver, which is why Windows returns the previous
//! address: the driver must restore it before it returns. Events of the I/O manager's own provider are not modelled.

use etw_types::{Guid, NtStatus};

use crate::cpu::thread;
use crate::kernel::{kernel, lock};
use crate::layout::{GUID, IRP};
use crate::memory::GuestPtr;
use crate::routine::{ANY, Call, Outcome, Routine, done, fixed, routine};

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: IRP, id.
    routine!("IoGetActivityIdIrp", ANY, |call| {
        let Some(id) = kernel().engine.irp_activity(call.arg(0)) else { return Ok(NtStatus::NotFound) };
        call.ptr::<GUID>(1).set_id(id)?;
        done(NtStatus::Success)
    }),
    routine!("IoSetActivityIdIrp", ANY, set),
    routine!("IoGetActivityIdThread", ANY, |_| of_thread()),
    routine!("IoSetActivityIdThread", ANY, |call| replace_for_thread(call.ptr(0))),
    routine!("IoClearActivityIdThread", ANY, |call| {
        replace_for_thread(call.ptr(0));
        done(())
    }),
    routine!("IoPropagateActivityIdToThread", ANY, propagate),
    // Arguments: id, related id. It writes an event of the I/O manager's provider, which no session of this host enables.
    fixed("IoTransferActivityId", ANY, 0),
];

/// Gives a request of a client an id, if the configuration says that a session traces I/O activities. Otherwise removes the id of
/// an earlier request at the same address.
pub(super) fn begin(request: GuestPtr<IRP>) {
    let engine = &kernel().engine;
    engine.set_irp_activity(request.address(), kernel().config.request_activities.then(|| engine.create_activity()));
}

/// Removes the id of a request that ends.
pub(super) fn end(request: GuestPtr<IRP>) {
    kernel().engine.set_irp_activity(request.address(), None);
}

/// Without an id, takes that of the thread, if this thread sent the request.
fn set(call: &Call) -> Outcome<NtStatus> {
    let request = call.ptr::<IRP>(0);
    let id: Option<Guid> = match call.ptr::<GUID>(1).non_null() {
        Some(id) => Some(id.id()?),
        None if request.Thread().read()? == thread::object() => of_thread().non_null().map(GuestPtr::id).transpose()?,
        None => None,
    };
    let Some(id) = id else { return Ok(NtStatus::NotSupported) };
    kernel().engine.set_irp_activity(request.address(), Some(id));
    Ok(NtStatus::Success)
}

/// Arguments: IRP, memory for the id, the previous address.
fn propagate(call: &Call) -> Outcome<NtStatus> {
    let Some(id) = kernel().engine.irp_activity(call.arg(0)) else { return Ok(NtStatus::NotFound) };
    let place = call.ptr::<GUID>(1);
    place.set_id(id)?;
    call.ptr::<GuestPtr<GUID>>(2).write(replace_for_thread(place))?;
    Ok(NtStatus::Success)
}

fn of_thread() -> GuestPtr<GUID> {
    lock(&kernel().io).thread_activities.get(&thread::number()).copied().unwrap_or_default()
}

/// Sets the address of the thread's id; NULL removes it. Returns the previous address.
fn replace_for_thread(id: GuestPtr<GUID>) -> GuestPtr<GUID> {
    let mut io = lock(&kernel().io);
    let before = match id.non_null() {
        Some(id) => io.thread_activities.insert(thread::number(), id),
        None => io.thread_activities.remove(&thread::number()),
    };
    before.unwrap_or_default()
}
