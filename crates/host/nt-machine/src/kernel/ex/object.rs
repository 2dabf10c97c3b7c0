//! Handles and references to objects.

use std::collections::BTreeMap;

use etw_types::NtStatus;

use crate::cpu::thread;
use crate::kernel::{kernel, lock};
use crate::layout::KEVENT;
use crate::memory::{Fault, GuestPtr, Opaque, Plain};
use crate::routine::{
    ANY, APC, Call, DISPATCH, IntoReply, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, fixed, routine,
};
use crate::verify::{self, Rule};

/// `DUPLICATE_CLOSE_SOURCE`.
const CLOSE_SOURCE: u32 = 1;

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
    routine!("ObReferenceObjectByHandle", PASSIVE, by_handle_and_type).fails(NtStatus::InvalidHandle),
    // Arguments: process, handle, process to copy into, place for the new handle, access, attributes, options.
    routine!("ZwDuplicateObject", PASSIVE, |call| {
        let known = lock(&kernel().objects).handles.get(&call.kernel_handle(1)).map(|known| (known.kind, known.object));
        let Some((kind, object)) = known else { return fail(NtStatus::InvalidHandle) };
        call.ptr(3).write(open(kind, object, call.from))?;
        if call.u32(6) & CLOSE_SOURCE != 0 {
            close(call.kernel_handle(1));
        }
        done(())
    })
    .fails(NtStatus::InvalidHandle),
    // Arguments: object, attributes, access state, access, type, mode, place for the handle.
    routine!("ObOpenObjectByPointer", PASSIVE, |call| { call.ptr(6).write(open("object", call.arg(0), call.from)) })
        .fails(NtStatus::AccessDenied),
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

/// What becomes of an object that nobody has open, and that nobody refers to.
#[derive(Clone, Copy)]
pub(crate) struct Lifetime {
    pub(crate) last_handle: fn(u64),
    pub(crate) last_reference: fn(u64),
}

/// The handle table, and references that the driver holds.
#[derive(Default)]
pub(crate) struct Objects {
    /// Objects that end when nobody uses them any more.
    managed: BTreeMap<u64, Lifetime>,
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

/// From now on an object ends when nobody uses it any more.
pub(crate) fn manage(object: u64, lifetime: Lifetime) {
    lock(&kernel().objects).managed.insert(object, lifetime);
}

/// The object of a handle, if it is of a kind.
pub(crate) fn of_kind(handle: KernelHandle, kind: &str) -> Option<u64> {
    let objects = lock(&kernel().objects);
    objects.handles.get(&handle).filter(|handle| handle.kind == kind).map(|handle| handle.object)
}

/// The object of a handle.
pub(crate) fn by_handle(handle: KernelHandle) -> Option<u64> {
    lock(&kernel().objects).handles.get(&handle).map(|handle| handle.object)
}

/// Closes a handle.
pub(crate) fn close(handle: KernelHandle) -> NtStatus {
    let closed = lock(&kernel().objects).handles.remove(&handle);
    if let Some(closed) = closed {
        if !is_open(closed.object)
            && let Some(lifetime) = lifetime(closed.object)
        {
            (lifetime.last_handle)(closed.object);
            end_if_unused(closed.object);
        }
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
    if left == 0 {
        end_if_unused(object);
    }
    if left < 0 {
        verify::find(Rule::BadArgument, format_args!("an object without a reference of the driver is dereferenced"));
    }
    left.max(0).cast_unsigned()
}

/// The object of the system's process.
fn exports_process() -> u64 {
    kernel().table.variables().process().address()
}

/// The variable that points to the type of handles of a kind.
fn type_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "event" => "ExEventObjectType",
        "process" => "PsProcessType",
        "file" => "IoFileObjectType",
        "key" => "CmKeyObjectType",
        "thread" => "PsThreadType",
        _ => return None,
    })
}

/// Arguments: handle, access, type or NULL, mode, place for the object, place for information about the handle.
fn by_handle_and_type(call: &Call) -> Outcome {
    let known = lock(&kernel().objects).handles.get(&call.kernel_handle(0)).map(|known| (known.kind, known.object));
    let (kind, object) = match (known, call.arg(0)) {
        (Some(known), _) => known,
        // NtCurrentProcess and NtCurrentThread.
        (None, u64::MAX) => ("process", exports_process()),
        (None, 0xFFFF_FFFF_FFFF_FFFE) => ("thread", thread::object().address()),
        (None, _) => return fail(NtStatus::InvalidHandle),
    };
    if let (Some(wanted), Some(own)) = (call.ptr::<Opaque>(2).non_null(), type_of(kind))
        && kernel().table.variables().object_type(own)? != wanted
    {
        return fail(NtStatus::ObjectTypeMismatch);
    }
    call.ptr(4).write(object)?;
    reference(object, call.from);
    Ok(())
}

fn lifetime(object: u64) -> Option<Lifetime> {
    lock(&kernel().objects).managed.get(&object).copied()
}

/// Whether there is a handle to an object.
fn is_open(object: u64) -> bool {
    lock(&kernel().objects).handles.values().any(|handle| handle.object == object)
}

/// Ends an object without handles and references. No lock is held while its driver is told.
fn end_if_unused(object: u64) {
    let ended = {
        let mut objects = lock(&kernel().objects);
        let used =
            objects.references.contains_key(&object) || objects.handles.values().any(|handle| handle.object == object);
        if used { None } else { objects.managed.remove(&object) }
    };
    if let Some(lifetime) = ended {
        (lifetime.last_reference)(object);
    }
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
