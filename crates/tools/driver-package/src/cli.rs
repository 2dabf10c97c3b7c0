//! The command `driver-package`: each subcommand reads and prints; the library decides.
//!
//! Exit codes: 0 all is well; 1 an input is not right; 2 wrong usage, or a file that cannot be read.

mod adopt;
mod inspect;
mod lint;
mod package;
mod verify;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::error::ErrorKind as UsageError;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::inf::Arch;

/// What becomes of a driver before Windows sees it.
#[derive(Parser)]
#[command(name = "driver-package", version, max_term_width = 100, disable_help_subcommand = true)]
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
}

/// How a command ends: with an exit code, or with the reason why its command line makes no sense.
type Outcome = Result<u8, String>;

/// Runs the command. `words` begins with the program's name.
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let (name, outcome) = match &arguments.command {
        Command::Inspect(arguments) => ("inspect", inspect::run(arguments)),
        Command::Lint(arguments) => ("lint", lint::run(arguments)),
        Command::Package(arguments) => ("package", package::run(arguments)),
        Command::Adopt(arguments) => ("adopt", adopt::run(arguments)),
        Command::Verify(arguments) => ("verify", verify::run(arguments)),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(reason) => {
            let mut command = Arguments::command();
            // Built first, so that the usage shows the whole command.
            command.build();
            let part = command.find_subcommand_mut(name).map(std::mem::take).unwrap_or_default();
            part.clone().error(UsageError::ValueValidation, reason).exit()
        }
    }
}

/// The values of `--arch`.
fn arch() -> impl clap::builder::TypedValueParser<Value = Arch> {
    PossibleValuesParser::new(["x64", "arm64"]).try_map(|name| Arch::parse(&name).ok_or("an unknown processor"))
}

/// Prints. It is not an error if the reader went away.
fn print(text: &str) -> u8 {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}");
            2
        }
        _ => 0,
    }
}
