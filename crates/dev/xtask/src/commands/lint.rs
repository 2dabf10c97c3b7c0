//! `cargo xtask lint`: checks formatting, clippy, rustdoc and spelling. Every warning is an error.

pub(super) mod irql;
mod spelling;

use super::bench::BENCH_IMAGES_MANIFEST;
use super::build::SETUP;
use super::etwctl::GNU;
use super::loom::{LOOM_CRATES, LOOM_FLAGS};
use crate::command::Command;
use crate::context::Context;
use crate::steps::{Outcome, Step, check_all};
use driver_build::setup::{TARGET, ensure_component};
use driver_build::{Error, Options, prepare};

pub(super) const COMMAND: Command = Command {
    name: "lint",
    summary: "Checks formatting, clippy, rustdoc and spelling",
    details: "\
Checks the formatting of all sources, runs clippy for the host, for Windows
(code with cfg(windows) is checked only there) and for the drivers, and builds
the documentation.
Every warning is an error. Public functions of wdk-etw and wdk-kmdf must state
the IRQL at which they may be called. Checks the spelling with typos. Installs
missing components.
",
    flags: &[],
    only_lists: false,
    run,
};

/// The crates that a driver links. They contain code with `cfg(windows)`.
const DRIVER_CRATES: [&str; 8] =
    ["--package", "etw-types", "--package", "wdk-etw", "--package", "wdk-etw-log", "--package", "wdk-etw-tracing"];
/// Packages that are not members of a workspace whose formatting is checked.
const LONE_MANIFESTS: [&str; 2] = ["crates/driver/wdk-kmdf/Cargo.toml", "crates/dev/test-support/images-kv/Cargo.toml"];
/// The workspace of the drivers on `wdk-kmdf`.
pub(super) const KMDF_DRIVERS_MANIFEST: &str = "crates/driver/wdk-kmdf/drivers/Cargo.toml";
/// The crates that control sessions. They contain code with `cfg(windows)`.
const SESSION_CRATES: [&str; 4] = ["--package", "etw-session", "--package", "etwctl"];
/// The workspace of the images that tests inspect. It is separate because it has another profile and lock file.
const IMAGES_MANIFEST: &str = "crates/dev/test-support/images/Cargo.toml";
const SAMPLE_MANIFEST: &str = "driver-sample/Cargo.toml";
/// The package with libFuzzer's entry points. It is not a member of the workspace.
const FUZZ_MANIFEST: &str = "crates/dev/fuzz/libfuzzer/Cargo.toml";
const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

pub(super) const FORMAT: Step = Step::new("fmt", "formatting of all sources", format);

const STEPS: [Step; 8] = [
    SETUP,
    FORMAT,
    Step::new("clippy", "all crates and targets on this host", clippy),
    Step::new("clippy-windows", "crates that a driver links, and session control", clippy_windows),
    Step::new("clippy-drivers", "the sample, wdk-kmdf and its drivers", clippy_drivers),
    Step::new("doc", "documentation of all crates", documentation),
    Step::new("irql", "public functions say at which IRQL they may be called", irql::check),
    Step::new("spelling", "spelling of code and documents, with typos", spelling::check),
];

fn run(context: &Context) -> Result<(), Error> {
    check_all(context, &STEPS)
}

fn format(context: &Context) -> Result<Outcome, Error> {
    let probe = context.cargo().args(["fmt", "--version"]);
    ensure_component(context, "rustfmt", probe)?;
    context.cargo().args(["fmt", "--all", "--check"]).run()?;
    let manifests = [IMAGES_MANIFEST, BENCH_IMAGES_MANIFEST, FUZZ_MANIFEST, SAMPLE_MANIFEST, KMDF_DRIVERS_MANIFEST];
    for manifest in manifests.into_iter().chain(LONE_MANIFESTS) {
        // In the folder itself, because `--all` would also format the crates of this repository that a package depends on.
        let dir = context.path(manifest).with_file_name("");
        context.cargo().args(["fmt", "--check"]).current_dir(&dir).run()?;
    }
    Ok(Outcome::Passed)
}

fn clippy(context: &Context) -> Result<Outcome, Error> {
    ensure_clippy(context)?;
    context.cargo().args(["clippy", "--workspace", "--all-targets"]).args(DENY_WARNINGS).run()?;
    let models = context.cargo().env("RUSTFLAGS", LOOM_FLAGS).args(["clippy", "--profile", "test"]);
    models.args(LOOM_CRATES).args(DENY_WARNINGS).run()?;
    Ok(Outcome::Passed)
}

fn clippy_windows(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    if toolchain.builds_core() {
        return Ok(Outcome::Skipped("the toolchain in use for Windows has no clippy".into()));
    }
    ensure_clippy(context)?;
    toolchain.cargo(context, "clippy").args(DRIVER_CRATES).args(DENY_WARNINGS).run()?;
    toolchain
        .cargo(context, "clippy")
        .args(["--locked", "--manifest-path", IMAGES_MANIFEST])
        .args(["--target-dir", "target/images"])
        .args(DENY_WARNINGS)
        .run()?;
    // Both targets, msvc and gnu, because etwctl for Windows is built with either of them.
    for target in [TARGET, GNU] {
        if let Err(error) = toolchain.ensure_target(context, target) {
            return Ok(Outcome::Skipped(error.to_string()));
        }
        let clippy = toolchain.cargo_for(context, "clippy", target).args(SESSION_CRATES);
        clippy.args(["--all-targets"]).args(DENY_WARNINGS).run()?;
    }
    Ok(Outcome::Passed)
}

/// Checks drivers with Microsoft's bindings. Clippy also checks the crates of this repository that they depend on.
fn clippy_drivers(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    if toolchain.builds_core() {
        return Ok(Outcome::Skipped("the toolchain in use for Windows has no clippy".into()));
    }
    ensure_clippy(context)?;
    for manifest in [SAMPLE_MANIFEST, KMDF_DRIVERS_MANIFEST] {
        let plan = prepare(context, &Options::new(context.path(manifest)))?;
        driver_build::check(context, &plan, "clippy", &DENY_WARNINGS)?;
    }
    Ok(Outcome::Passed)
}

fn documentation(context: &Context) -> Result<Outcome, Error> {
    context.cargo().env("RUSTDOCFLAGS", "-Dwarnings").args(["doc", "--workspace", "--no-deps"]).run()?;
    Ok(Outcome::Passed)
}

fn ensure_clippy(context: &Context) -> Result<(), Error> {
    let probe = context.cargo().args(["clippy", "--version"]);
    ensure_component(context, "clippy", probe)
}
