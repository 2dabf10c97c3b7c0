//! The Kernel-Mode Driver Framework: the functions of 1.33. An older Windows offers those that its framework has.
//!
//! A driver is bound to it by [`loader`], which gives it a table of functions. Objects are entries of one map, known by
//! handles that are no addresses: a driver that follows one faults. The map's lock is never held while driver code runs.
//!
//! Written from Microsoft's public documentation and headers of the framework. The order of events follows the
//! documentation; where it leaves the order open (siblings that are cleaned up), ours is the reverse of creation.

mod attributes;
mod cancel;
mod client;
mod data;
mod deliver;
mod device;
mod driver;
mod file;
mod functions;
mod init;
mod life;
mod loader;
mod locks;
mod memory;
mod misc;
mod object;
mod power;
mod property;
mod queue;
mod queue_state;
mod registry;
mod request;
mod retrieve;
mod structures;
mod sync;
mod timer;
mod work;

use std::collections::BTreeMap;

use crate::kernel::{self, kernel};

pub(crate) use client::{Asked, Sent, begin, cancel_sent, finish};
pub(crate) use device::{add_device, remove_all, remove_device, set_power};
pub(crate) use functions::functions;
pub(crate) use loader::LOADER;

use object::Object;

/// `WDFOBJECT` and its relatives.
type Handle = u64;

/// Statuses that framework functions answer.
mod status {
    pub(super) const SUCCESS: u64 = 0;
    pub(super) const INFO_LENGTH_MISMATCH: u32 = 0xC000_0004;
    pub(super) const INVALID_PARAMETER: u64 = 0xC000_000D;
    pub(super) const INVALID_DEVICE_REQUEST: u32 = 0xC000_0010;
    pub(super) const INVALID_DEVICE_STATE: u32 = 0xC000_0184;
    pub(super) const NOT_FOUND: u32 = 0xC000_0225;
    /// `STATUS_WDF_PAUSED` and `STATUS_WDF_BUSY`.
    pub(super) const PAUSED: u32 = 0xC020_0203;
    pub(super) const BUSY: u32 = 0xC020_0204;
    pub(super) const BUFFER_TOO_SMALL: u64 = 0xC000_0023;
    pub(super) const OBJECT_NAME_NOT_FOUND: u64 = 0xC000_0034;
    pub(super) const OBJECT_NAME_COLLISION: u64 = 0xC000_0035;
    pub(super) const INSUFFICIENT_RESOURCES: u32 = 0xC000_009A;
    pub(super) const CANCELLED: u32 = 0xC000_0120;
    pub(super) const NO_MORE_ENTRIES: u64 = 0x8000_001A;
    pub(super) const TIMEOUT: u64 = 0x102;
}

/// What the framework keeps.
#[derive(Default)]
pub(crate) struct Framework {
    bound: Option<loader::Bound>,
    objects: BTreeMap<Handle, Object>,
    created: u64,
    /// Requests that have ended, with status and information: a second end is noticed.
    ended: BTreeMap<Handle, (u32, u64)>,
    /// Objects' locks that a driver took, with the IRQL before.
    lock_irqls: Vec<(Handle, u8)>,
}

/// Looks at or changes the framework's state. No driver code may run in `body`.
fn with<R>(body: impl FnOnce(&mut Framework) -> R) -> R {
    body(&mut kernel::lock(&kernel().framework))
}

/// Whether the driver is one of the framework's.
pub(crate) fn is_bound() -> bool {
    with(|framework| framework.bound.is_some())
}

/// Reports objects that are left, and forgets everything.
pub(crate) fn report_leaks() {
    object::report_leaks();
}
