//! Handles and references to objects.

use std::collections::BTreeMap;

use super::routine::{ANY, APC, DISPATCH, PASSIVE, Routine, routine};
use super::{events, kernel, lock};
use crate::memory::guest;
use crate::verify::{self, Rule};

const INVALID_HANDLE: u64 = 0xC000_0008;
/// Kernel handles have their highest bits set.
const FIRST: u64 = 0xFFFF_FFFF_8000_0004;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ZwClose", PASSIVE, |call| close(call.arg(0))),
    routine("NtClose", PASSIVE, |call| close(call.arg(0))),
    routine("ObCloseHandle", PASSIVE, |call| close(call.arg(0))),
    routine("ObReferenceObjectByHandle", PASSIVE, |call| match by_handle(call.arg(0)) {
        Some(object) => {
            guest::write(call.arg(4), object);
            reference(object, call.from);
            0
        }
        None => INVALID_HANDLE,
    })
    .fails(0xC000_0008),
    routine("ObReferenceObjectByPointer", DISPATCH, |call| {
        reference(call.arg(0), call.from);
        0
    })
    .fails(0xC000_0022),
    routine("ObfReferenceObject", DISPATCH, |call| reference(call.arg(0), call.from)),
    routine("ObReferenceObject", DISPATCH, |call| reference(call.arg(0), call.from)),
    routine("ObfDereferenceObject", DISPATCH, |call| dereference(call.arg(0))),
    routine("ObDereferenceObject", DISPATCH, |call| dereference(call.arg(0))),
    routine("ObDereferenceObjectDeferDelete", DISPATCH, |call| dereference(call.arg(0))),
    routine("ZwCreateEvent", PASSIVE, |call| {
        let event = lock(&kernel().pool).object(0x18);
        events::initialize(event, call.u8(3), i32::from(call.is(4)));
        let handle = open("event", event, call.from);
        guest::write(call.arg(0), handle);
        0
    })
    .fails(0xC000_009A),
    routine("IoCreateNotificationEvent", PASSIVE, |call| named_event(call.arg(1), 0, call.from)).fails_with_zero(),
    routine("IoCreateSynchronizationEvent", PASSIVE, |call| named_event(call.arg(1), 1, call.from)).fails_with_zero(),
    routine("ExGetPreviousMode", ANY, |_| 0).fixed(),
    routine("ObGetObjectSecurity", APC, |call| {
        guest::write(call.arg(1), 0_u64);
        guest::write(call.arg(2), 0_u8);
        0
    })
    .fixed(),
];

struct Handle {
    kind: &'static str,
    object: u64,
    from: u64,
}

/// The handle table, and references that the driver holds.
#[derive(Default)]
pub(crate) struct Objects {
    handles: BTreeMap<u64, Handle>,
    opened: u64,
    /// By object: how many references, and who took the first.
    references: BTreeMap<u64, (i64, u64)>,
}

/// Opens a handle to an object.
pub(crate) fn open(kind: &'static str, object: u64, from: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let handle = FIRST + objects.opened * 4;
    objects.opened += 1;
    objects.handles.insert(handle, Handle { kind, object, from });
    handle
}

/// The object of a handle.
pub(crate) fn by_handle(handle: u64) -> Option<u64> {
    lock(&kernel().objects).handles.get(&handle).map(|handle| handle.object)
}

/// Closes a handle.
pub(crate) fn close(handle: u64) -> u64 {
    if lock(&kernel().objects).handles.remove(&handle).is_some() {
        return 0;
    }
    verify::find(Rule::BadArgument, format_args!("{handle:#x} is no open handle"));
    INVALID_HANDLE
}

/// The driver has one more reference to an object.
pub(super) fn reference(object: u64, from: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let entry = objects.references.entry(object).or_insert((0, from));
    entry.0 += 1;
    entry.0.cast_unsigned() + 1
}

fn dereference(object: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let entry = objects.references.entry(object).or_insert((0, 0));
    entry.0 -= 1;
    let left = entry.0;
    if left <= 0 {
        objects.references.remove(&object);
    }
    drop(objects);
    if left < 0 {
        verify::find(Rule::BadArgument, format_args!("an object without a reference of the driver is dereferenced"));
    }
    left.max(0).cast_unsigned()
}

fn named_event(handle: u64, kind: u8, from: u64) -> u64 {
    let event = lock(&kernel().pool).object(0x18);
    events::initialize(event, kind, 1);
    guest::write(handle, open("event", event, from));
    event
}

impl Objects {
    /// Reports what was not closed, and forgets it.
    pub(crate) fn report_leaks(&mut self) {
        for (_, handle) in std::mem::take(&mut self.handles) {
            let kind = handle.kind;
            verify::find_at(Rule::HandleLeak, None, handle.from, format_args!("a handle is not closed ({kind})"));
        }
        for (_, (count, from)) in std::mem::take(&mut self.references) {
            let what = format_args!("{count} references to an object are not given back");
            verify::find_at(Rule::ObjectLeak, None, from, what);
        }
    }
}
