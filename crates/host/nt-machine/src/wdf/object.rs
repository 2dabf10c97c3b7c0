//! Objects: their tree, contexts and references. [`super::life`] deletes them.

use etw_types::NtStatus;

use super::attributes::{Attributes, ContextType, Level, Scope};
pub(super) use super::data::Data;
use super::{Framework, Handle, device, life, with};
use crate::cpu::thread;
use crate::kernel::{self, kernel};
use crate::layout::{GUID, WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO};
use crate::memory::{Code, Fault, GuestPtr, Opaque};
use crate::routine::{ANY, Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, fail, functions};
use crate::verify::{self, At, Rule};

functions! { pub(super) FUNCTIONS;
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

    #[irql(DISPATCH)]
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
        created(create(call, attributes, None, Data::General), place)
    }

    #[irql(DISPATCH)]
    fn WdfObjectDelete(object: Handle) {
        if let Some(kind) = deleted_by_framework(object) {
            verify::find(Rule::FrameworkMisuse, format_args!("only the framework deletes this object: {kind}"));
        } else {
            life::delete(object);
        }
    }

    /// Drivers here have no way to give an object a type that this function would find.
    #[irql(DISPATCH), fixed]
    fn WdfObjectQuery(
        _object: Ignored<Handle>,
        _kind: Ignored<GuestPtr<GUID>>,
        _length: Ignored<u32>,
        _place: Ignored<GuestPtr<Opaque>>,
    ) -> NtStatus {
        NtStatus::ObjectNameNotFound
    }
}

/// The callbacks that run when an object is deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Farewell {
    pub(super) cleanup: GuestPtr<Code>,
    pub(super) destroy: GuestPtr<Code>,
}

/// An object.
pub(super) struct Object {
    pub(super) data: Data,
    pub(super) parent: Handle,
    pub(super) children: Vec<Handle>,
    /// The callbacks of the object, and of each context that was added later.
    pub(super) farewells: Vec<Farewell>,
    pub(super) level: Level,
    pub(super) scope: Scope,
    /// The type and the memory of each context.
    pub(super) contexts: Vec<(GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>, GuestPtr<u8>)>,
    pub(super) references: i32,
    /// The deletion of the object has begun. After its cleanup, it exists only because of its references.
    pub(super) deleted: bool,
    /// The object's own work has ended, and its cleanup callbacks run or have run.
    pub(super) disposed: bool,
    /// The thread that holds the callback lock, and how many times it acquired the lock.
    pub(super) holder: (u32, u32),
    /// The return address of the call that created the object.
    pub(super) from: u64,
}

impl Object {
    fn context(&self, unique: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>) -> Option<GuestPtr<u8>> {
        self.contexts.iter().find(|(known, _)| *known == unique).map(|(_, address)| *address)
    }
}

/// Creates an object with the attributes at `attributes`. The parent is the one in the attributes, or else `parent`, or
/// else the driver.
pub(super) fn create(
    call: &Call,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    parent: Option<Handle>,
    data: Data,
) -> Outcome<Handle> {
    let attributes = Attributes::read(attributes)?;
    create_with(call.from, &attributes, parent, data)
}

/// Creates an object with attributes that were already read.
pub(super) fn create_with(from: u64, attributes: &Attributes, parent: Option<Handle>, data: Data) -> Outcome<Handle> {
    let memory = attributes.context.map(|context| {
        let memory: GuestPtr<u8> = kernel::lock(&kernel().pool).new_objects(context.size.max(1));
        (context.unique, memory)
    });
    if memory.is_some_and(|(_, memory)| memory.is_null()) {
        return fail(NtStatus::InsufficientResources);
    }
    with(|framework| {
        let parent = attributes.parent.non_null().or(parent).unwrap_or_else(|| framework.driver());
        let handle = Handle::nth(framework.created);
        framework.created += 1;
        let object = Object {
            data,
            parent,
            children: Vec::new(),
            farewells: vec![Farewell { cleanup: attributes.cleanup, destroy: attributes.destroy }],
            level: attributes.level,
            scope: attributes.scope,
            contexts: memory.into_iter().collect(),
            references: 0,
            deleted: false,
            disposed: false,
            holder: (0, 0),
            from,
        };
        framework.objects.insert(handle, object);
        if let Some(parent) = framework.objects.get_mut(&parent) {
            parent.children.push(handle);
        }
        Ok(handle)
    })
}

/// Stores a new handle at `place`, unless that is NULL.
pub(super) fn created(result: Outcome<Handle>, place: GuestPtr<Handle>) -> Outcome {
    place.write_if(result?)?;
    Ok(())
}

/// Reads an object. An invalid handle stops the machine, as in the framework.
pub(super) fn lookup<R>(handle: Handle, look: impl FnOnce(&Object) -> R) -> R {
    change(handle, |object| look(object))
}

