//! The table of commands. Each command has a module.

mod bench;
mod build;
mod check;
mod demo;
mod etwctl;
mod evidence;
mod fuzz;
mod inspect;
mod lint;
mod loom;
mod mutants;
mod new;
mod package;
mod test;

use crate::command::Command;

/// All commands, in the order of the help text.
pub(crate) static COMMANDS: &[Command] = &[
    demo::COMMAND,
    test::COMMAND,
    lint::COMMAND,
    new::COMMAND,
    build::COMMAND,
    check::COMMAND,
    package::COMMAND,
    inspect::COMMAND,
    fuzz::COMMAND,
    mutants::COMMAND,
    bench::COMMAND,
    evidence::COMMAND,
];
