//! What all objects have in common, and the trait of the kinds of objects.

use std::any::Any;

use nt_processor::layout::WDF_OBJECT_CONTEXT_TYPE_INFO;
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::verify::Kmdf;

use crate::Handle;
use crate::object::attributes::{Level, Options, Scope};

/// A kind of object. The value is the data of one object.
pub(crate) trait Kind: Any + Send {
    /// Returns the name of the kind for reports.
    fn name(&self) -> &'static str;

    /// Returns what the attributes of such an object may specify.
    fn options(&self) -> Options {
        Options::default()
    }

    /// Returns whether the deletion waits, so that it must run at passive level.
    fn waits(&self) -> bool {
        false
    }

    /// Returns whether only the framework deletes the object. Microsoft's documentation of `WdfObjectDelete` lists these
    /// objects.
    fn is_kept(&self) -> bool {
        false
    }

    /// Returns the function that ends the work of an object. It is called when an object is deleted, after the cleanup of
    /// its children and before its own cleanup callbacks.
    fn end(&self) -> fn(Handle) {
        |_| ()
    }

    /// Returns Microsoft's rule that such objects must have a parent other than the driver.
    fn parent_rule(&self) -> Option<Kmdf> {
        None
    }

    /// Returns whether such an object, without a parent in its attributes, belongs to a part that the framework creates with
    /// the device, and so is cleaned up before the driver's other objects. As in `FxPkgIo::CreateQueue`.
    fn is_of_package(&self) -> bool {
        false
    }

    /// Frees what the object owns. The object is already removed.
    fn free(&self) {}
}

/// The callbacks that run when an object is deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Farewell {
    pub(crate) cleanup: GuestPtr<Code>,
    pub(crate) destroy: GuestPtr<Code>,
}

impl Farewell {
    /// Returns whether the driver has set a callback.
    pub(crate) fn is_set(&self) -> bool {
        !self.cleanup.is_null() || !self.destroy.is_null()
    }
}

/// An object.
pub(crate) struct Object {
    pub(crate) data: Box<dyn Kind>,
    pub(crate) parent: Handle,
    pub(crate) children: Vec<Handle>,
    /// The callbacks of the object, and of each context that was added later.
    pub(crate) farewells: Vec<Farewell>,
    pub(crate) level: Level,
    pub(crate) scope: Scope,
    /// The type and the memory of each context.
    pub(crate) contexts: Vec<(GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>, GuestPtr<u8>)>,
    pub(crate) references: i32,
    /// The deletion of the object has begun. After its cleanup, it exists only because of its references.
    pub(crate) deleted: bool,
    /// The object's own work has ended, and its cleanup callbacks run or have run.
    pub(crate) disposed: bool,
    /// The object is cleaned up, and only references keep it. Its last reference destroys it.
    pub(crate) released: bool,
    /// Its destroy callbacks run or have run.
    pub(crate) destroyed: bool,
    /// See [`Kind::is_of_package`].
    pub(crate) is_of_package: bool,
    /// The thread that holds the callback lock, and how many times it acquired the lock.
    pub(crate) holder: (u32, u32),
    /// The driver created the object after `DriverEntry` without a parent, so it lives until the driver is unloaded.
    pub(crate) accumulates: bool,
    /// The return address of the call that created the object.
    pub(crate) from: u64,
}

impl Object {
    /// Returns whether the object is of a kind.
    pub(crate) fn is<T: Kind>(&self) -> bool {
        self.get::<T>().is_some()
    }

    /// Returns the data of the object if it is of the right kind.
    pub(crate) fn get<T: Kind>(&self) -> Option<&T> {
        (&*self.data as &dyn Any).downcast_ref()
    }

    /// Returns the data of the object if it is of the right kind.
    pub(crate) fn get_mut<T: Kind>(&mut self) -> Option<&mut T> {
        (&mut *self.data as &mut dyn Any).downcast_mut()
    }

    /// Returns the memory of the context of a type.
    pub(crate) fn context(&self, unique: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>) -> Option<GuestPtr<u8>> {
        self.contexts.iter().find(|(known, _)| *known == unique).map(|(_, address)| *address)
    }
}
