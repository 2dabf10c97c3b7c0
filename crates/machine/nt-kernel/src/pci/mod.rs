//! A PCI device that a test describes: its configuration space, and how drivers read and write it.
//!
//! All devices of the driver have the same space. A driver reaches it through `IRP_MN_READ_CONFIG` and
//! `IRP_MN_WRITE_CONFIG`, through `BUS_INTERFACE_STANDARD` ([`bus_interface`]), or through `HalGetBusDataByOffset` for bus 0,
//! slot 0. Without a space, the devices are not on a PCI bus.

mod bus_interface;
mod space;

pub(crate) use bus_interface::{DEREFERENCE, REFERENCE, provide};
pub(crate) use bus_interface::{ID, ROUTINES};
pub(crate) use space::Space;
pub(crate) use space::{ids, is_present, read, write};
