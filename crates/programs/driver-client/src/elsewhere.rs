//! Systems that have no devices of Windows drivers.

use std::fmt;

use crate::{Device, Reply, Request};

/// Why requests cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// This system has no devices of Windows drivers.
    Unsupported,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("requests can be sent on Windows only; `cargo driver run` sends them to a driver that runs here")
    }
}

impl std::error::Error for Error {}

/// Always fails.
///
/// # Errors
///
/// [`Error::Unsupported`].
pub fn send(_device: &Device, _requests: &[Request], _each: impl FnMut(Reply)) -> Result<(), Error> {
    Err(Error::Unsupported)
}
