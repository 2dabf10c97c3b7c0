//! Errors of a run, apart from the driver's own mistakes.

use std::fmt;
use std::io;
use std::path::PathBuf;

use etw_types::NtStatus;

use crate::text::TextError;
use crate::{ImageError, Report, Rule};

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    File(PathBuf, io::Error),
    /// The file is not a driver, or is damaged.
    Image(PathBuf, ImageError),
    /// The description of the run is invalid.
    Usage(String),
    /// A request with this control code has data in its output buffer, which its driver would not get.
    OutputLost(u32),
    /// This Windows does not load the driver: the status and the reason.
    NotLoaded(NtStatus, String),
    /// `DriverEntry` failed.
    DriverEntry(NtStatus, Box<Report>),
    /// The driver has no unload routine, so Windows keeps it loaded.
    NotUnloaded,
    /// A callback of the driver returned this failure status.
    Status(NtStatus),
    /// The driver stopped the machine; the report says why.
    Stopped(Box<Report>),
    /// The process that runs the driver is gone or does not reply.
    Process(io::Error),
    /// The host could not perform the operation.
    Host(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Image(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Usage(reason) | Self::Host(reason) => f.write_str(reason),
            Self::OutputLost(code) => TextError::OutputLost(*code).fmt(f),
            Self::NotLoaded(status, reason) => write!(f, "not loaded, {status}: {reason}"),
            Self::DriverEntry(status, _) => write!(f, "DriverEntry returned {status}"),
            Self::NotUnloaded => f.write_str("not unloaded: the driver has no unload routine"),
            Self::Status(status) => write!(f, "the driver returned {status}"),
            Self::Stopped(report) => match report.findings().last() {
                Some(finding) if finding.rule == Rule::Host => write!(f, "the host failed: {finding}"),
                Some(finding) => write!(f, "the driver stopped the machine: {finding}"),
                None => f.write_str("the driver stopped the machine"),
            },
            Self::Process(error) => write!(f, "the process that runs the driver: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(_, error) | Self::Process(error) => Some(error),
            Self::Image(_, error) => Some(error),
            _ => None,
        }
    }
}
