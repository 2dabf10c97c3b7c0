//! Requests for the device of a driver, and the replies, as types: `driver-client` sends them on Windows, and other programs of this
//! project write the requests, read the replies, and send the same requests to a driver that runs in `nt-host`.
//!
//! The replies have the driver's `NTSTATUS`. `DeviceIoControl` would return a Win32 error, which several statuses share.

mod device;
mod request;
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod system;

pub use device::Device;
pub use request::{Reply, Request, Requests};
pub use system::{Error, send};
