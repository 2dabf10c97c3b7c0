//! The Kernel-Mode Driver Framework: the functions of 1.33. An older Windows offers those that its framework has.
//!
//! A driver is bound to it by [`loader`], which gives it a table of functions. Objects are entries of one map, known by
//! handles that are no addresses: a driver that follows one faults. The map's lock is never held while driver code runs.
//!
//! Written from Microsoft's public documentation and headers of the framework. The order of events follows the
//! documentation; where it leaves the order open (siblings that are cleaned up), ours is the reverse of creation.

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
mod life;
mod loader;
mod locks;
mod memory;
mod misc;
mod object;
mod power;
mod preprocess;
mod property;
mod queue;
mod queue_state;
mod registry;
mod request;
mod retrieve;
mod send;
mod structures;
mod sync;
mod target;
mod timer;
mod wmi;
mod work;

use std::collections::BTreeMap;
use std::sync::Mutex;

use etw_types::NtStatus;

use crate::kernel;
use crate::layout::IRP;
use crate::memory::GuestPtr;
use crate::part::Part;

pub(crate) use client::{Begun, Sent, begin, cancel_sent, finish};
pub(crate) use device::{add_device, devices, find, remove_device, set_power};
pub(crate) use file::{close, open};
pub(crate) use functions::functions;
pub(crate) use handle::Handle;
pub(crate) use interrupt::source as interrupt_source;
pub(crate) use loader::LOADER;
pub(crate) use wmi::ask as ask_wmi;

use object::Object;

/// What the framework keeps.
#[derive(Default)]
struct Framework {
    bound: Option<loader::Bound>,
    objects: BTreeMap<Handle, Object>,
    created: u64,
    /// Requests that have ended, with status and information: a second end is noticed.
    ended: BTreeMap<Handle, (NtStatus, u64)>,
    /// What runs when a request ends.
    ends: BTreeMap<Handle, Box<dyn FnOnce() + Send>>,
    /// Packets that the driver sees before the framework, and what becomes of them then.
    packets: BTreeMap<GuestPtr<IRP>, preprocess::Then>,
    /// Objects' locks that a driver took, with the IRQL before.
    lock_irqls: Vec<(Handle, u8)>,
}

impl Framework {
    /// Whether an object belongs to another, maybe by others in between.
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

/// This layer's part of the machine.
pub(crate) struct Attached {
    framework: Mutex<Framework>,
    /// Ends the requests that clients have open on a device.
    close_clients: fn(Handle),
}

impl Attached {
    pub(crate) fn new(close_clients: fn(Handle)) -> Self {
        Self { framework: Mutex::default(), close_clients }
    }
}

static FRAMEWORK: Part<Attached> = Part::new();

/// Makes the framework of a machine that of this process; a second one is refused.
pub(crate) fn attach(framework: &'static Attached) {
    FRAMEWORK.attach(framework);
}

/// Looks at or changes the framework's state. No driver code may run in `body`.
fn with<R>(body: impl FnOnce(&mut Framework) -> R) -> R {
    body(&mut kernel::lock(&FRAMEWORK.get().framework))
}

/// A device is about to go: clients wait for their requests and close their files.
fn close_clients(device: Handle) {
    (FRAMEWORK.get().close_clients)(device);
}

/// Whether the driver created its object with the framework. One that only bound takes IRPs by itself.
pub(crate) fn has_driver() -> bool {
    with(|framework| !framework.driver().is_null())
}

/// Reports objects that are left, and forgets everything.
pub(crate) fn report_leaks() {
    object::report_leaks();
}
