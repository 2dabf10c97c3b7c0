//! Builds `etwctl.exe` for packages: for Windows on x64, on Linux with Debian's mingw.
//!
//! Windows on ARM64 runs programs for x64, so one build is enough.

use std::path::PathBuf;

use crate::context::Context;
use driver_build::Error;
use driver_build::setup::{self, note};

pub(super) const FLAG: &str = "--with-etwctl";

/// The target of Debian's mingw. The msvc target needs Microsoft's linker and libraries, which Linux does not have.
pub(super) const GNU: &str = "x86_64-pc-windows-gnu";
/// The linker of that target, and its package.
pub(super) const LINKER: (&str, &str) = ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64");
/// The folder for `cargo install --root`. It makes the program's path independent of the layout of cargo's build
/// folder.
const ROOT: &str = "target/etwctl";

/// Builds the program and returns its path. It has no Parquet export: traces are converted on the developer's machine.
pub(super) fn build(context: &Context) -> Result<PathBuf, Error> {
    let mut cargo =
        context.cargo().args(["install", "--quiet", "--locked", "--force", "--no-track", "--no-default-features"]);
    if !cfg!(windows) {
        let (linker, package) = LINKER;
        if !context.tool(linker).args(["--version"]).starts() {
            setup::ensure_packages(context, &[package])?;
        }
        setup::ensure_target(context, &[], GNU)?;
        cargo = cargo.args(["--target", GNU]);
    }
    note("building etwctl for Windows on x64");
    let root = context.path(ROOT);
    cargo.args(["--path", "crates/programs/etwctl", "--root"]).args([&root]).run()?;
    Ok(root.join("bin/etwctl.exe"))
}
