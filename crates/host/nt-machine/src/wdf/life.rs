//! Deletion of objects: cleanup from the leaves of the tree to the root, then destruction in the same order.
//!
//! Microsoft's documentation of `EvtDestroyCallback` gives the order: the cleanup of the children, the cleanup of the
//! parent, the destruction of the children that have no references, the destruction of the parent. Siblings are cleaned
//! up and destroyed in the order of their creation: `shared/object/fxobject.cpp` adds a child at the tail of its parent's
//! list, and `fxobjectstatemachine.cpp` walks that list from its head.

use super::object::{self, Data, Farewell, Object, change};
use super::{Handle, children, queue_state, target, timer, with};
use crate::cpu::thread;
use crate::kernel::io::device as wdm;
use crate::kernel::{self, call_back, kernel, submit};
use crate::memory::{GuestPtr, OrStop as _};
use crate::routine::PASSIVE;

/// Deletes an object and its children. Has no effect on an object whose deletion has begun.
pub(super) fn delete(handle: Handle) {
    if thread::irql() > PASSIVE && needs_passive(handle) {
        // It is documented that devices, timers, DPCs and work items are cleaned up at passive level.
        return submit(handle.as_int(), move || delete(handle));
    }
    if change(handle, |object| object.deleted) {
        return;
    }
    clean(handle);
    release(handle);
}

/// Returns whether an object or one of its descendants must be deleted at passive level, because its deletion waits.
fn needs_passive(handle: Handle) -> bool {
    let (here, children) = object::lookup(handle, |object| {
        let waits =
            matches!(object.data, Data::Device(_) | Data::Timer(_) | Data::Work(_) | Data::Queue(_) | Data::Target(_));
        (waits, object.children.clone())
    });
    here || children.into_iter().filter(|child| object::exists(*child)).any(needs_passive)
}

fn clean(handle: Handle) {
    let again = change(handle, |object| std::mem::replace(&mut object.deleted, true));
    if again {
        return;
    }
    let children = object::lookup(handle, |object| object.children.clone());
    for child in children.into_iter().filter(|child| object::exists(*child)) {
        clean(child);
    }
    // As in `FxObject::DisposeChildrenWorker`: after the children, before the object's own cleanup callbacks.
    timer::cancel_before_delete(handle);
    queue_state::purge_before_delete(handle);
    target::close_before_delete(handle);
    children::before_delete(handle);
    change(handle, |object| object.disposed = true);
    for Farewell { cleanup, .. } in object::lookup(handle, |object| object.farewells.clone()) {
        if let Some(cleanup) = cleanup.non_null() {
            call_back("EvtCleanupCallback", thread::irql(), cleanup, &[handle.as_int()]);
        }
    }
}

/// Destroys an object and its descendants, except those that still have references.
fn release(handle: Handle) {
    if !object::exists(handle) {
        return;
    }
    for child in object::lookup(handle, |object| object.children.clone()) {
        release(child);
    }
    if object::exists(handle) && object::lookup(handle, |object| object.references <= 0) {
        destroy(handle);
    }
}

/// Calls the destroy callbacks of an object that was cleaned up, and removes the object.
pub(super) fn destroy(handle: Handle) {
    for Farewell { destroy, .. } in object::lookup(handle, |object| object.farewells.clone()) {
        if let Some(destroy) = destroy.non_null() {
            call_back("EvtDestroyCallback", thread::irql(), destroy, &[handle.as_int()]);
        }
    }
    let object = with(|framework| {
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
    });
    if let Some(object) = object {
        free(&object);
    }
}

/// Frees the memory and closes the kernel handle of an object.
pub(super) fn free(object: &Object) {
    let mut pool = kernel::lock(&kernel().pool);
    let own = match &object.data {
        Data::Memory { bytes, owned: true } => Some(bytes.start().address()),
        Data::SpinLock { word, .. } => Some(word.address()),
        Data::String { units } => Some(units.start().address()),
        Data::File(file) => Some(file.name.address()),
        Data::Interrupt(interrupt) => Some(interrupt.object.address()),
        _ => None,
    };
    let lists = match &object.data {
        Data::Request(request) => {
            let shown = request.shown.non_null().map(GuestPtr::address);
            request.lists.iter().map(|list| list.address()).chain(shown).collect()
        }
        Data::Resources(list) => list.iter().map(|descriptor| descriptor.address()).collect(),
        _ => Vec::new(),
    };
    let own = own.into_iter().chain(lists);
    for address in object.contexts.iter().map(|(_, memory)| memory.address()).chain(own) {
        pool.free_object(address);
    }
    drop(pool);
    if let Data::Device(device) = &object.data {
        // The driver may have references to the device object and to its file objects.
        for (_, file) in &device.file_objects {
            kernel::ex::object::free_when_unused(file.address());
        }
        wdm::release(device.wdm).or_stop();
    }
    if let Data::Key { handle } = object.data {
        kernel::ex::object::close(handle);
    }
}
