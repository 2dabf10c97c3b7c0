//! A command and its flags, as each command describes them.

use crate::context::Context;
use driver_build::Error;

/// One command of `cargo xtask`.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// One line, for the list of commands.
    pub(crate) summary: &'static str,
    /// What the command does, for `cargo xtask COMMAND --help`.
    pub(crate) details: &'static str,
    pub(crate) flags: &'static [Flag],
    /// Whether it only prints a list, which its reader need not read to the end.
    pub(crate) only_lists: bool,
    pub(crate) run: fn(&Context) -> Result<(), Error>,
}

/// A flag or an operand of a command.
pub(crate) struct Flag {
    /// `--flag` for a flag, `--flag VALUE` for a flag that needs a value, and `WORD` without dashes for operands. A
    /// command with an operand accepts any number of them.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
}

impl Flag {
    /// The flag without the placeholder of its value.
    pub(crate) fn word(&self) -> &'static str {
        self.name.split(' ').next().unwrap_or(self.name)
    }

    pub(crate) fn takes_value(&self) -> bool {
        self.name.contains(' ')
    }

    pub(crate) fn is_operand(&self) -> bool {
        !self.name.starts_with('-')
    }
}
