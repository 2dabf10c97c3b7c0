//! The command line of `driver-package`. Each subcommand reads files and prints results; the library does the work.

mod adopt;
mod compare;
mod failure;
pub mod inf2cat;
mod inspect;
mod lint;
mod package;
pub mod stampinf;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::error::ErrorKind as UsageError;
use clap::{CommandFactory as _, Parser, Subcommand};
use command_line::{VERSION, end, end_listing, exit, explain, message, parse_as};

use crate::Problems;
use crate::inf::Arch;
use failure::Failure;

/// Inspects, signs, verifies and packages Windows drivers.
#[derive(Parser)]
#[command(name = "driver-package", version = VERSION, max_term_width = 100, disable_help_subcommand = true, after_help = exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Inspect(inspect::Arguments),
    Lint(lint::Arguments),
    Package(Box<package::Arguments>),
    Adopt(adopt::Arguments),
    Verify(verify::Arguments),
    Compare(compare::Arguments),
}

impl Command {
    fn is_listing(&self) -> bool {
        match self {
            Self::Inspect(arguments) => arguments.is_listing(),
            Self::Lint(arguments) => arguments.is_listing(),
            Self::Package(_) | Self::Adopt(_) | Self::Verify(_) | Self::Compare(_) => false,
        }
    }
}

/// The result of a command: an exit code, or the reason why the command line is not valid.
type Outcome = Result<u8, Failure>;

/// Runs the command. `words` begins with the program's name.
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    start(Arguments::command(), words)
}

/// As [`main`], for `cargo driver`: help and messages about wrong usage show its commands.
#[must_use]
pub fn main_in_cargo_driver(words: impl Iterator<Item = OsString>) -> ExitCode {
    let description = Arguments::command().bin_name("cargo driver");
    let description = [
        ("inspect", "cargo driver inspect [OPTIONS] [FILE]..."),
        ("package", "cargo driver package [OPTIONS]"),
        ("adopt", "cargo driver package --adopt <FOLDER> [OPTIONS]"),
    ]
    .into_iter()
    .fold(description, |all, (name, usage)| all.mut_subcommand(name, |command| command.override_usage(usage)));
    start(description, words)
}

fn start(mut description: clap::Command, words: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Arguments = match parse_as(description.clone(), words) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let (name, outcome) = match &arguments.command {
        Command::Inspect(arguments) => ("inspect", inspect::run(arguments)),
        Command::Lint(arguments) => ("lint", lint::run(arguments)),
        Command::Package(arguments) => ("package", package::run(arguments)),
        Command::Adopt(arguments) => ("adopt", adopt::run(arguments)),
        Command::Verify(arguments) => ("verify", verify::run(arguments)),
        Command::Compare(arguments) => ("compare", compare::run(arguments)),
    };
    match outcome {
        // The rules are a listing. All else is a verdict, or what was written.
        Ok(code) if arguments.command.is_listing() => end_listing(code),
        Ok(code) => end(code),
        Err(failure) => {
            // `build` is called first, so that the usage shows the whole command.
            description.build();
            let part = description.find_subcommand_mut(name).map(std::mem::take).unwrap_or_default();
            explain(&part.clone().error(UsageError::ValueValidation, failure))
        }
    }
}

/// Prints why there is no package, and returns the exit code.
fn refused(problems: &Problems) -> u8 {
    for problem in &problems.0 {
        message(&problem.to_string());
    }
    if problems.has_access_error() { exit::USAGE } else { exit::FAILED }
}

/// Parses the values of `--arch`.
fn arch() -> impl clap::builder::TypedValueParser<Value = Arch> {
    PossibleValuesParser::new(["x64", "arm64"]).try_map(|name| Arch::parse(&name).ok_or("an unknown processor"))
}
