//! Handles and references to objects.

use std::collections::BTreeMap;

use etw_types::NtStatus;

use crate::kernel::{kernel, lock};
use crate::layout::KEVENT;
use crate::memory::{Fault, GuestPtr, Plain};
use crate::routine::{
    ANY, APC, Call, DISPATCH, IntoReply, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, fixed, routine,
};
use crate::verify::{self, Rule};

/// `HANDLE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct KernelHandle(u64);

// SAFETY: a transparent u64.
unsafe impl Plain for KernelHandle {}

impl KernelHandle {
    /// Kernel handles have their highest bits set.
    const FIRST: u64 = 0xFFFF_FFFF_8000_0004;

    pub(crate) const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The handle that was opened after `count` others.
    const fn after(count: u64) -> Self {
        Self(Self::FIRST + count * 4)
    }
}

impl IntoReply for KernelHandle {
    fn into_reply(self) -> Result<u64, Fault> {
        Ok(self.0)
    }
}

impl Call {
    /// A handle of the kernel.
    pub(crate) fn kernel_handle(&self, index: u64) -> KernelHandle {
        KernelHandle(self.arg(index))
    }
}

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ZwClose", PASSIVE, |call| close(call.kernel_handle(0))),
    routine!("NtClose", PASSIVE, |call| close(call.kernel_handle(0))),
    routine!("ObCloseHandle", PASSIVE, |call| close(call.kernel_handle(0))),
    routine!("ObReferenceObjectByHandle", PASSIVE, |call| match by_handle(call.kernel_handle(0)) {
        Some(object) => {
            call.ptr(4).write(object)?;
            reference(object, call.from);
            done(())
        }
        None => fail(NtStatus::InvalidHandle),
    })
    .fails(NtStatus::InvalidHandle),
    routine!("ObReferenceObjectByPointer", DISPATCH, |call| {
        reference(call.arg(0), call.from);
    })
    .fails(NtStatus::AccessDenied),
    routine!("ObfReferenceObject", DISPATCH, |call| reference(call.arg(0), call.from)),
    routine!("ObReferenceObject", DISPATCH, |call| reference(call.arg(0), call.from)),
    routine!("ObfDereferenceObject", DISPATCH, |call| dereference(call.arg(0))),
    routine!("ObDereferenceObject", DISPATCH, |call| dereference(call.arg(0))),
    routine!("ObDereferenceObjectDeferDelete", DISPATCH, |call| dereference(call.arg(0))),
    // Arguments: place for the handle, access, attributes, kind, state.
    routine!("ZwCreateEvent", PASSIVE, |call| {
        let event = new_event(call.u8(3), call.is(4))?;
        call.ptr(0).write(open("event", event.address(), call.from))
    })
    .fails(NO_RESOURCES),
    routine!("IoCreateNotificationEvent", PASSIVE, |call| named_event(call, 0)).fails_with_zero(),
    routine!("IoCreateSynchronizationEvent", PASSIVE, |call| named_event(call, 1)).fails_with_zero(),
    fixed("ExGetPreviousMode", ANY, 0),
    routine!("ObGetObjectSecurity", APC, |call| {
        call.ptr(1).write(0_u64)?;
        call.ptr(2).write(0_u8)
    })
    .fixed(),
];

struct Handle {
    kind: &'static str,
    object: u64,
    from: u64,
}

/// References of the driver to an object, and the driver's code that took the first.
struct References {
    count: i64,
    from: u64,
}

/// The handle table, and references that the driver holds.
#[derive(Default)]
pub(crate) struct Objects {
    handles: BTreeMap<KernelHandle, Handle>,
    opened: u64,
    references: BTreeMap<u64, References>,
}

/// Opens a handle to an object.
pub(crate) fn open(kind: &'static str, object: u64, from: u64) -> KernelHandle {
    let mut objects = lock(&kernel().objects);
    let handle = KernelHandle::after(objects.opened);
    objects.opened += 1;
    objects.handles.insert(handle, Handle { kind, object, from });
    handle
}

/// The object of a handle.
pub(crate) fn by_handle(handle: KernelHandle) -> Option<u64> {
    lock(&kernel().objects).handles.get(&handle).map(|handle| handle.object)
}

/// Closes a handle.
pub(crate) fn close(handle: KernelHandle) -> NtStatus {
    if lock(&kernel().objects).handles.remove(&handle).is_some() {
        return NtStatus::Success;
    }
    verify::find(Rule::BadArgument, format_args!("{:#x} is no open handle", handle.0));
    NtStatus::InvalidHandle
}

/// The driver has one more reference to an object.
pub(crate) fn reference(object: u64, from: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let entry = objects.references.entry(object).or_insert(References { count: 0, from });
    entry.count += 1;
    entry.count.cast_unsigned() + 1
}

fn dereference(object: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let entry = objects.references.entry(object).or_insert(References { count: 0, from: 0 });
    entry.count -= 1;
    let left = entry.count;
    if left <= 0 {
        objects.references.remove(&object);
    }
    drop(objects);
    if left < 0 {
        verify::find(Rule::BadArgument, format_args!("an object without a reference of the driver is dereferenced"));
    }
    left.max(0).cast_unsigned()
}

fn new_event(kind: u8, state: bool) -> Result<GuestPtr<KEVENT>, Fault> {
    let event: GuestPtr<KEVENT> = lock(&kernel().pool).new_object();
    event.Header().initialize(kind, state.into())?;
    Ok(event)
}

/// Arguments: name, place for the handle.
fn named_event(call: &Call, kind: u8) -> Outcome<GuestPtr<KEVENT>> {
    let event = new_event(kind, true)?;
    call.ptr(1).write(open("event", event.address(), call.from))?;
    Ok(event)
}

impl Objects {
    /// Reports what was not closed, and forgets it.
    pub(crate) fn report_leaks(&mut self) {
        for (_, Handle { kind, from, .. }) in std::mem::take(&mut self.handles) {
            verify::find_at(Rule::HandleLeak, None, from, format_args!("a handle is not closed ({kind})"));
        }
        for (_, References { count, from }) in std::mem::take(&mut self.references) {
            let what = format_args!("{count} references to an object are not given back");
            verify::find_at(Rule::ObjectLeak, None, from, what);
        }
    }
}
