//! Event objects, with or without a name.

use etw_types::NtStatus;
use nt_processor::layout::{KEVENT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Call, Failure, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, routines};
use windows_constants::object::{NotificationEvent, OBJ_OPENIF, SynchronizationEvent};

use super::handle::KernelHandle;
use super::namespace::{self, EVENT};
use super::object;
use crate::{Kernel, kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwCreateEvent(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        kind: i32,
        state: bool,
    ) -> Outcome<NtStatus> {
        let make = || new_event(kind.cast_unsigned() as u8, state);
        let (event, status) = namespace::create(attributes, EVENT, call.from, make)?;
        place.set(object::open_counted(EVENT, event, call.from)?)?;
        done(status)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwOpenEvent(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    ) -> Outcome {
        let event = namespace::open(attributes, EVENT)?;
        place.set(object::open(EVENT, event, call.from)?)?;
        done(())
    }

    #[irql(PASSIVE), fails_with_zero]
    fn IoCreateNotificationEvent(
        &call,
        name: GuestPtr<UNICODE_STRING>,
        place: Out<KernelHandle>,
    ) -> Result<GuestPtr<KEVENT>, Fault> {
        named_event(call, name, place, NotificationEvent)
    }

    #[irql(PASSIVE), fails_with_zero]
    fn IoCreateSynchronizationEvent(
        &call,
        name: GuestPtr<UNICODE_STRING>,
        place: Out<KernelHandle>,
    ) -> Result<GuestPtr<KEVENT>, Fault> {
        named_event(call, name, place, SynchronizationEvent)
    }
}

fn new_event(kind: u8, state: bool) -> Outcome<u64> {
    let event: GuestPtr<KEVENT> = lock(&kernel().pool).try_new_object()?;
    event.Header().initialize(kind, state.into())?;
    Ok(event.address())
}

/// Creates a signaled event, or opens the one with this name.
fn named_event(
    call: &Call,
    name: GuestPtr<UNICODE_STRING>,
    place: Out<KernelHandle>,
    kind: u8,
) -> Result<GuestPtr<KEVENT>, Fault> {
    let (event, handle) = match create_or_open(call, name, kind) {
        Ok(opened) => opened,
        // The routine has no status; it returns NULL.
        Err(Failure::Status(_)) => (0, KernelHandle::default()),
        Err(Failure::Fault(fault)) => return Err(fault),
    };
    place.set(handle)?;
    Ok(GuestPtr::new(event))
}

fn create_or_open(call: &Call, name: GuestPtr<UNICODE_STRING>, kind: u8) -> Outcome<(u64, KernelHandle)> {
    let Kernel { pool, .. } = kernel();
    let attributes: GuestPtr<OBJECT_ATTRIBUTES> = lock(pool).try_new_object()?;
    attributes.ObjectName().write(name)?;
    attributes.Attributes().write(OBJ_OPENIF)?;
    let created = namespace::create(attributes, EVENT, call.from, || new_event(kind, true));
    lock(pool).free_object(attributes.address());
    let (event, _) = created?;
    Ok((event, object::open_counted(EVENT, event, call.from)?))
}
