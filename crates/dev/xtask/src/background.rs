//! Commands that run beside others. Their output goes to a file and is printed when they have ended.

use std::fs;

use command_line::{Output, shown};
use driver_build::{Error, Started, Tool, output};

/// A command that runs in the background. It is ended when this value is dropped.
pub(crate) struct Background {
    command: Started,
    log: Output,
}

impl Background {
    /// Starts a command. Its output goes to the file `log`.
    pub(crate) fn start(log: Output, command: Tool) -> Result<Self, Error> {
        let file = log.create_log()?;
        Ok(Self { command: command.start_into(&file)?, log })
    }

    /// Waits until the command has ended, and prints its output.
    pub(crate) fn wait(self) -> Result<(), Error> {
        let result = self.command.wait();
        let printed = fs::read(&self.log);
        let printed = printed.map_err(|error| Error::Failed(format!("{}: {error}", shown(self.log.as_ref()))))?;
        output::print(&String::from_utf8_lossy(&printed));
        result
    }
}
