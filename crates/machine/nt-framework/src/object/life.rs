//! Objects from their creation by the driver to their deletion: contexts, references, cleanup and destruction.
//!
//! Microsoft's documentation of `EvtDestroyCallback` gives the order: the cleanup of the children, the cleanup of the
//! parent, the destruction of the children that have no references, the destruction of the parent. Siblings are cleaned
//! up and destroyed in the order of their creation, queues first: `shared/object/fxobject.cpp` adds a child at the tail of
//! its parent's list, and `fxobjectstatemachine.cpp` walks that list from its head. Queues are children of a part of the device.

use etw_types::NtStatus;
use nt_kernel::sync::worker::submit;
use nt_kernel::{call_back, kernel};
use nt_processor::cpu::thread;
use nt_processor::layout::{GUID, WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{ANY, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::object::attributes::{Attributes, ContextType, Options};
use crate::object::kind::{Farewell, Kind, Object};
use crate::object::{change, change_if_exists, create, created, lookup};
use crate::request::Request;
use crate::state::{Framework, with};
use crate::{Handle, device, queue};

functions! { pub(crate) FUNCTIONS;
    #[irql(ANY)]
    fn WdfObjectGetTypedContextWorker(
        object: Handle,
        info: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        let wanted = ContextType::read(info)?.unique;
        Ok(lookup(object, |object| object.context(wanted)))
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfObjectAllocateContext(
        object: Handle,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: Out<GuestPtr<u8>>,
    ) -> Outcome {
        allocate_context(object, attributes, place)
    }

    #[irql(ANY)]
    fn WdfObjectContextGetObject(context: GuestPtr<u8>) -> Handle {
        with(|framework| {
            let has = |object: &Object| object.contexts.iter().any(|(_, memory)| *memory == context);
            framework.objects.iter().find(|(_, object)| has(object)).map_or(Handle::NULL, |(handle, _)| *handle)
        })
    }

    #[irql(DISPATCH)]
    fn WdfObjectReferenceActual(
        object: Handle,
        _tag: Ignored<GuestPtr<Opaque>>,
        _line: Ignored<i32>,
        _file: Ignored<GuestPtr<u8>>,
    ) {
        change(object, |object| object.references += 1);
    }

    #[irql(DISPATCH)]
    fn WdfObjectDereferenceActual(
        object: Handle,
        _tag: Ignored<GuestPtr<Opaque>>,
        _line: Ignored<i32>,
        _file: Ignored<GuestPtr<u8>>,
    ) {
        dereference(object);
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfObjectCreate(&call, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, place: GuestPtr<Handle>) -> Outcome {
        created(create(call, attributes, None, General), place)
    }

    #[irql(DISPATCH)]
    fn WdfObjectDelete(object: Handle) {
        if let Some(kind) = deleted_by_framework(object) {
            verify::find(Rule::FrameworkMisuse, format_args!("deletes an object that only the framework deletes: {kind}"));
        } else if !device::stays_open(object) {
            delete(object);
        }
    }

    /// Drivers here have no way to give an object a type that this function would find.
    #[irql(DISPATCH), fixed]
    fn WdfObjectQuery(
        object: Handle,
        _kind: Ignored<GuestPtr<GUID>>,
        _length: Ignored<u32>,
        _place: Ignored<GuestPtr<Opaque>>,
    ) -> NtStatus {
        lookup(object, |_| ());
        NtStatus::ObjectNameNotFound
    }
}

/// An object without a purpose of its own.
struct General;

impl Kind for General {
    fn name(&self) -> &'static str {
        "general object"
    }

    fn options(&self) -> Options {
        Options { level: true, ..Options::default() }
    }
}

/// The minor version of the first framework that refuses a parent for a context (`shared/object/handleapi.cpp`).
const PARENT_REFUSED: u32 = 11;

fn allocate_context(object: Handle, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, place: Out<GuestPtr<u8>>) -> Outcome {
    if attributes.is_null() {
        return fail(NtStatus::WdfParentNotSpecified);
    }
    let is_checked = with(|framework| framework.bound.is_some_and(|bound| bound.minor >= PARENT_REFUSED));
    let options = if is_checked { Options::WITHOUT_PARENT } else { Options::default() };
    let attributes = Attributes::read(attributes, options)?;
    let Some(context) = attributes.context else { return fail(NtStatus::InvalidParameter) };
    if let Some(memory) = lookup(object, |object| object.context(context.unique)) {
        place.set_if_wanted(memory)?;
        return fail(NtStatus::ObjectNameExists);
    }
    let memory: GuestPtr<u8> = nt_kernel::lock(&kernel().pool).new_objects(context.size.max(1));
    if memory.is_null() {
        return fail(NO_RESOURCES);
    }
    change(object, |object| {
        object.contexts.push((context.unique, memory));
        object.farewells.push(Farewell { cleanup: attributes.cleanup, destroy: attributes.destroy });
    });
    place.set_if_wanted(memory)?;
    Ok(())
}

/// Returns the name of an object's kind if drivers must not delete the object. As in Microsoft's framework, an attempt to
/// delete one has no effect.
fn deleted_by_framework(handle: Handle) -> Option<&'static str> {
    let (kind, is_kept) = lookup(handle, |object| (object.data.name(), object.data.is_kept()));
    (is_kept || queue::is_fed(handle)).then_some(kind)
}

/// Releases a reference. An object that was deleted before is destroyed with the last one.
pub(crate) fn dereference(handle: Handle) {
    let left = change(handle, |object| {
        object.references -= 1;
        let references = object.references;
        if let Some(request) = object.get_mut::<Request>() {
            request.found = request.found.min(references.max(0).cast_unsigned());
        }
        (references, object.released)
    });
    match left {
        (..0, _) => verify::find(
            Rule::FrameworkMisuse,
            format_args!("dereferences an object more often than it was referenced"),
        ),
        (0, true) => end_of_references(handle),
        _ => {}
    }
}

/// Destroys an object that was deleted before, when its last reference is gone. As `FxObject::FinalRelease`, it does so at passive
/// level if the object is cleaned up there, too.
fn end_of_references(handle: Handle) {
    let needs_passive = change_if_exists(handle, |object| object.data.waits());
    if thread::irql() > PASSIVE && needs_passive == Some(true) {
        submit(0, move || end_of_references(handle));
    } else if let Some(object) = destroy(handle) {
        free(&object);
    }
}

/// Deletes an object and its children. Has no effect on an object whose deletion has begun.
pub(crate) fn delete(handle: Handle) {
    if let Some(object) = take(handle) {
        free(&object);
    }
}

/// As [`delete`], but returns the object if it is gone. The caller frees it, together with other memory.
pub(crate) fn take(handle: Handle) -> Option<Object> {
    if thread::irql() > PASSIVE && needs_passive(handle) {
        // It is documented that devices, timers, DPCs and work items are cleaned up at passive level.
        // Nothing waits for this job: the key of the object is the one of its callback.
        submit(0, move || delete(handle));
        return None;
    }
    if change(handle, |object| object.deleted) {
        return None;
    }
    clean(handle);
    release(handle)
}

/// Returns whether an object or one of its descendants must be deleted at passive level, because its deletion waits.
fn needs_passive(handle: Handle) -> bool {
    let found = change_if_exists(handle, |object| (object.data.waits(), object.children.clone()));
    found.is_some_and(|(here, children)| here || children.into_iter().any(needs_passive))
}

/// Cleans up an object and its descendants. Meanwhile, another thread may release the last reference to a child, and so destroy it.
fn clean(handle: Handle) {
    let begin = |object: &mut Object| {
        let again = std::mem::replace(&mut object.deleted, true);
        (!again).then(|| object.children.clone())
    };
    let Some(children) = change_if_exists(handle, begin).flatten() else { return };
    children.into_iter().for_each(clean);
    // As in `FxObject::DisposeChildrenWorker`: after the children, before the object's own cleanup callbacks.
    if let Some(end) = change_if_exists(handle, |object| object.data.end()) {
        end(handle);
    }
    let farewells = change_if_exists(handle, |object| {
        object.disposed = true;
        object.farewells.clone()
    });
    for Farewell { cleanup, .. } in farewells.unwrap_or_default() {
        if let Some(cleanup) = cleanup.non_null() {
            call_back("EvtCleanupCallback", thread::irql(), cleanup, &[handle.as_int()]);
        }
    }
}

/// Destroys an object and its descendants, except those that still have references. Returns the object if it is gone.
fn release(handle: Handle) -> Option<Object> {
    for child in change_if_exists(handle, |object| object.children.clone()).unwrap_or_default() {
        if let Some(child) = release(child) {
            free(&child);
        }
    }
    let is_unused = |object: &mut Object| {
        object.released = true;
        object.references <= 0
    };
    if change_if_exists(handle, is_unused) == Some(true) { destroy(handle) } else { None }
}

/// Calls the destroy callbacks of an object that was cleaned up, and removes the object. Has no effect if another thread does it.
fn destroy(handle: Handle) -> Option<Object> {
    let begin = |object: &mut Object| {
        let again = std::mem::replace(&mut object.destroyed, true);
        (!again).then(|| object.farewells.clone())
    };
    let farewells = change_if_exists(handle, begin).flatten()?;
    for Farewell { destroy, .. } in farewells {
        if let Some(destroy) = destroy.non_null() {
            call_back("EvtDestroyCallback", thread::irql(), destroy, &[handle.as_int()]);
        }
    }
    with(|framework| {
        let object = framework.objects.remove(&handle)?;
        if let Some(parent) = framework.objects.get_mut(&object.parent) {
            // Usually the oldest or the youngest child goes, and a queue may have thousands of requests.
            if parent.children.last() == Some(&handle) {
                parent.children.pop();
            } else if let Some(position) = parent.children.iter().position(|child| *child == handle) {
                parent.children.remove(position);
            }
        }
        Some(object)
    })
}

/// Frees the contexts of an object and what else it owns.
pub(crate) fn free(object: &Object) {
    for (_, memory) in &object.contexts {
        nt_kernel::lock(&kernel().pool).free_object(memory.address());
    }
    object.data.free();
}

/// Called before the driver object is deleted: reports objects that one call created again and again without a parent.
pub(crate) fn report_accumulated(driver: Handle) {
    let mut calls: SortedMap<u64, (u32, &'static str, Kmdf)> = SortedMap::new();
    with(|framework| {
        let left = framework.objects.values().filter(|object| object.accumulates && object.parent == driver);
        for (object, rule) in left.filter_map(|object| Some((object, object.data.parent_rule()?))) {
            calls.get_or_insert_with(object.from, || (0, object.data.name(), rule)).0 += 1;
        }
    });
    for (from, (count, kind, rule)) in calls.into_iter().filter(|(_, (count, ..))| *count > 1) {
        let what =
            format_args!("keeps {count} objects of this call until the driver is unloaded: {kind}; set a parent");
        verify::find_at(Rule::ObjectLeak.named(rule), None, from, what);
    }
}

/// Reports the objects that still exist, and frees them.
pub fn report_leaks() {
    for object in with(Framework::clear).values() {
        let kind = object.data.name();
        let references = object.references;
        let what = format_args!("does not delete a framework object: {kind}, {references} references");
        verify::find_at(Rule::ObjectLeak, None, object.from, what);
        free(object);
    }
}
