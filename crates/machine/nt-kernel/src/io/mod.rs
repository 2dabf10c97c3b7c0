//! The I/O manager: device stacks, requests, MDLs, work items and device interfaces.

mod activity;
pub mod below;
pub mod build;
pub mod bus;
pub mod cancel;
pub mod client;
mod content;
mod contract;
mod csq;
pub mod device;
mod directory_file;
pub mod dispatching;
mod driver_calls;
pub mod exchange;
pub mod file;
pub mod file_info;
mod hardware;
mod history;
mod information;
pub mod interface;
pub mod interrupt;
mod irp;
pub mod listing;
pub mod manager;
pub mod mdl;
pub mod modules;
pub mod names;
pub mod open;
pub mod plug_play;
pub mod pnp;
pub mod power_framework;
pub mod registration;
mod relations;
mod remove_lock;
pub mod request;
pub mod resources;
pub mod rules;
mod security;
mod services;
pub mod stack;
mod start_io;
pub mod text;
mod timer;
mod tree;
pub mod volume;
mod volume_names;
pub mod wmi;
mod wmi_library;
pub mod work;

use nt_verifier::routine::Routine;

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
