//! The error of data without the layout of its class.

use std::{error, fmt};

use crate::session::TraceInfoClass;

/// A result that does not have the layout of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The class.
    pub class: TraceInfoClass,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the result of class {} is malformed: {}", self.class.as_int(), self.reason)
    }
}

impl error::Error for Malformed {}
