//! `cargo driver`: makes, builds, tests, runs and packages a driver in its own repository, on a host without Windows.
//!
//! Other crates do the work: `driver-build` runs cargo with the kit, `nt-host` runs the driver, `driver-package` inspects and
//! packages it. This program has the command line and chooses the defaults.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod arguments;
mod cache;
mod clean;
mod commands;
mod coverage;
mod deploy;
mod editor;
mod framework;
mod install_source;
mod internal;
mod junit;
mod mc;
mod new;
mod plan;
mod test;
mod trace;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::Arguments;

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // Cargo runs `cargo-driver driver …`.
    if words.get(1).is_some_and(|word| word == "driver") {
        words.remove(1);
    }
    if let Some((program, words)) = internal::parse(&words) {
        return internal::run(program, words);
    }
    match command_line::parse::<Arguments>(words) {
        Ok(arguments) => commands::run(&arguments.command),
        Err(code) => code,
    }
}
