//! What differs between systems: whether there is a demonstration provider, whether a driver can be run, and how a user
//! interrupts.

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

/// What a driver is to do.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    expect(dead_code, reason = "it is read from the command line, and nobody can do it here")
)]
pub(crate) struct Plan {
    /// Control requests: code and input.
    pub(crate) requests: Vec<(u32, Vec<u8>)>,
    /// The time that passes for it before it is unloaded.
    pub(crate) time: Duration,
}

/// What became of it, in words.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// A line for each request.
    pub(crate) answers: Vec<String>,
    /// The providers that it registered.
    pub(crate) providers: Vec<Guid>,
    /// What it did wrong.
    pub(crate) findings: Vec<String>,
    /// Why it did not get to its end.
    pub(crate) error: Option<String>,
}
