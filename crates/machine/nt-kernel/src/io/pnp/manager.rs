//! What the Plug and Play manager sends and keeps: its minor functions, the actions that drivers ask for, and children.
//! [`super`] and `relations` use them.

use nt_processor::layout::DEVICE_OBJECT;
use nt_processor::memory::GuestPtr;

/// What a driver can ask the Plug and Play manager to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `IoInvalidateDeviceState`: asks the device for its state. If it has failed or is gone, removes it by surprise.
    State,
    /// `IoInvalidateDeviceRelations`: asks the device for its children.
    Children,
}

/// A device that a bus device reported and that is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The physical device of the bus device.
    pub(super) bus: GuestPtr<DEVICE_OBJECT>,
    pub(super) device: GuestPtr<DEVICE_OBJECT>,
}
