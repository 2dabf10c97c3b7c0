//! The integration tests of `nt-host`, one module for each subject, linked once.
#![cfg(test)]

mod below;
mod c_drivers;
mod children;
mod command;
mod common;
mod control;
mod coverage;
mod debugger;
#[rustfmt::skip]
mod every_step;
mod exceptions;
mod framework;
mod fuzz;
mod garbage;
mod hardware;
mod images;
mod kernel;
mod kmdf;
mod kmdf_rules;
mod limits;
mod loader;
mod losses;
mod matrix;
mod microsoft;
mod minifilters;
mod notify;
mod original;
mod places;
mod protection;
mod queues;
mod releases;
mod rules;
mod sample;
mod sample_parts;
mod session_control;
mod shared_data;
mod stacks;
mod state;
mod targets;
mod time;
mod traits;
mod wfp;
mod wmi;
