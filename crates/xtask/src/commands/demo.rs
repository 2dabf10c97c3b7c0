//! `cargo xtask demo`: a provider at work, in the terminal.

use crate::cli::Command;
use crate::context::Context;
use crate::error::Error;

pub(super) const COMMAND: Command = Command {
    name: "demo",
    summary: "Runs a provider on the in-process ETW and prints what it traced",
    details: "\
Registers a provider, sets its information, writes events of several shapes and
prints every status and every event. Needs nothing but cargo.
",
    flags: &[],
    run,
};

fn run(context: &Context) -> Result<(), Error> {
    context.cargo().args(["run", "--quiet", "--package", "wdk-etw", "--example", "demo"]).run()
}
