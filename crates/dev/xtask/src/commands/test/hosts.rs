//! Checks what the workflows and the release build, for every host that it claims.
//!
//! The packages are those that the workflows name, so a package that a workflow starts to build is checked from then on.

use std::collections::BTreeSet;
use std::fs;

use super::{build_once, without_library};
use crate::context::Context;
use crate::steps::{Outcome, Step};
use driver_build::Error;
use driver_build::setup::TARGET;

/// The step of every run.
pub(super) const WINDOWS: Step =
    Step::new("windows", "what workflows and the release build, type-checked for Windows", windows);

/// The step of `--all`.
pub(super) const OTHERS: Step = Step::new("hosts", "the same for ARM64, macOS and static programs", others);

/// The hosts of [`OTHERS`]. On this one the tests run, and for `x86_64-pc-windows-gnu` the step `wine` links them.
const HOSTS: [&str; 4] = [
    "aarch64-pc-windows-msvc",
    "aarch64-unknown-linux-gnu",
    // Without a C library of the system.
    "x86_64-unknown-linux-musl",
    "aarch64-apple-darwin",
];

/// The folder of the workflows.
const WORKFLOWS: &str = ".github/workflows";

/// The lines of workflows that run tests on Windows begin so.
const TESTS: &str = "run: cargo test --locked ";

fn windows(context: &Context) -> Result<Outcome, Error> {
    check(context, &[TARGET])
}

fn others(context: &Context) -> Result<Outcome, Error> {
    check(context, &HOSTS)
}

/// Type-checks the packages. The Parquet export has no code for one host.
fn check(context: &Context, targets: &[&str]) -> Result<Outcome, Error> {
    let toolchain = match context.windows() {
        Ok(toolchain) if !toolchain.builds_core() => toolchain,
        _ => return Ok(without_library()),
    };
    let (present, missing): (Vec<&str>, Vec<&str>) =
        targets.iter().partition(|target| toolchain.ensure_target(context, target).is_ok());
    if !present.is_empty() {
        let cargo = build_once(context.cargo()).args(["check", "--locked", "--no-default-features"]);
        let cargo = present.iter().fold(cargo, |cargo, target| cargo.args(["--target", target]));
        let workflows = workflows(context)?;
        packages(&workflows).iter().fold(cargo, |cargo, name| cargo.args(["--package", name])).run()?;
    }
    let reason = format!("no library of Rust for {}", missing.join(" and "));
    Ok(if missing.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

/// Returns the text of all workflows.
fn workflows(context: &Context) -> Result<String, Error> {
    let failed = |error| Error::Failed(format!("{WORKFLOWS}: {error}"));
    let mut all = String::new();
    for entry in fs::read_dir(context.path(WORKFLOWS)).map_err(failed)? {
        all += &fs::read_to_string(entry.map_err(failed)?.path()).map_err(failed)?;
    }
    Ok(all)
}

/// Returns the packages that a text names for cargo. `cargo xtask` builds `xtask`. Other programs have options of the same name.
fn packages(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| line.contains("cargo ") || line.contains("packages: "));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    pairs
        .filter_map(|pair| match pair {
            (&"--package", name) => Some(*name),
            (&"cargo", &"xtask") => Some("xtask"),
            _ => None,
        })
        .collect()
}

/// Returns the packages whose tests a workflow runs on Windows.
pub(super) fn tested_on_windows(context: &Context) -> Result<BTreeSet<String>, Error> {
    let workflows = workflows(context)?;
    let lines = workflows.lines().filter(|line| line.contains(TESTS));
    Ok(lines.flat_map(packages).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{HOSTS, packages, tested_on_windows, workflows};
    use crate::commands::etwctl::GNU;
    use crate::context::Context;
    use driver_build::setup::TARGET;
    use std::fs;

    #[test]
    fn packages_are_the_words_after_the_option() {
        let text = "packages: --package a --package b-c\nrun: cargo run --package a -- x\nrun: cargo xtask demo\n";
        assert_eq!(packages(text).into_iter().collect::<Vec<_>>(), ["a", "b-c", "xtask"]);
        assert!(packages("cargo build --locked").is_empty());
        assert!(packages("driver-exercise.exe run --package dir").is_empty());
    }

    #[test]
    fn the_workflows_build_the_programs_and_run_the_tests() {
        let context = Context::new(Vec::new());
        let workflows = workflows(&context).unwrap();
        let built = packages(&workflows);
        for program in ["cargo-driver", "driver-client", "driver-exercise", "driver-package", "etwctl", "xtask"] {
            assert!(built.contains(program), "{program}: {built:?}");
        }
        let tested = tested_on_windows(&context).unwrap();
        for package in ["etw-types", "wdk-etw", "etw-symbols", "etw-manifest", "etw-etl", "etw-session", "etwctl"] {
            assert!(tested.contains(package), "{package}: {tested:?}");
        }
    }

    #[test]
    fn every_target_of_a_release_is_checked() {
        let context = Context::new(Vec::new());
        let checked = [&HOSTS[..], &[TARGET, GNU, "x86_64-unknown-linux-gnu"]].concat();
        for file in [".github/workflows/release.yml", "action.yml"] {
            let text = fs::read_to_string(context.path(file)).unwrap();
            // `target: NAME` in the matrix, `target=NAME ;;` in the action.
            let words = text.split(|c: char| c.is_whitespace() || c == '=');
            let targets = words.filter(|word| word.starts_with("x86_64-") || word.starts_with("aarch64-"));
            let targets: Vec<&str> = targets.collect();
            assert!(targets.len() >= 2, "{file}: {targets:?}");
            for target in targets {
                assert!(checked.contains(&target), "{file}: {target}");
            }
        }
    }
}