/// Changes an object. An invalid handle stops the machine.
pub(super) fn change<R>(handle: Handle, change: impl FnOnce(&mut Object) -> R) -> R {
    with(|framework| framework.objects.get_mut(&handle).map(change)).unwrap_or_else(|| violation(handle))
}

/// Reads or changes the data of an object. If `body` returns `None`, the object is of the wrong kind and the machine
/// stops.
pub(super) fn part<R>(handle: Handle, body: impl FnOnce(&mut Data) -> Option<R>) -> R {
    change(handle, |object| body(&mut object.data)).unwrap_or_else(|| violation(handle))
}

/// Stops the machine with the bug check `WDF_VIOLATION`.
pub(super) fn violation(handle: Handle) -> ! {
    let site = thread::site();
    let ended = with(|framework| framework.ended.contains_key(&handle));
    let what = if ended { "a completed request" } else { "not a handle, or the handle of a deleted object" };
    verify::stop(
        Rule::FrameworkMisuse,
        site.map(|site| site.routine),
        At::Call(site.map_or(0, |site| site.from)),
        format_args!("bug check 0x10D: {handle:#x} is {what}"),
    )
}

/// Stops the machine with the bug check `WDF_VIOLATION` if an address that a function requires is NULL.
pub(super) fn needs_place<T>(place: GuestPtr<T>) {
    if place.is_null() {
        let site = thread::site();
        verify::stop(
            Rule::FrameworkMisuse,
            site.map(|site| site.routine),
            At::Call(site.map_or(0, |site| site.from)),
            format_args!("bug check 0x10D (4): the address for the handle is NULL"),
        );
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

fn allocate_context(object: Handle, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, place: Out<GuestPtr<u8>>) -> Outcome {
    let attributes = Attributes::read(attributes)?;
    let Some(context) = attributes.context else { return fail(NtStatus::InvalidParameter) };
    if let Some(memory) = lookup(object, |object| object.context(context.unique)) {
        place.set_if_wanted(memory)?;
        return fail(NtStatus::ObjectNameExists);
    }
    let memory: GuestPtr<u8> = kernel::lock(&kernel().pool).new_objects(context.size.max(1));
    if memory.is_null() {
        return fail(NtStatus::InsufficientResources);
    }
    change(object, |object| {
        object.contexts.push((context.unique, memory));
        object.farewells.push(Farewell { cleanup: attributes.cleanup, destroy: attributes.destroy });
    });
    place.set_if_wanted(memory)?;
    Ok(())
}

/// Returns the name of an object's kind if drivers must not delete the object. Microsoft's documentation of
/// `WdfObjectDelete` lists these objects. As in Microsoft's framework, an attempt to delete one has no effect.
fn deleted_by_framework(handle: Handle) -> Option<&'static str> {
    let (kind, is_kept, device_of_queue) = lookup(handle, |object| {
        let is_kept = match &object.data {
            // The driver may delete a child's device that it has not reported yet.
            Data::Device(device) => !device.init.control && device.init.parent.is_null(),
            Data::ChildList(_)
            | Data::Driver(_)
            | Data::File(_)
            | Data::Interrupt(_)
            | Data::Resources(_)
            | Data::WmiProvider(_) => true,
            _ => false,
        };
        let device = match &object.data {
            Data::Queue(queue) => Some(queue.device),
            _ => None,
        };
        (object.data.kind(), is_kept, device)
    });
    let is_fed = |device: Handle| {
        device::with_device(device, |device| {
            device.default_queue == handle || device.dispatching.iter().any(|(_, queue)| *queue == handle)
        })
    };
    (is_kept || device_of_queue.filter(|device| exists(*device)).is_some_and(is_fed)).then_some(kind)
}

fn dereference(handle: Handle) {
    let left = change(handle, |object| {
        object.references -= 1;
        (object.references, object.deleted)
    });
    match left {
        (..0, _) => verify::find(
            Rule::FrameworkMisuse,
            format_args!("an object is dereferenced more often than it was referenced"),
        ),
        (0, true) => life::destroy(handle),
        _ => {}
    }
}

/// Reports the objects that still exist, and frees them.
pub(super) fn report_leaks() {
    let left = with(|framework: &mut Framework| {
        framework.ended.clear();
        std::mem::take(&mut framework.objects)
    });
    for object in left.values() {
        let (kind, references) = (object.data.kind(), object.references);
        let what = format_args!("a framework object was not deleted: {kind}, {references} references");
        verify::find_at(Rule::ObjectLeak, None, object.from, what);
        life::free(object);
    }
}

/// Reports a function that waits above passive level. `wait` says whether this call waits.
pub(super) fn needs_passive(wait: bool) {
    let irql = thread::irql();
    if wait && irql > PASSIVE {
        verify::find(Rule::IrqlTooHigh, format_args!("waits at IRQL {irql}, allowed only at 0"));
    }
}
