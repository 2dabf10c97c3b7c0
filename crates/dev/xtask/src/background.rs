//! Commands that run beside others. Their output goes to a file and is printed when they have ended.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use driver_build::{Error, Started, Tool, output};

/// A command that runs in the background. It is ended when this value is dropped.
pub(crate) struct Background {
    command: Started,
    log: PathBuf,
}

impl Background {
    /// Starts a command. Its output goes to the file `log`.
    pub(crate) fn start(log: PathBuf, command: Tool) -> Result<Self, Error> {
        let file = File::create(&log).map_err(|error| failed(&log, &error))?;
        Ok(Self { command: command.start_into(&file)?, log })
    }

    /// Waits until the command has ended, and prints its output.
    pub(crate) fn wait(self) -> Result<(), Error> {
        let result = self.command.wait();
        let printed = fs::read(&self.log).map_err(|error| failed(&self.log, &error))?;
        output::print(&String::from_utf8_lossy(&printed));
        result
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Failed(format!("{}: {error}", path.display()))
}
