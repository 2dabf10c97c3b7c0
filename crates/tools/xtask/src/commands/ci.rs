//! `cargo xtask ci`: runs the steps of `lint` and `test` with one summary.

use super::{lint, test};
use crate::command::Command;
use crate::context::Context;
use crate::steps::check_all;
use driver_build::Error;

pub(super) const COMMAND: Command = Command {
    name: "ci",
    summary: "Runs `lint` and `test --all`",
    details: "\
Runs all steps of `lint`, then those of `test --all`, and prints one summary.
",
    flags: &[],
    run,
};

fn run(context: &Context) -> Result<(), Error> {
    let mut steps = lint::STEPS.to_vec();
    // Some steps are in both lists. They run once.
    let tests = test::STEPS.iter().chain(&test::MORE_STEPS);
    steps.extend(tests.filter(|step| !lint::STEPS.iter().any(|other| other.name == step.name)));
    check_all(context, &steps)
}
