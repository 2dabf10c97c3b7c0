//! `cargo xtask demo`: builds the sample driver, runs it, and prints its events.

use std::io::{self, IsTerminal as _};

use windows_releases::{Release, UnknownRelease};

use super::build::{DRIVER, SETUP, TOOLS};
use crate::command::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, run_all};
use driver_build::{Error, Tool};

pub(super) const COMMAND: Command = Command {
    name: "demo",
    summary: "Builds the sample driver, runs its .sys, shows its events",
    details: "\
Installs what is missing, builds driver-sample for Windows without Windows, and
runs the .sys in a process on this machine: starts a session, loads the driver,
adds a device, sends requests, requests the driver's state (capture state), and
unloads the driver. Prints the statuses of set-information, every event with its
time and activity, and the driver's mistakes, if any.

Writes the trace (demo.etl), its events as JSON Lines (demo.json), and a page
that shows them in a browser (demo.html) to target/demo.
",
    flags: &[Flag { name: "--os RELEASE", summary: "the release to imitate, win7 or later (default: win11-24h2)" }],
    only_lists: false,
    run,
};

const IMAGE: &str = "target/driver/x64/driver_sample.sys";
/// The program. None of the crates that it needs has a command line, which would take seconds to compile.
const PROGRAM: [&str; 2] = ["--package", "nt-host-demo"];
const DIR: &str = "target/demo";
const BUILD: &str = "target/demo/build";
/// Cargo's settings for the program. It runs once, for a moment, so these make the compiler do less, not the program faster. A panic
/// ends the process that the driver runs in, and the step fails.
const SETTINGS: [(&str, &str); 6] = [
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_CODEGEN_UNITS", "4"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "false"),
    ("CARGO_PROFILE_DEV_OVERFLOW_CHECKS", "false"),
    ("CARGO_PROFILE_DEV_PANIC", "abort"),
];
const RUN: Step = Step { name: "run", what: "the driver, under a session", required: false, run: run_driver };

fn run(context: &Context) -> Result<(), Error> {
    release(context)?;
    // Compiles the program while packages are downloaded and the driver is built, which takes longer and goes first. The last step
    // waits for cargo's lock and reports errors.
    let _compiling = program(context, "build").low_priority().start();
    run_all(context, &[SETUP, TOOLS, DRIVER, RUN])
}

/// Returns a command of cargo for the program that runs the driver.
///
/// It is compiled in a folder of its own, because its settings would compile again what other commands have compiled.
fn program(context: &Context, command: &str) -> Tool {
    // On a terminal, cargo shows the progress of the first build.
    let quiet = (!io::stderr().is_terminal()).then_some("--quiet");
    let cargo = context.cargo().args([command, "--target-dir", BUILD]).args(PROGRAM).args(quiet);
    SETTINGS.iter().fold(cargo, |cargo, (name, value)| cargo.hidden_env(name, value))
}

/// Returns the release that `--os` names, or the default.
fn release(context: &Context) -> Result<Release, Error> {
    let Some(name) = context.value("--os") else { return Ok(Release::default()) };
    name.parse().map_err(|error: UnknownRelease| Error::Usage(error.to_string()))
}

fn run_driver(context: &Context) -> Result<Outcome, Error> {
    program(context, "run").args(["--", IMAGE, DIR, release(context)?.name()]).run_ours()?;
    Ok(Outcome::Passed)
}
