//! Drivers on `wdk-kmdf`: ports of Microsoft's samples, two that try to misuse the crate, one that uses most of it.

mod irql;
pub(crate) mod lifetimes;
mod misuse;
mod ports;
mod tour;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::common;
use nt_host::NtHost;

/// The workspace of the drivers.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../driver/wdk-kmdf/drivers")
}

/// Builds the drivers with `cargo xtask build`, or one package with one of its cases.
fn build(case: Option<(&str, &str)>) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "xtask", "--", "build", "--manifest-path"]);
    cargo.arg(workspace().join("Cargo.toml"));
    if let Some((package, case)) = case {
        cargo.args(["--package", package]).env("WDK_KMDF_CASE", case);
    }
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")).output().expect("cargo")
}

/// The path of a driver. The first call builds all of them.
pub(crate) fn driver(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let output = build(None);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    common::built(name)
}

fn start(name: &str) -> NtHost {
    NtHost::builder().driver(driver(name)).start().expect("DriverEntry")
}

/// A control code of the drivers that try things.
pub(crate) const fn code(function: u32) -> u32 {
    0x0022_0000 | (0x800 + function) << 2
}
