//! The framework's state, and the lock around it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use etw_types::NtStatus;
use nt_kernel::RequestKind;
use nt_processor::layer_state::LayerState;
use nt_processor::layout::{IRP, WDF_BIND_INFO, WDF_CLASS_LIBRARY_INFO, WDF_DRIVER_GLOBALS, WDF_LIBRARY_INFO};
use nt_processor::memory::{Code, GuestPtr, OrStop as _};
use nt_processor::sorted::{SortedMap, SortedSet};

use crate::Handle;
use crate::object::kind::{Kind, Object};

/// The framework's state.
#[derive(Default)]
pub(super) struct Framework {
    pub(super) bound: Option<Bound>,
    pub(super) libraries: Libraries,
    pub(super) objects: BTreeMap<Handle, Object>,
    pub(super) created: u64,
    /// The latest completed requests. They are kept so that a second completion is noticed.
    ended: BTreeMap<Handle, Ended>,
    /// What the latest objects were that a driver must not use any more, and that a finding can explain.
    past: BTreeMap<Handle, Past>,
    /// The functions that run when a request is completed.
    pub(super) ends: SortedMap<Handle, Vec<Box<dyn FnOnce() + Send>>>,
    /// The requests that are not completed, each after the file that it was sent through.
    pub(super) through_files: SortedSet<(Handle, Handle)>,
    /// IRPs that the driver preprocesses, and what the framework does with each afterwards.
    pub(super) packets: SortedMap<GuestPtr<IRP>, Then>,
    /// The object locks that the driver acquired, each with the IRQL before the acquisition.
    pub(super) lock_irqls: Vec<(Handle, u8)>,
    /// The driver has `EvtDriverDeviceAdd`, so it is a Plug and Play driver.
    pub(super) is_pnp: bool,
    /// `EvtDriverDeviceAdd` has been called.
    pub(super) has_added: bool,
    /// A device was created with a callback in which the driver can delete its control devices.
    pub(super) cleans_up: bool,
    /// Where the init structure of the latest device came from.
    pub(super) last_init: Option<Origin>,
}

/// A table of functions.
pub(super) type Functions = GuestPtr<GuestPtr<Code>>;

/// A bound driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) globals: GuestPtr<WDF_DRIVER_GLOBALS>,
    /// The table of functions; `None` if the functions were copied into the driver's table.
    pub(super) table: Option<Functions>,
    /// The minor version that the driver was built for.
    pub(super) minor: u32,
    /// The table of structure sizes, for a driver that binds with `WDF_BIND_INFO2`.
    pub(super) structures: Option<GuestPtr<u64>>,
}

/// The libraries that are images of their own and have registered.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    /// Frameworks of different versions.
    pub(super) frameworks: Vec<GuestPtr<WDF_LIBRARY_INFO>>,
    /// The framework that each driver is bound to, by the driver's bind information.
    pub(super) bound: Vec<(GuestPtr<WDF_BIND_INFO>, GuestPtr<WDF_LIBRARY_INFO>)>,
    /// Class extensions, each with the name of its service.
    pub(super) classes: Vec<(String, GuestPtr<WDF_CLASS_LIBRARY_INFO>)>,
}

/// The end of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) status: NtStatus,
    pub(super) information: u64,
    /// What the driver returns to the client.
    pub(super) output: Vec<u8>,
    /// The kind of request that the driver received.
    pub(super) kind: RequestKind,
    /// `EvtRequestCancel` was called.
    pub(super) cancel_reported: bool,
    /// Whether the driver had the request.
    pub(super) delivered: bool,
    /// Whether a client waits for the end.
    pub(super) awaited: bool,
}

/// How many completed requests are kept. An older one is a handle like that of any deleted object.
const KEPT: usize = 0x1_0000;

/// What an object was that the driver must not use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    /// A memory object for a buffer of a completed request of this kind.
    Memory(RequestKind),
    /// An init structure that `WdfDeviceCreate` used up.
    UsedInit(Origin),
    /// An init structure that `WdfDeviceInitFree` freed.
    FreedInit(Origin),
}

/// Where a driver got an init structure from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// `EvtDriverDeviceAdd`.
    DeviceAdd,
    /// `WdfControlDeviceInitAllocate`.
    Control,
    /// `WdfPdoInitAllocate`.
    Child,
    /// `EvtChildListCreateDevice`.
    ChildList,
}

/// What the framework does with an IRP that the driver passes on.
pub(super) enum Then {
    /// Creates a request for this open file.
    Request(Handle),
    /// Calls this function and completes the IRP with its status.
    Run(Box<dyn FnOnce() -> NtStatus + Send>),
}

impl Framework {
    /// Returns the objects of a kind, oldest first.
    pub(super) fn all<T: Kind>(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.objects.iter().filter_map(|(handle, object)| Some((*handle, object.get()?)))
    }

    /// Returns an object.
    #[inline(never)]
    pub(super) fn object(&mut self, handle: Handle) -> Option<&mut Object> {
        self.objects.get_mut(&handle)
    }

    /// Returns the data of an object. Returns `None` if it does not exist or is of another kind.
    pub(super) fn get_mut<T: Kind>(&mut self, handle: Handle) -> Option<&mut T> {
        self.objects.get_mut(&handle)?.get_mut()
    }

    /// As [`get_mut`](Self::get_mut), for an object whose deletion has not begun.
    pub(super) fn living<T: Kind>(&mut self, handle: Handle) -> Option<&mut T> {
        self.objects.get_mut(&handle).filter(|object| !object.deleted)?.get_mut()
    }

