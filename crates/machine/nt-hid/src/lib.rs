//! The HID class driver, `hidclass.sys`: what is above a HID minidriver.
//!
//! A minidriver registers in `DriverEntry`, and from then on the class driver has the entry points of its driver object
//! (`class`). It creates the device, asks the minidriver for descriptors when the device starts (`device`), and turns
//! the requests of clients into internal control requests (`client`). `report` reads report descriptors.
//!
//! The device has no children: a client opens the device itself, as if it were its only collection.
//!
//! This is written from Microsoft's public documentation (the pages of `hidport.h` and `hidclass.h`, "Minidrivers and the
//! HID class driver") and the HID specification 1.11.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]

mod class;
mod client;
mod code;
mod device;
mod minidriver;
mod report;
mod state;

use nt_verifier::routine::Routine;

pub use state::{State, attach, forget};

/// The routines of `hidclass.sys`.
pub const ROUTINES: &[&[Routine]] = &[class::ROUTINES];
