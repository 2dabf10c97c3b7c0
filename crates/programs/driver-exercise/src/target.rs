//! The machine that a driver is exercised on, as the exercise sees it.

use std::fmt;

use command_line::{Output, OutputError};

/// What a script did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; 0 is success.
    pub code: i32,
    /// What it printed to standard output.
    pub output: String,
    /// What it printed to standard error.
    pub errors: String,
}

/// Why it is not known what a script did, or whether a file could be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The program that runs scripts, or the connection, could not be started or broke.
    Connection(String),
    /// The script did not end in time and was stopped.
    TimedOut,
    /// The user interrupted it.
    Interrupted,
    /// A file could not be copied.
    File(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(reason) => write!(f, "the connection failed: {reason}"),
            Self::TimedOut => f.write_str("it did not end in time"),
            Self::Interrupted => f.write_str("it was interrupted"),
            Self::File(reason) => f.write_str(reason),
        }
    }
}

impl From<OutputError> for Lost {
    fn from(error: OutputError) -> Self {
        Self::File(error.to_string())
    }
}

/// A machine with a folder that holds a driver package.
pub trait Target {
    /// Runs a script of the package. Scripts that clean up run even after an interrupt; `is_cleanup` is set for them.
    ///
    /// # Errors
    ///
    /// If it is not known how the script ended.
    fn script(&mut self, name: &str, arguments: &[String], is_cleanup: bool) -> Result<Ran, Lost>;

    /// Returns the path of a file in the package's folder, as the scripts understand it.
    fn path(&self, name: &str) -> String;

    /// Copies a file from the package's folder to this machine.
    ///
    /// # Errors
    ///
    /// If the file is not there, or cannot be copied.
    fn fetch(&mut self, name: &str, to: &Output) -> Result<(), Lost>;

    /// Reaches the machine again after it went away.
    ///
    /// # Errors
    ///
    /// If it cannot be reached.
    fn reconnect(&mut self) -> Result<(), Lost>;

    /// Whether the user has interrupted the exercise. Then only scripts that clean up run.
    fn is_interrupted(&self) -> bool;

    /// Waits. Returns early after an interrupt.
    fn wait(&mut self, time: std::time::Duration);
}
