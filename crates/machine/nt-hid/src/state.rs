//! The minidrivers that have registered, and their devices.

use std::sync::{Arc, Mutex, MutexGuard};

use nt_kernel::lock;
use nt_processor::layer_state::LayerState;
use nt_processor::layout::{DEVICE_OBJECT, DRIVER_OBJECT};
use nt_processor::memory::{Code, GuestPtr};
use nt_processor::sorted::SortedMap;

use super::report::Reports;

pub(super) type Driver = GuestPtr<DRIVER_OBJECT>;
pub(super) type Object = GuestPtr<DEVICE_OBJECT>;

static HID: LayerState<Mutex<State>> = LayerState::new();

/// Makes this the state of this process. Later calls have no effect.
pub fn attach(state: &'static Mutex<State>) {
    HID.attach(state);
}

/// Locks the state. It is never locked while the minidriver runs.
pub(super) fn state() -> MutexGuard<'static, State> {
    lock(HID.get())
}

/// Forgets everything, after the last image was unloaded.
pub fn forget() {
    *state() = State::default();
}

/// The state of the class driver.
#[derive(Default)]
pub struct State {
    pub(super) minidrivers: SortedMap<Driver, Minidriver>,
    pub(super) devices: SortedMap<Object, Device>,
}

impl State {
    /// Returns the minidriver of a device.
    pub(super) fn minidriver(&self, device: Object) -> Option<&Minidriver> {
        self.minidrivers.get(&self.devices.get(&device)?.driver)
    }
}

/// A minidriver: the entry points that it set before it registered.
#[derive(Clone, Debug)]
pub(super) struct Minidriver {
    pub(super) functions: [GuestPtr<Code>; 28],
    pub(super) add_device: GuestPtr<Code>,
    /// The size of its device extension.
    pub(super) extension: u32,
    pub(super) is_polled: bool,
    /// The call that registered it.
    pub(super) from: u64,
}

/// A device.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) driver: Driver,
    pub(super) lower: Object,
    /// What the minidriver said when the device started.
    pub(super) description: Option<Arc<Description>>,
}

/// The attributes and the reports of a device.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) vendor: u16,
    pub(super) product: u16,
    pub(super) version: u16,
    pub(super) reports: Reports,
}
