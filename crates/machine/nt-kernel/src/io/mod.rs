//! The I/O manager: device stacks, requests, MDLs, work items and device interfaces.

pub mod device;
pub mod file;
pub mod hardware;
mod information;
pub mod mdl;
pub mod modules;
pub mod pnp;
pub mod registration;
pub mod request;
mod security;
pub mod text;
mod timer;
pub mod wmi;
pub mod work;

use nt_verifier::routine::Routine;

pub(super) const ROUTINES: &[&[&[Routine]]] =
    &[device::ROUTINES, file::ROUTINES, hardware::ROUTINES, pnp::ROUTINES, request::ROUTINES, wmi::ROUTINES, OWN];

/// Those of the modules that are not in a room.
const OWN: &[&[Routine]] = &[
    information::ROUTINES,
    mdl::ROUTINES,
    registration::ROUTINES,
    security::ROUTINES,
    timer::ROUTINES,
    work::ROUTINES,
];
