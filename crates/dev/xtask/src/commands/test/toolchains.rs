//! Tests with other versions of Rust: the oldest that drivers may be built with, and the beta.
//!
//! rustup installs them if they are missing. If it cannot, the step is skipped.

use std::{env, fs};

use crate::context::Context;
use crate::steps::{Outcome, Step};
use command_line::OwnDir;
use driver_build::setup::{WindowsToolchain, note};
use driver_build::{Error, Options, prepare};

pub(super) const OLDEST: Step = Step::new("oldest", "crates that a driver links, with the oldest Rust", oldest);

pub(super) const NEWEST: Step = Step::new("newest", "tests that depend on the toolchain, with Rust's beta", newest);

/// The manifests that declare the oldest Rust for drivers. All must declare the same version.
const MANIFESTS: [&str; 10] = [
    "crates/base/windows-constants/Cargo.toml",
    "crates/driver/etw-types/Cargo.toml",
    "crates/driver/wdk-etw/Cargo.toml",
    "crates/driver/wdk-etw-log/Cargo.toml",
    "crates/driver/wdk-etw-macros/Cargo.toml",
    "crates/traces/etw-manifest/Cargo.toml",
    "crates/driver/wdk-etw-tracing/Cargo.toml",
    "crates/driver/wdk-kmdf/Cargo.toml",
    "crates/toolchain/driver-build/tests/stand-in/Cargo.toml",
    "driver-sample/Cargo.toml",
];
/// The crates of the workspace that a driver links.
const CRATES: [&str; 10] = [
    "--package",
    "etw-types",
    "--package",
    "wdk-etw",
    "--package",
    "wdk-etw-log",
    "--package",
    "wdk-etw-macros",
    "--package",
    "wdk-etw-tracing",
];

/// Tests that depend on cargo's folders, on the compiler's messages, or on a target. Only these run, because
/// everything is compiled again for them. The module `layouts` compiles much
/// whose result does not depend on the toolchain.
const TESTS: [&str; 12] = [
    "--package",
    "test-support",
    "--package",
    "wdk-kit",
    "--package",
    "wdk-etw",
    "--test",
    "builds",
    "--test",
    "macros",
    "--",
    "--skip=layouts::",
];

/// What the steps before [`NEWEST`] leave, and neither it nor Miri uses.
const LEFT_BEHIND: [&str; 5] =
    ["target/debug/deps", "target/debug/build", "target/loom", "target/oldest", "target/tmp"];

fn oldest(context: &Context) -> Result<Outcome, Error> {
    let version = declared(context)?;
    let toolchain = match WindowsToolchain::installed(context, &format!("{version}.0")) {
        Ok(toolchain) => toolchain,
        Err(reason) => return Ok(Outcome::Skipped(reason.to_string())),
    };
    let check = || toolchain.host_cargo(context).args(["check", "--target-dir", "target/oldest"]).args(CRATES);
    // Build scripts of drivers use `etw-manifest`, so it is checked for the host only.
    check().args(["--package", "etw-manifest", "--no-default-features"]).run()?;
    check().args(["--target", driver_build::setup::TARGET]).run()?;
    let options = Options { profile: String::from("dev"), toolchain: Some(toolchain), ..context.sample() };
    driver_build::check(context, &prepare(context, &options)?, "check", &[])?;
    Ok(Outcome::Passed)
}

/// Returns the version that all of [`MANIFESTS`] declare.
fn declared(context: &Context) -> Result<String, Error> {
    let mut found: Option<String> = None;
    for manifest in MANIFESTS {
        let text = fs::read_to_string(context.path(manifest));
        let text = text.map_err(|error| Error::Failed(format!("{manifest}: {error}")))?;
        let version = version_in(&text)
            .ok_or_else(|| Error::Failed(format!("{manifest}: it does not set rust-version itself")))?;
        match &found {
            Some(other) if other != version => {
                return Err(Error::Failed(format!(
                    "{manifest}: rust-version is {version}, but other manifests have {other}"
                )));
            }
            _ => found = Some(version.to_owned()),
        }
    }
    Ok(found.unwrap_or_default())
}

fn version_in(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""))?;
    line.strip_suffix('"')
}

fn newest(context: &Context) -> Result<Outcome, Error> {
    let toolchain = match WindowsToolchain::installed(context, "beta") {
        Ok(toolchain) => toolchain,
        Err(reason) => return Ok(Outcome::Skipped(reason.to_string())),
    };
    let version = toolchain.host_cargo(context).args(["--version"]).capture()?;
    if context.cargo().args(["--version"]).capture()? == version {
        return Ok(Outcome::Skipped(format!("all tests already ran with {}", version.trim())));
    }
    note(version.trim());
    // Machines of CI services have little space, and nobody continues there.
    if env::var_os("CI").is_some() {
        // Space that could not be freed may not be needed.
        for dir in LEFT_BEHIND {
            let _ = OwnDir::new(context.path(dir)).remove();
        }
    }
    let variables = toolchain.to_env(&toolchain.ensure_driver_targets(context));
    let cargo = variables.into_iter().fold(toolchain.host_cargo(context), |tool, (key, value)| {
        // Tests build images and programs. The processes that they start inherit these variables.
        tool.hidden_env(key, value)
    });
    super::build_once(cargo)
        .hidden_env("CARGO_TARGET_DIR", context.path("target/newest"))
        .args(["test", "--no-fail-fast"])
        .args(TESTS)
        .run()?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::{declared, version_in};
    use crate::context::Context;

    #[test]
    fn all_crates_of_a_driver_declare_the_same_rust_version() {
        assert_eq!(declared(&Context::new(Vec::new())), Ok("1.91".into()));
    }

    #[test]
    fn an_inherited_rust_version_is_not_read() {
        assert_eq!(version_in("[package]\nrust-version = \"1.91\"\n"), Some("1.91"));
        assert_eq!(version_in("[package]\nrust-version.workspace = true\n"), None);
    }
}
