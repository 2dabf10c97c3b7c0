//! The table of commands. Each command has a module.

mod bench;
mod build;
mod demo;
mod etwctl;
mod evidence;
mod fuzz;
mod lint;
mod loom;
mod modules;
mod mutants;
mod package;
mod publish;
mod test;

use crate::command::Command;

/// All commands, in the order of the help text.
pub(crate) static COMMANDS: &[Command] = &[
    demo::COMMAND,
    test::COMMAND,
    lint::COMMAND,
    build::COMMAND,
    package::COMMAND,
    fuzz::COMMAND,
    mutants::COMMAND,
    bench::COMMAND,
    evidence::COMMAND,
    modules::COMMAND,
    publish::COMMAND,
];
