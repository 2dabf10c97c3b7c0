//! The parts of the sample driver that need no kernel: its protocol and its table of devices.
//!
//! The driver is a separate workspace that builds only for Windows. The modules that need no kernel are compiled a
//! second time here.

#[path = "../../../../../../driver-sample/src/devices.rs"]
mod devices;
#[path = "../../../../../../driver-sample/src/ioctl.rs"]
mod ioctl;

mod device_tests;
mod ioctl_tests;
