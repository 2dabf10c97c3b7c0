//! Tests the parts of the sample driver that need no kernel: its protocol and its table of devices.
//!
//! The driver is a separate workspace that builds only for Windows. This crate compiles the modules that need no kernel
//! a second time.
#![cfg(test)]

#[path = "../../../../driver-sample/src/devices.rs"]
mod devices;
#[path = "../../../../driver-sample/src/ioctl.rs"]
mod ioctl;

mod device_tests;
mod ioctl_tests;
