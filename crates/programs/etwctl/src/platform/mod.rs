//! The differences between systems: whether there is a demonstration provider, whether a driver can be run, and how an interrupt
//! is noticed.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod driver;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "no_driver.rs"]
mod driver;
#[cfg(not(windows))]
mod host;
#[cfg(windows)]
mod windows;

pub(crate) use driver::Driver;
#[cfg(not(windows))]
pub(crate) use host::{Demo, interrupted};
#[cfg(windows)]
pub(crate) use windows::{Demo, interrupted};

use std::time::Duration;

use etw_types::Guid;

/// The plan of a driver's run.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    expect(dead_code, reason = "it is read from the command line, but drivers cannot be run on this system")
)]
pub(crate) struct Plan {
    /// Device control requests: code and input.
    pub(crate) requests: Vec<(u32, Vec<u8>)>,
    /// The time that passes for the driver before it is unloaded.
    pub(crate) time: Duration,
}

/// The results of a driver's run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// One line of text for each request.
    pub(crate) replies: Vec<String>,
    /// The providers that the driver registered.
    pub(crate) providers: Vec<Guid>,
    /// The mistakes of the driver that `nt-host` found.
    pub(crate) findings: Vec<String>,
    /// What the run did not exercise, for example a device that did not start.
    pub(crate) gaps: Vec<String>,
    /// Why the run was not completed, if the findings do not say it.
    pub(crate) error: Option<String>,
    /// Whether the error is that the driver was not loaded.
    pub(crate) is_refused: bool,
}
