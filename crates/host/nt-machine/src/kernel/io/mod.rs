//! The I/O manager: devices and their stacks, requests, memory descriptor lists, work items, interfaces.

pub(crate) mod below;
pub(crate) mod build;
pub(crate) mod client;
pub(crate) mod device;
mod file;
pub(crate) mod interface;
mod irp;
pub(crate) mod mdl;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod pnp;
pub(crate) mod registration;
pub(crate) mod request;
pub(crate) mod stack;
mod start_io;
mod timer;
pub(crate) mod work;

use crate::routine::Routine;

pub(super) const ROUTINES: [&[Routine]; 10] = [
    build::ROUTINES,
    device::ROUTINES,
    file::ROUTINES,
    interface::ROUTINES,
    mdl::ROUTINES,
    registration::ROUTINES,
    request::ROUTINES,
    start_io::ROUTINES,
    timer::ROUTINES,
    work::ROUTINES,
];
