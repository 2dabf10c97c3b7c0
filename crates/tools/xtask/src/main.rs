//! `cargo xtask`: the repository's commands.
//!
//! This file only picks a command and turns its result into an exit code: 0 when all went well, 1 when a step
//! failed, 2 when the command line is wrong or something is missing that cannot be installed from here.
//! The program has no dependency, so that it builds in a second on a fresh machine.

mod cli;
mod commands;
mod context;
mod driver;
mod error;
mod process;
mod setup;
mod steps;
#[expect(dead_code, reason = "a module of etwctl, which xtask needs less of")]
#[path = "../../etwctl/src/suggest.rs"]
mod suggest;

use std::process::ExitCode;

use cli::Invocation;
use context::Context;
use error::Error;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::Said(_)) {
                eprintln!("error: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Error> {
    match cli::parse(arguments)? {
        Invocation::Help(text) => {
            print!("{text}");
            Ok(())
        }
        Invocation::Run { command, flags, words } => (command.run)(&Context::new(flags).with_words(words)),
    }
}
