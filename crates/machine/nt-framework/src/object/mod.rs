//! Objects: creation and access. [`crate::object::life`] deletes them.

pub(crate) mod attributes;
pub(crate) mod handle;
pub(crate) mod kind;
pub(crate) mod life;

use std::fmt;
use std::sync::MutexGuard;

use nt_kernel::kernel;
use nt_processor::cpu::thread;
use nt_processor::layout::WDF_OBJECT_ATTRIBUTES;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Call, NO_RESOURCES, Outcome, PASSIVE, fail};
use nt_verifier::verify::{self, At, Breach, Kmdf, Rule};

use crate::Handle;
use crate::object::attributes::{Attributes, Level};
use crate::object::kind::{Farewell, Kind, Object};
use crate::request::buffers::check_memory;
use crate::state::{Framework, locked, with};

/// Creates an object with the attributes at `attributes`. The parent is the one in the attributes, or else `parent`, or
/// else the driver.
pub(super) fn create(
    call: &Call,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    parent: Option<Handle>,
    data: impl Kind,
) -> Outcome<Handle> {
    let attributes = Attributes::read(attributes, data.options())?;
    create_with(call.from, &attributes, parent, data)
}

/// Creates an object with attributes that were already read.
pub(super) fn create_with(
    from: u64,
    attributes: &Attributes,
    parent: Option<Handle>,
    data: impl Kind,
) -> Outcome<Handle> {
    create_boxed(from, attributes, parent, Box::new(data))
}

fn create_boxed(from: u64, attributes: &Attributes, parent: Option<Handle>, data: Box<dyn Kind>) -> Outcome<Handle> {
    let memory = attributes.context.map(|context| {
        let memory: GuestPtr<u8> = nt_kernel::lock(&kernel().pool).new_objects(context.size.max(1));
        (context.unique, memory)
    });
    if memory.is_some_and(|(_, memory)| memory.is_null()) {
        return fail(NO_RESOURCES);
    }
    let is_of_package = attributes.parent.is_null() && data.is_of_package();
    let is_adopted = attributes.parent.is_null() && parent.is_none();
    let farewell = Farewell { cleanup: attributes.cleanup, destroy: attributes.destroy };
    let accumulates = is_adopted && thread::callback() != Some("DriverEntry");
    with(|framework| {
        let parent = attributes.parent.non_null().or(parent).unwrap_or_else(|| framework.driver());
        let handle = Handle::nth(framework.created);
        framework.created += 1;
        let object = Object {
            data,
            parent,
            children: Vec::new(),
            farewells: [farewell].into_iter().filter(Farewell::is_set).collect(),
            level: attributes.level,
            scope: attributes.scope,
            contexts: memory.into_iter().collect(),
            references: 0,
            deleted: false,
            disposed: false,
            released: false,
            destroyed: false,
            is_of_package,
            holder: (0, 0),
            accumulates,
            from,
        };
        let siblings = framework.objects.get(&parent).map_or(&[][..], |parent| &parent.children);
        let is_later = |sibling: &Handle| framework.objects.get(sibling).is_none_or(|known| !known.is_of_package);
        let place = siblings.iter().position(|sibling| is_of_package && is_later(sibling)).unwrap_or(siblings.len());
        framework.objects.insert(handle, object);
        if let Some(parent) = framework.objects.get_mut(&parent) {
            parent.children.insert(place, handle);
        }
        Ok(handle)
    })
}

/// Stores a new handle at `place`, which the framework requires.
pub(super) fn created(result: Outcome<Handle>, place: GuestPtr<Handle>) -> Outcome {
    needs_place(place);
    created_if_wanted(result, place)
}

/// Stores a new handle at `place`, unless that is NULL.
pub(super) fn created_if_wanted(result: Outcome<Handle>, place: GuestPtr<Handle>) -> Outcome {
    place.write_if(result?)?;
    Ok(())
}

/// Reads an object. An invalid handle stops the machine, as in the framework.
pub(super) fn lookup<R>(handle: Handle, look: impl FnOnce(&Object) -> R) -> R {
    let mut framework = locked();
    match framework.object(handle) {
        Some(object) => look(object),
        None => invalid(framework, handle),
    }
}

/// Changes an object. An invalid handle stops the machine.
pub(super) fn change<R>(handle: Handle, change: impl FnOnce(&mut Object) -> R) -> R {
    let mut framework = locked();
    match framework.object(handle) {
        Some(object) => change(object),
        None => invalid(framework, handle),
    }
}

