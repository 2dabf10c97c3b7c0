//! Event objects, with or without a name.

use etw_types::NtStatus;

use super::namespace::{self, EVENT};
use super::object::{self, KernelHandle};
use crate::kernel::{kernel, lock};
use crate::layout::{KEVENT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{Call, Failure, NO_RESOURCES, Outcome, PASSIVE, Routine, done, routine};

/// `NotificationEvent`, `SynchronizationEvent`.
const NOTIFICATION: u8 = 0;
const SYNCHRONIZATION: u8 = 1;
/// `OBJ_OPENIF`.
const OPEN_IF: u32 = 0x80;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: pointer to the handle, access, attributes, type, state.
    routine!("ZwCreateEvent", PASSIVE, |call| {
        let make = || new_event(call.u8(3), call.is(4));
        let (event, status) = namespace::create(call.ptr(2), EVENT, call.from, make)?;
        call.ptr(0).write(object::open_counted(EVENT, event, call.from)?)?;
        done(status)
    })
    .fails(NO_RESOURCES),
    // Arguments: pointer to the handle, access, attributes.
    routine!("ZwOpenEvent", PASSIVE, |call| {
        let event = namespace::open(call.ptr(2), EVENT)?;
        call.ptr(0).write(object::open(EVENT, event, call.from)?)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateNotificationEvent", PASSIVE, |call| named_event(call, NOTIFICATION)).fails_with_zero(),
    routine!("IoCreateSynchronizationEvent", PASSIVE, |call| named_event(call, SYNCHRONIZATION)).fails_with_zero(),
];

fn new_event(kind: u8, state: bool) -> Outcome<u64> {
    let event: GuestPtr<KEVENT> = lock(&kernel().pool).try_new_object()?;
    event.Header().initialize(kind, state.into())?;
    Ok(event.address())
}

/// Creates a signaled event, or opens the one with this name. Arguments: name, pointer to the handle.
fn named_event(call: &Call, kind: u8) -> Result<GuestPtr<KEVENT>, Fault> {
    let (event, handle) = match create_or_open(call, kind) {
        Ok(opened) => opened,
        // The routine has no status; it returns NULL.
        Err(Failure::Status(_)) => (0, KernelHandle::default()),
        Err(Failure::Fault(fault)) => return Err(fault),
    };
    call.ptr(1).write(handle)?;
    Ok(GuestPtr::new(event))
}

fn create_or_open(call: &Call, kind: u8) -> Outcome<(u64, KernelHandle)> {
    let attributes: GuestPtr<OBJECT_ATTRIBUTES> = lock(&kernel().pool).try_new_object()?;
    attributes.ObjectName().write(call.ptr::<UNICODE_STRING>(0))?;
    attributes.Attributes().write(OPEN_IF)?;
    let created = namespace::create(attributes, EVENT, call.from, || new_event(kind, true));
    lock(&kernel().pool).free_object(attributes.address());
    let (event, _) = created?;
    Ok((event, object::open_counted(EVENT, event, call.from)?))
}