    /// Records the end of a request. If too many are kept, the oldest goes whose end nobody waits for.
    pub(super) fn request_ended(&mut self, request: Handle, end: Ended) {
        self.ended.insert(request, end);
        if self.ended.len() > KEPT {
            let oldest = self.ended.iter().find(|(_, end)| !end.awaited).map(|(handle, _)| *handle);
            oldest.map(|oldest| self.ended.remove(&oldest));
        }
    }

    /// Returns whether a request was completed, if that was not too long ago.
    pub(super) fn has_ended(&self, request: Handle) -> bool {
        self.ended.contains_key(&request)
    }

    /// Returns the end of a request that was completed not too long ago, for findings.
    pub(super) fn end_of(&self, request: Handle) -> Option<&Ended> {
        self.ended.get(&request)
    }

    /// Returns the end of a request to its client, who asks only once.
    pub(super) fn take_end(&mut self, request: Handle) -> Option<Ended> {
        let end = self.ended.get_mut(&request)?;
        end.awaited = false;
        let output = std::mem::take(&mut end.output);
        Some(Ended { output, ..end.clone() })
    }

    /// Remembers what an object was. If too many are kept, the oldest goes.
    pub(super) fn remember(&mut self, handle: Handle, past: Past) {
        self.past.insert(handle, past);
        if self.past.len() > KEPT {
            self.past.pop_first();
        }
    }

    /// Returns what an object was, if that was not too long ago.
    pub(super) fn past_of(&self, handle: Handle) -> Option<Past> {
        self.past.get(&handle).copied()
    }

    /// Returns all objects and forgets all requests.
    pub(super) fn clear(&mut self) -> BTreeMap<Handle, Object> {
        self.ended.clear();
        self.past.clear();
        self.through_files.clear();
        std::mem::take(&mut self.objects)
    }

    /// Returns whether `ancestor` is the parent of an object or one of its further ancestors.
    pub(super) fn is_below(&self, handle: Handle, ancestor: Handle) -> bool {
        let mut current = handle;
        while let Some(object) = self.objects.get(&current) {
            if object.parent == ancestor {
                return true;
            }
            current = object.parent;
        }
        false
    }

    /// Stores the handle of a new driver object in the globals. If `displaces` is set, the driver's entry stub replaces
    /// the unload routine with its own, which calls the framework.
    pub(super) fn driver_created(&self, driver: Handle, displaces: bool) {
        if let Some(bound) = self.bound {
            bound.globals.Driver().write(driver.as_int()).or_stop();
            bound.globals.DisplaceDriverUnload().write(displaces.into()).or_stop();
        }
    }

    /// Removes the handle of the deleted driver object from the globals.
    pub(super) fn driver_gone(&self) {
        if let Some(bound) = self.bound {
            bound.globals.Driver().write(0).or_stop();
        }
    }

    /// Returns the minor version of the framework that the driver was built for. It determines the sizes of the
    /// driver's structures.
    pub(super) fn client_minor(&self) -> u32 {
        self.bound.map_or(u32::MAX, |bound| bound.minor)
    }

    /// Returns the handle of the driver object, or NULL.
    pub(super) fn driver(&self) -> Handle {
        self.bound.map_or(Handle::NULL, |bound| Handle::new(bound.globals.Driver().read().or_stop()))
    }
}

/// The framework's part of the machine.
pub struct Attached {
    framework: Mutex<Framework>,
    /// Makes the clients of a device cancel their requests and close their files.
    close_clients: fn(Handle),
}

impl Attached {
    /// Creates the state, without a driver. `close_clients` makes the clients of a device close their files.
    pub fn new(close_clients: fn(Handle)) -> Self {
        Self { framework: Mutex::default(), close_clients }
    }
}

static FRAMEWORK: LayerState<Attached> = LayerState::new();

/// Makes this the framework of this process. Later calls have no effect.
pub fn attach(framework: &'static Attached) {
    FRAMEWORK.attach(framework);
}

/// Reads or changes the framework's state. `body` holds the lock, so it must not run driver code.
pub(super) fn with<R>(body: impl FnOnce(&mut Framework) -> R) -> R {
    body(&mut locked())
}

/// `with` has hundreds of instances, which share this.
#[inline(never)]
pub(super) fn locked() -> MutexGuard<'static, Framework> {
    nt_kernel::lock(&FRAMEWORK.get().framework)
}

/// Makes the clients of a device cancel their requests and close their files. Called before the device is removed.
pub(super) fn close_clients(device: Handle) {
    (FRAMEWORK.get().close_clients)(device);
}

#[cfg(test)]
mod tests {
    use super::{Ended, Framework, KEPT};
    use crate::Handle;

    #[test]
    fn completed_requests_are_forgotten_except_those_that_a_client_waits_for() {
        let mut framework = Framework::default();
        let end = |information, awaited| Ended { information, awaited, ..Ended::default() };
        framework.request_ended(Handle::nth(0), end(7, true));
        for number in 1..=2 * KEPT as u64 {
            framework.request_ended(Handle::nth(number), end(0, false));
        }
        assert_eq!(framework.ended.len(), KEPT);
        assert!(framework.has_ended(Handle::nth(2 * KEPT as u64)));
        assert!(!framework.has_ended(Handle::nth(1)));
        assert_eq!(framework.take_end(Handle::nth(0)).map(|end| end.information), Some(7));
        framework.request_ended(Handle::nth(1), end(0, false));
        assert!(!framework.has_ended(Handle::nth(0)));
        assert!(framework.ended.len() == KEPT);
    }
}
