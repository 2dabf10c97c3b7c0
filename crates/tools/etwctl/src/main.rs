//! `etwctl`: ETW sessions, providers, information classes and traces, in one command.
//!
//! On Windows it acts on the system; elsewhere on an engine in its own process. Decoding works everywhere. The command holds
//! no rules of its own: those are in `etw-session` and `etw-etl`.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod context;
mod output;
mod platform;
mod select;
mod suggest;
mod values;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use cli::help;
use cli::parse::Parsed;
use context::{Context, Failure};
use etw_session::Machine;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let machine = Machine::local();
    let parsed = match &arguments {
        Ok(arguments) => cli::parse(arguments),
        Err(word) => Err(format!("the argument `{}` is not valid UTF-8", word.as_encoded_bytes().escape_ascii())),
    };
    let result = match parsed {
        Ok(Parsed::Run(line)) => Context::new(&machine, &line).and_then(|context| commands::run(&context, &line)),
        Ok(Parsed::Help(command)) => {
            let text = command.map_or_else(|| help::overview(machine.description(), machine.caveat()), help::of);
            print(&text)
        }
        Ok(Parsed::Version) => print(concat!("etwctl ", env!("CARGO_PKG_VERSION"), "\n")),
        Err(message) => Err(Failure::Usage(message)),
    };
    Context::tell_unstopped(&machine);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            // Whoever looks for a session of an earlier command has to know where sessions live.
            if let Some(caveat) = machine.caveat().filter(|_| failure.is_not_found()) {
                eprintln!("note: {caveat}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(io::stdout().write_all(text.as_bytes())?)
}