/// Changes an object, unless another thread has destroyed it meanwhile.
pub(super) fn change_if_exists<R>(handle: Handle, change: impl FnOnce(&mut Object) -> R) -> Option<R> {
    with(|framework| framework.object(handle).map(change))
}

/// Reads or changes the data of an object. An object of another kind stops the machine.
pub(super) fn part<T: Kind, R>(handle: Handle, body: impl FnOnce(&mut T) -> R) -> R {
    let mut framework = locked();
    match framework.object(handle).and_then(Object::get_mut) {
        Some(part) => body(part),
        None => invalid(framework, handle),
    }
}

/// Stops the machine because of a handle. The functions above have hundreds of instances, which share this.
#[inline(never)]
fn invalid(framework: MutexGuard<'_, Framework>, handle: Handle) -> ! {
    drop(framework);
    violation(handle)
}

/// Returns whether an object is of a kind. An invalid handle stops the machine.
pub(super) fn is<T: Kind>(handle: Handle) -> bool {
    lookup(handle, Object::is::<T>)
}

/// Stops the machine with the bug check `WDF_VIOLATION`.
pub(super) fn violation(handle: Handle) -> ! {
    check_memory(handle);
    let ended = with(|framework| framework.has_ended(handle));
    let what = if ended { "a completed request" } else { "not a handle, or the handle of a deleted object" };
    stop(Rule::FrameworkMisuse, format_args!("bug check 0x10D: {handle:#x} is {what}"))
}

/// Stops the machine because of the call that the driver is making.
pub(super) fn stop(breach: impl Into<Breach>, what: fmt::Arguments<'_>) -> ! {
    let site = thread::site();
    verify::stop(breach, site.map(|site| site.routine), At::Call(site.map_or(0, |site| site.from)), what)
}

/// Stops the machine with the bug check `WDF_VIOLATION` if an address that a function requires is NULL.
pub(super) fn needs_place<T>(place: GuestPtr<T>) {
    if place.is_null() {
        stop(Rule::FrameworkMisuse, format_args!("bug check 0x10D (4): an address that the function requires is NULL"));
    }
}

/// Stops the machine unless the object is the driver.
pub(super) fn needs_driver(handle: Handle) {
    if with(|framework| framework.driver()) != handle {
        violation(handle);
    }
}

/// Returns whether an object exists.
pub(super) fn exists(handle: Handle) -> bool {
    with(|framework| framework.objects.contains_key(&handle))
}

/// Returns whether the callbacks of an object must run at passive level. An object without an execution level inherits
/// the level of its nearest ancestor that has one.
pub(super) fn is_passive(handle: Handle) -> bool {
    with(|framework| {
        let mut object = framework.objects.get(&handle);
        while let Some(known) = object {
            match known.level {
                Level::Passive => return true,
                Level::Dispatch => return false,
                Level::Inherit => object = framework.objects.get(&known.parent),
            }
        }
        false
    })
}

/// Returns the parent of a timer, work item or DPC. From its cleanup callback on, that is NULL: `FlushAndRundown` in
/// `shared/core/fxtimer.cpp`, `shared/core/fxworkitem.cpp` and `kmdf/src/core/fxdpc.cpp` forgets the parent when the
/// last callback has ended, before the cleanup callback.
pub(super) fn parent_until_disposed(handle: Handle) -> Handle {
    lookup(handle, |object| if object.disposed { Handle::NULL } else { object.parent })
}

/// Reports a function about power management that a driver without `EvtDriverDeviceAdd` calls.
pub(super) fn needs_pnp() {
    if !with(|framework| framework.is_pnp) {
        let what = format_args!("the driver has no EvtDriverDeviceAdd, so its devices have no power management");
        verify::find(Rule::FrameworkMisuse.named(Kmdf::NonPnPDrvPowerPolicyOwnerAPI), what);
    }
}

/// Reports a function that waits above passive level. `wait` says whether this call waits.
pub(super) fn needs_passive(wait: bool) {
    let irql = thread::irql();
    if wait && irql > PASSIVE {
        verify::find(nt_kernel::framework_irql(), format_args!("waits at IRQL {irql}, allowed only at 0"));
    }
}

/// Reports a function that would wait for the callback of an object, and that this callback calls. Microsoft's framework does not
/// wait then, either.
pub(super) fn waits_for_itself(handle: Handle, function: &str) -> bool {
    let itself = kernel().scheduler.look(|state| state.runs_here(handle.as_int()));
    if itself {
        verify::find(Rule::FrameworkMisuse, format_args!("calls {function} for an object whose callback calls it"));
    }
    itself
}
