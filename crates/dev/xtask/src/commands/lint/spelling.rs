//! Checks spelling with typos.

use crate::cargo_tool;
use crate::context::Context;
use crate::steps::Outcome;
use driver_build::Error;

pub(super) fn check(context: &Context) -> Result<Outcome, Error> {
    let typos = cargo_tool::ensure(context, "typos", "typos-cli", &["--version"])?;
    context.tool(&typos).args(["--config", ".cargo/typos.toml"]).run()?;
    Ok(Outcome::Passed)
}
