//! The Kernel-Mode Driver Framework with the functions of version 1.33. If the imitated Windows is older, the driver
//! can use only the functions of that Windows' framework.
//!
//! [`loader`] binds a driver to the framework and gives it a table of functions. All objects are in one map. Their
//! handles are not addresses, so a driver that dereferences a handle faults. The map's lock must never be held while
//! driver code runs.
//!
//! This is written from Microsoft's public documentation and headers of the framework. The order of events follows the
//! documentation. If the documentation leaves something open, as the order in which siblings are cleaned up, it is as in
//! Microsoft's public source of the framework (microsoft/Windows-Driver-Frameworks). Comments name its files relative to
//! `src/framework`.

mod attributes;
mod cancel;
mod children;
mod client;
mod data;
mod deliver;
mod device;
mod driver;
mod file;
mod functions;
mod handle;
mod init;
mod interrupt;
mod library;
mod life;
mod loader;
mod locks;
mod memory;
mod misc;
mod object;
mod power;
mod preprocess;
mod property;
mod query_interface;
mod queue;
mod queue_state;
mod registry;
mod request;
mod retrieve;
mod send;
mod structures;
mod sync;
mod target;
mod target_open;
mod timer;
mod turn;
mod wmi;
mod work;

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::kernel;
use crate::layout::IRP;
use crate::memory::GuestPtr;
use crate::part::Part;

pub(crate) use client::{Begun, Sent, begin, cancel_sent, finish};
pub(crate) use device::{add_device, adds_devices, devices, find, names, rebalance, remove_device, set_power};
pub(crate) use file::{close, open, why_not_opened};
pub(crate) use functions::functions;
pub(crate) use handle::Handle;
pub(crate) use interrupt::source as interrupt_source;
pub(crate) use library::{ROUTINES as LIBRARY, decommission, has_library};
pub(crate) use loader::LOADER;
pub(crate) use target::target_changed;
pub(crate) use wmi::ask as ask_wmi;

use object::Object;

/// The framework's state.
#[derive(Default)]
struct Framework {
    bound: Option<loader::Bound>,
    /// The libraries that are images of their own.
    libraries: library::Libraries,
    objects: BTreeMap<Handle, Object>,
    created: u64,
    /// Completed requests. They are kept so that a second completion is noticed.
    ended: BTreeMap<Handle, request::Ended>,
    /// The functions that run when a request is completed.
    ends: BTreeMap<Handle, Box<dyn FnOnce() + Send>>,
    /// IRPs that the driver preprocesses, and what the framework does with each afterwards.
    packets: BTreeMap<GuestPtr<IRP>, preprocess::Then>,
    /// The object locks that the driver acquired, each with the IRQL before the acquisition.
    lock_irqls: Vec<(Handle, u8)>,
}

impl Framework {
    /// Returns whether `ancestor` is the parent of an object or one of its further ancestors.
    fn is_below(&self, handle: Handle, ancestor: Handle) -> bool {
        let mut current = handle;
        while let Some(object) = self.objects.get(&current) {
            if object.parent == ancestor {
                return true;
            }
            current = object.parent;
        }
        false
    }
}

/// The framework's part of the machine.
pub(crate) struct Attached {
    framework: Mutex<Framework>,
    /// Makes the clients of a device cancel their requests and close their files.
    close_clients: fn(Handle),
}

impl Attached {
    pub(crate) fn new(close_clients: fn(Handle)) -> Self {
        Self { framework: Mutex::default(), close_clients }
    }
}

static FRAMEWORK: Part<Attached> = Part::new();

/// Makes this the framework of this process. Later calls have no effect.
pub(crate) fn attach(framework: &'static Attached) {
    FRAMEWORK.attach(framework);
}

/// Reads or changes the framework's state. `body` holds the lock, so it must not run driver code.
fn with<R>(body: impl FnOnce(&mut Framework) -> R) -> R {
    body(&mut kernel::lock(&FRAMEWORK.get().framework))
}

/// Makes the clients of a device cancel their requests and close their files. Called before the device is removed.
fn close_clients(device: Handle) {
    (FRAMEWORK.get().close_clients)(device);
}

/// Returns whether the framework handles the driver's IRPs. A driver that is only bound, or that has called
/// `WdfDriverCreate` with `WdfDriverInitNoDispatchOverride`, handles them itself.
pub(crate) fn has_driver() -> bool {
    driver::dispatches()
}

/// Reports the objects that still exist, and removes all of them.
pub(crate) fn report_leaks() {
    object::report_leaks();
}
