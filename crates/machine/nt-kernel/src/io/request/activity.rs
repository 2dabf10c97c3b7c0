//! Activity ids of I/O requests and of threads (Windows 8 and later).
//!
//! The engine keeps the ids of requests. A thread's id stays in memory of the driver, which is why Windows returns the previous
//! address: the driver must restore it before it returns. Events of the I/O manager's own provider are not modelled.

use std::sync::Mutex;

use etw_types::{Guid, NtStatus};
use nt_processor::cpu::thread;
use nt_processor::layout::{GUID, IRP};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, Ignored, Out, routines};

use crate::io::request::Io;
use crate::{Kernel, kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn IoGetActivityIdIrp(request: GuestPtr<IRP>, place: GuestPtr<GUID>) -> Result<NtStatus, Fault> {
        let Some(id) = kernel().engine.irp_activity(request.address()) else { return Ok(NtStatus::NotFound) };
        place.set_id(id)?;
        Ok(NtStatus::Success)
    }

    #[irql(ANY)]
    fn IoSetActivityIdIrp(request: GuestPtr<IRP>, id: Option<GuestPtr<GUID>>) -> Result<NtStatus, Fault> {
        set(request, id)
    }

    #[irql(ANY)]
    fn IoGetActivityIdThread() -> GuestPtr<GUID> {
        let Kernel { io, .. } = kernel();
        of_thread(io)
    }

    #[irql(ANY)]
    fn IoSetActivityIdThread(id: GuestPtr<GUID>) -> GuestPtr<GUID> {
        replace_for_thread(id)
    }

    #[irql(ANY)]
    fn IoClearActivityIdThread(original: GuestPtr<GUID>) {
        replace_for_thread(original);
    }

    #[irql(ANY)]
    fn IoPropagateActivityIdToThread(
        request: GuestPtr<IRP>,
        place: GuestPtr<GUID>,
        original: Out<GuestPtr<GUID>>,
    ) -> Result<NtStatus, Fault> {
        let Some(id) = kernel().engine.irp_activity(request.address()) else { return Ok(NtStatus::NotFound) };
        place.set_id(id)?;
        original.set(replace_for_thread(place))?;
        Ok(NtStatus::Success)
    }

    /// It writes an event of the I/O manager's provider, which no session of this host enables.
    #[irql(ANY), fixed]
    fn IoTransferActivityId(_id: Ignored<GuestPtr<GUID>>, _related: Ignored<GuestPtr<GUID>>) {}
}

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
fn set(request: GuestPtr<IRP>, id: Option<GuestPtr<GUID>>) -> Result<NtStatus, Fault> {
    let Kernel { engine, io, .. } = kernel();
    let id: Option<Guid> = match id {
        Some(id) => Some(id.id()?),
        None if request.Thread().read()? == thread::object() => {
            of_thread(io).non_null().map(GuestPtr::id).transpose()?
        }
        None => None,
    };
    let Some(id) = id else { return Ok(NtStatus::NotSupported) };
    engine.set_irp_activity(request.address(), Some(id));
    Ok(NtStatus::Success)
}

fn of_thread(io: &Mutex<Io>) -> GuestPtr<GUID> {
    lock(io).thread_activities.get(&thread::number()).copied().unwrap_or_default()
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
