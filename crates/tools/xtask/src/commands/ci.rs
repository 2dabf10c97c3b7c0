//! `cargo xtask ci`: runs the steps of `lint` and `test` with one summary.

use super::{lint, test};
use crate::cli::Command;
use crate::context::Context;
use crate::steps::check_all;
use driver_build::Error;

pub(super) const COMMAND: Command = Command {
    name: "ci",
    summary: "Runs `lint` and `test`",
    details: "\
Runs all steps of `lint`, then all steps of `test`, and prints one summary.
",
    flags: &[test::WITHOUT_MIRI],
    run,
};

fn run(context: &Context) -> Result<(), Error> {
    let mut steps = lint::STEPS.to_vec();
    // Some steps are in both lists. They run once.
    steps.extend(test::STEPS.iter().filter(|step| !lint::STEPS.iter().any(|other| other.name == step.name)));
    check_all(context, &steps)
}
