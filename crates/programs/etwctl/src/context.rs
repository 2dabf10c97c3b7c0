//! The context of a command: the machine and the output.

use std::io;

use command_line::{Inputs, error, has_colours, note};
use etw_session::platform::shows_colours;
use etw_session::{Machine, Session};
use etw_types::Win32Error;

use crate::cli::Global;
use crate::failure::Failure;
use crate::output::{Json, Table, document, table};
use crate::values::nearest;

/// The machine, the form of the output, and the files that must not be replaced.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) is_json: bool,
    pub(crate) has_colour: bool,
    /// The file that the commands of a batch are read from.
    pub(crate) inputs: Inputs,
}

impl<'a> Context<'a> {
    pub(crate) fn new(machine: &'a Machine, global: Global) -> Self {
        let has_colour = has_colours(&io::stdout()) && shows_colours();
        Self { machine, is_json: global.json, has_colour, inputs: Inputs::new() }
    }

    /// Writes a table.
    pub(crate) fn table(&self, table: Table) -> Result<(), Failure> {
        let text = if self.is_json { format!("{}\n", document([("rows", table.json())])) } else { table.text() };
        Self::write(&text)
    }

    /// Writes names and values.
    pub(crate) fn record(&self, members: Vec<(&'static str, Json)>) -> Result<(), Failure> {
        let text = if self.is_json { format!("{}\n", document(members)) } else { table::record(&members) };
        Self::write(&text)
    }

    /// Prints what was done; nothing with `--json`.
    pub(crate) fn done(&self, text: &str) -> Result<(), Failure> {
        if self.is_json { Ok(()) } else { Self::write(&format!("{text}\n")) }
    }

    /// Prints a note about the limits of sessions on this system, if there are any; nothing with `--json`.
    pub(crate) fn caveat(&self) {
        if let Some(caveat) = self.machine.caveat().filter(|_| !self.is_json) {
            note(caveat);
        }
    }

    /// Finds a session by name. If there is none, the error suggests a similar name.
    pub(crate) fn attach(&self, name: &str) -> Result<Session, Failure> {
        self.machine.attach(name).map_err(|error| {
            let names = self.machine.sessions().unwrap_or_default().into_iter().map(|session| session.properties.name);
            match nearest(name, names) {
                Some(near) if error.code() == Win32Error::WmiInstanceNotFound => Failure::NotFound(error, near),
                _ => error.into(),
            }
        })
    }

    /// Prints an error for each session that could not be stopped.
    pub(crate) fn report_unstopped(machine: &Machine) {
        for unstopped in machine.unstopped() {
            error(&format!("session '{}' was not stopped: {}", unstopped.session, unstopped.error));
        }
    }

    /// Errors of standard output are handled by `command_line::print` and `command_line::end`.
    #[expect(clippy::unnecessary_wraps, reason = "the shape that commands want")]
    fn write(text: &str) -> Result<(), Failure> {
        command_line::print(text);
        Ok(())
    }
}
