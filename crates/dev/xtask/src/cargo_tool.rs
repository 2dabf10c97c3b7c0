//! Programs that `cargo install` provides.

use crate::context::Context;
use driver_build::Error;
use driver_build::setup::note;

/// The folder that they are installed into.
pub(crate) const TOOLS: &str = "target/tools";

/// Returns the path of a program: from PATH, from an earlier installation, or newly installed with `cargo install
/// PACKAGE`. With the arguments `probe`, the program succeeds without doing anything.
pub(crate) fn ensure(context: &Context, program: &str, package: &str, probe: &[&str]) -> Result<String, Error> {
    let ours = context.path(TOOLS).join("bin").join(program).display().to_string();
    for path in [program, &ours] {
        if context.tool(path).args(probe).succeeds() {
            return Ok(path.to_owned());
        }
    }
    note(&format!("installing {program} into {TOOLS} with cargo install (a few minutes)"));
    context.cargo().args(["install", package, "--locked", "--root", TOOLS]).capture().map(|_| ours)
}
