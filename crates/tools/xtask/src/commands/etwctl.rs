//! `etwctl.exe` for packages: built for Windows on x64, on Linux with Debian's mingw.
//!
//! Windows on ARM64 runs it as it runs other programs for x64.

use std::path::PathBuf;

use crate::context::Context;
use driver_build::Error;
use driver_build::setup::{self, note};

pub(super) const FLAG: &str = "--with-etwctl";

/// The target of Debian's mingw. Microsoft's linker and libraries, which the other one needs, are not on Linux.
const TARGET: &str = "x86_64-pc-windows-gnu";
const LINKER: (&str, &str) = ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64");
/// Where cargo is told to put it; what its build folder looks like is cargo's own affair.
const ROOT: &str = "target/etwctl";

/// Builds the program.
pub(super) fn build(context: &Context) -> Result<PathBuf, Error> {
    let mut cargo = context.cargo().args(["install", "--quiet", "--locked", "--force", "--no-track"]);
    if !cfg!(windows) {
        let (linker, package) = LINKER;
        if !context.tool(linker).args(["--version"]).starts() {
            setup::ensure_packages(context, &[package])?;
        }
        setup::ensure_target(context, &[], TARGET)?;
        cargo = cargo.args(["--target", TARGET]);
    }
    note("building etwctl for Windows on x64");
    let root = context.path(ROOT);
    cargo.args(["--path", "crates/tools/etwctl", "--root"]).args([&root]).run()?;
    Ok(root.join("bin/etwctl.exe"))
}
