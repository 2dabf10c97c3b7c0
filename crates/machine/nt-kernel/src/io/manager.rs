//! What the Plug and Play manager sends and keeps: its minor functions, the actions that drivers ask for, and children.
//! [`super::pnp`] and [`super::relations`] use them.

use nt_processor::layout::DEVICE_OBJECT;
use nt_processor::memory::GuestPtr;

/// The minor functions of `IRP_MJ_PNP`.
pub const START_DEVICE: u8 = 0x00;
pub(super) const QUERY_REMOVE: u8 = 0x01;
/// `IRP_MN_REMOVE_DEVICE`.
pub const REMOVE_DEVICE: u8 = 0x02;
pub(super) const CANCEL_REMOVE: u8 = 0x03;
pub(super) const STOP_DEVICE: u8 = 0x04;
pub(super) const QUERY_STOP: u8 = 0x05;
pub(super) const CANCEL_STOP: u8 = 0x06;
/// `IRP_MN_QUERY_DEVICE_RELATIONS`.
pub const QUERY_DEVICE_RELATIONS: u8 = 0x07;
/// `IRP_MN_QUERY_INTERFACE`.
pub const QUERY_INTERFACE: u8 = 0x08;
pub(super) const QUERY_CAPABILITIES: u8 = 0x09;
pub(super) const FILTER_RESOURCE_REQUIREMENTS: u8 = 0x0D;
pub(super) const READ_CONFIG: u8 = 0x0F;
pub(super) const WRITE_CONFIG: u8 = 0x10;
pub(super) const QUERY_PNP_DEVICE_STATE: u8 = 0x14;
pub(super) const SURPRISE_REMOVAL: u8 = 0x17;

/// `IRP_MN_WAIT_WAKE`, a minor function of `IRP_MJ_POWER`.
pub(super) const WAIT_WAKE: u8 = 0;

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
