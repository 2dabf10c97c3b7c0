//! INF files, which tell Windows how to install a driver.
//!
//! [`Text`] is the text of the file, [`Inf`] its sections and entries with their lines. [`stamp`] creates an `.inf`
//! from an `.inx`, and [`lint`] checks it against rules of Microsoft's infverif, with the same numbers. Nothing here
//! reads files or the clock.

mod classes;
mod devices;
pub mod lint;
mod parse;
mod stamp;
mod text;

pub use devices::{Arch, Device, Service};
pub use parse::{Entry, Inf, Section};
pub(crate) use stamp::parse_date;
pub use stamp::{DriverVersion, Stamp, Stamped, stamp};
pub use text::{Encoding, Text};

/// A fault in a file. The code that finds it does not know the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the rule in infverif.
    pub rule: u16,
    /// The line, counted from one.
    pub line: usize,
    /// A description.
    pub text: String,
}

impl Fault {
    fn new(rule: u16, line: usize, text: impl Into<String>) -> Self {
        Self { rule, line, text: text.into() }
    }
}
