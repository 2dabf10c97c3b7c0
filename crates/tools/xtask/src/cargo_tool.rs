//! Programs that extend cargo and that `cargo install` provides.

use crate::context::Context;
use driver_build::Error;
use driver_build::setup::note;

/// The folder that they are installed into.
pub(crate) const TOOLS: &str = "target/tools";

/// Returns the path of `cargo-NAME`: from PATH, from an earlier installation, or newly installed.
pub(crate) fn ensure(context: &Context, name: &str) -> Result<String, Error> {
    let program = format!("cargo-{name}");
    let ours = context.path(TOOLS).join("bin").join(&program).display().to_string();
    for path in [&program, &ours] {
        if context.tool(path).args([name, "--version"]).succeeds() {
            return Ok(path.clone());
        }
    }
    note(&format!("installing {program} into {TOOLS} with cargo install (a few minutes)"));
    context.cargo().args(["install", &program, "--locked", "--root", TOOLS]).capture().map(|_| ours)
}
