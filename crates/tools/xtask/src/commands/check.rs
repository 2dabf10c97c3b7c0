//! `cargo xtask check`: checks a driver for Windows with the compiler and clippy.

use super::build::{FLAGS, SETUP, TOOLS, options};
use crate::command::Command;
use crate::context::Context;
use crate::steps::{Outcome, Step, run_all};
use driver_build::setup::{self, note};
use driver_build::{Error, prepare};

pub(super) const COMMAND: Command = Command {
    name: "check",
    summary: "Checks the sample driver, or yours, with clippy",
    details: "\
Runs clippy for Windows on driver-sample, or on any driver that `cargo xtask
build` builds.
",
    flags: &FLAGS,
    run,
};

const CHECK: Step = Step { name: "check", what: "the driver, with clippy", required: false, run: check };

fn run(context: &Context) -> Result<(), Error> {
    // Reject a wrong command line before anything is installed.
    options(context)?;
    run_all(context, &[SETUP, TOOLS, CHECK])
}

fn check(context: &Context) -> Result<Outcome, Error> {
    if context.windows().is_err() {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    }
    setup::ensure_component(context, "clippy", context.cargo().args(["clippy", "--version"]))?;
    driver_build::check(context, &prepare(context, &options(context)?)?, "clippy")?;
    note("for the same checks in an editor: cargo driver editor, in the driver's folder");
    Ok(Outcome::Passed)
}
