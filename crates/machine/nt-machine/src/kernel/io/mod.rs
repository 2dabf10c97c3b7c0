//! The I/O manager: device stacks, requests, MDLs, work items and device interfaces.

mod activity;
pub(crate) mod below;
pub(crate) mod build;
pub(crate) mod bus;
pub(crate) mod cancel;
pub(crate) mod client;
mod content;
mod contract;
mod csq;
pub(crate) mod device;
mod directory_file;
pub(crate) mod dispatching;
mod driver_calls;
pub(crate) mod exchange;
pub(crate) mod file;
pub(crate) mod file_info;
mod hardware;
mod history;
mod information;
pub(crate) mod interface;
pub(crate) mod interrupt;
mod irp;
pub(crate) mod listing;
pub(crate) mod manager;
pub(crate) mod mdl;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod plug_play;
pub(crate) mod pnp;
pub(crate) mod power_framework;
pub(crate) mod registration;
mod relations;
mod remove_lock;
pub(crate) mod request;
pub(crate) mod resources;
pub(crate) mod rules;
mod security;
mod services;
pub(crate) mod stack;
mod start_io;
pub(crate) mod text;
mod timer;
mod tree;
pub(crate) mod volume;
mod volume_names;
pub(crate) mod wmi;
mod wmi_library;
pub(crate) mod work;

use crate::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[
    activity::ROUTINES,
    build::ROUTINES,
    cancel::ROUTINES,
    csq::ROUTINES,
    device::ROUTINES,
    directory_file::ROUTINES,
    driver_calls::ROUTINES,
    file::ROUTINES,
    hardware::ROUTINES,
    information::ROUTINES,
    interface::ROUTINES,
    interrupt::ROUTINES,
    mdl::ROUTINES,
    plug_play::ROUTINES,
    power_framework::ROUTINES,
    registration::ROUTINES,
    remove_lock::ROUTINES,
    request::ROUTINES,
    security::ROUTINES,
    services::ROUTINES,
    start_io::ROUTINES,
    timer::ROUTINES,
    volume_names::ROUTINES,
    wmi::ROUTINES,
    wmi_library::ROUTINES,
    work::ROUTINES,
];
