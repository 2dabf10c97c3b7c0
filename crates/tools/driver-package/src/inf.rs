//! INF files: how Windows is told to install a driver.
//!
//! [`Text`] is the file as characters, [`Inf`] its sections and entries with their lines, [`stamp`] makes an `.inf` of an
//! `.inx`, [`lint`] holds it against rules of Microsoft's infverif and keeps their numbers. Nothing here reads a file or
//! the clock.

mod classes;
mod devices;
pub mod lint;
mod parse;
mod stamp;
mod text;

pub use devices::{Arch, Device, Service};
pub use parse::{Entry, Inf, Section};
pub use stamp::{DriverVersion, Stamp, Stamped, stamp};
pub use text::{Encoding, Text};

/// A fault in a file whose name its finder does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// infverif's number.
    pub rule: u16,
    /// Counted from one.
    pub line: usize,
    /// What was found.
    pub text: String,
}

impl Fault {
    fn new(rule: u16, line: usize, text: impl Into<String>) -> Self {
        Self { rule, line, text: text.into() }
    }
}
