//! `cargo xtask test`: runs all tests of the repository.

mod features;
mod toolchains;

use super::build::{DRIVER, SETUP, TOOLS};
use super::lint::FORMAT;
use crate::cli::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, check_all};
use crate::verifiers;
use driver_build::setup::{TARGET, WindowsToolchain, note};
use driver_build::{Error, Tool, output};

pub(super) const COMMAND: Command = Command {
    name: "test",
    summary: "Runs every test",
    details: "\
Installs what is missing, builds the sample driver (tests run it), then runs the
unit, integration and documentation tests of all crates (some of them build and
inspect images for Windows), and loom's models of the lock-free state, which are
built with --cfg loom in target/loom. Crates are checked with and without their
Cargo features. If rustup can install the toolchains, the tests that depend on
the toolchain run with Rust's beta, and the crates that a driver links are
checked with the oldest supported Rust. If a nightly toolchain is installed,
Miri runs.
",
    flags: &[
        Flag { name: QUICK, summary: "formatting and unit tests only" },
        Flag { name: LIST, summary: "prints the steps without running them" },
        WITHOUT_MIRI,
    ],
    run,
};

const QUICK: &str = "--quick";
const LIST: &str = "--list";
const NO_MIRI: &str = "--no-miri";
pub(super) const WITHOUT_MIRI: Flag = Flag { name: NO_MIRI, summary: "omits Miri, the longest step" };

/// The target of the Windows build of etwctl that Wine runs.
const GNU: &str = "x86_64-pc-windows-gnu";

/// Crates with loom models of their lock-free state. They are built in a separate folder, because loom's flag would
/// rebuild everything in the usual one.
pub(super) const LOOM_CRATES: [&str; 7] =
    ["--target-dir", "target/loom", "--lib", "--package", "wdk-etw", "--package", "etw-engine"];
pub(super) const LOOM_FLAGS: &str = "--cfg loom";

/// Packages with `doctest = false`. `cargo test --doc` ignores that setting, so they are excluded.
const WITHOUT_DOCTESTS: [&str; 4] = ["--exclude", "tracelogging-oracle", "--exclude", "bench"];

/// For Miri: the crates that a driver links and that access raw memory.
const MIRI_CRATES: [&str; 6] = ["--lib", "--tests", "--package", "etw-types", "--package", "wdk-etw"];

/// For Miri: the pointers into guest memory, with memory that the tests allocate. Miri cannot run the rest of that
/// crate, because it maps pages and runs drivers.
const MIRI_GUEST: [&str; 4] = ["--lib", "--package", "nt-machine", "memory::"];

/// All steps. Those that fail fastest come first.
pub(super) const STEPS: [Step; 13] = [
    SETUP,
    FORMAT,
    UNIT,
    features::STEP,
    Step::new("targets", "Rust's targets that tests compile for", targets),
    TOOLS,
    DRIVER,
    Step::new("verifiers", "third-party programs that check signatures and scripts", verifiers),
    Step::new("windows", "session control type-checks for Windows", windows),
    Step::new("tests", "integration tests of all crates, their documentation, and loom's models", workspace),
    toolchains::OLDEST,
    toolchains::NEWEST,
    Step::new("miri", "undefined behaviour in the crates that a driver links and in pointers into guest memory", miri),
];

const UNIT: Step = Step::new("unit", "unit tests of all crates", unit);

fn run(context: &Context) -> Result<(), Error> {
    let quick = [SETUP, FORMAT, UNIT];
    let steps = if context.has_flag(QUICK) { quick.as_slice() } else { &STEPS };
    if context.has_flag(LIST) {
        for step in steps {
            output::print_line(&format!("{:<10} {}", step.name, step.what));
        }
        return Ok(());
    }
    check_all(context, steps)
}

/// Installs every target that tests compile for, so that no test depends on a target that another test installed.
#[expect(clippy::unnecessary_wraps, reason = "the shape of every step")]
fn targets(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    let mut without = toolchain.ensure_driver_targets(context);
    if toolchain.ensure_target(context, GNU).is_err() {
        without.push(GNU);
    }
    let reason = format!("tests continue without {}", without.join(" and "));
    Ok(if without.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every step")]
fn verifiers(context: &Context) -> Result<Outcome, Error> {
    let without = verifiers::ensure(context);
    let reason = format!("tests continue without {}", without.join("; without "));
    Ok(if without.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

/// Checks session control for both Windows targets, msvc and gnu. Code with `cfg(windows)` is compiled only there. The
/// Parquet export has no such code.
fn windows(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    if toolchain.builds_core() {
        return Ok(Outcome::Skipped("the toolchain in use for Windows has no standard library for it".into()));
    }
    for target in [TARGET, GNU] {
        if let Err(error) = toolchain.ensure_target(context, target) {
            return Ok(Outcome::Skipped(error.to_string()));
        }
        let check = toolchain.cargo_for(context, "check", target);
        check.args(["--package", "etw-session", "--package", "etwctl", "--no-default-features"]).run()?;
    }
    Ok(Outcome::Passed)
}

/// Returns `cargo test` for all crates, with the environment variables that tests need to build images.
fn cargo_test(context: &Context) -> Tool {
    let to_env = |toolchain: &WindowsToolchain| toolchain.to_env(&toolchain.ensure_driver_targets(context));
    let windows = context.windows().ok().map(to_env);
    let cargo = windows.into_iter().flatten().fold(context.cargo(), |tool, (key, value)| tool.hidden_env(key, &value));
    cargo.args(["test", "--workspace", "--no-fail-fast"])
}

fn unit(context: &Context) -> Result<Outcome, Error> {
    cargo_test(context).args(["--lib", "--bins", "--examples"]).run()?;
    Ok(Outcome::Passed)
}

fn workspace(context: &Context) -> Result<Outcome, Error> {
    // The step `unit` has run the unit tests. If integration tests fail, the documentation tests still run.
    let integration = cargo_test(context).args(["--test", "*"]).run();
    let documentation = cargo_test(context).args(["--doc"]).args(WITHOUT_DOCTESTS).run();
    integration.and(documentation)?;
    context.cargo().env("RUSTFLAGS", LOOM_FLAGS).args(["test"]).args(LOOM_CRATES).args(["models"]).run()?;
    Ok(Outcome::Passed)
}

fn miri(context: &Context) -> Result<Outcome, Error> {
    if context.has_flag(NO_MIRI) {
        return Ok(Outcome::Skipped(format!("{NO_MIRI} was given")));
    }
    let Ok(toolchains) = context.tool("rustup").args(["toolchain", "list"]).capture() else {
        return Ok(Outcome::Skipped("rustup is not installed".into()));
    };
    let Some(nightly) = pick_nightly(&toolchains) else {
        return Ok(Outcome::Skipped("no nightly toolchain (rustup toolchain install nightly)".into()));
    };
    let components = ["component", "add", "miri", "rust-src", "--toolchain"];
    let added = context.tool("rustup").args(components).args([nightly]);
    if let Err(error) = added.capture() {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default();
        return Ok(Outcome::Skipped(format!("{nightly} has no Miri: {last}")));
    }
    note(&format!("using {nightly}"));
    for part in [MIRI_CRATES.as_slice(), MIRI_GUEST.as_slice()] {
        context
            .tool("rustup")
            // Property tests need the current folder, which isolation forbids. They run few cases, because each one
            // takes long.
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("PROPTEST_CASES", "4")
            .hidden_env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .args(["run", nightly, "cargo", "miri", "test"])
            .args(part)
            .run()?;
    }
    Ok(Outcome::Passed)
}

/// Selects the undated nightly from `rustup toolchain list`, or else the newest dated one.
fn pick_nightly(list: &str) -> Option<&str> {
    let mut nightlies: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with("nightly-"))
        .collect();
    let is_dated = |name: &&str| name["nightly-".len()..].starts_with(|c: char| c.is_ascii_digit());
    if let Some(plain) = nightlies.iter().find(|name| !is_dated(name)) {
        return Some(plain);
    }
    nightlies.sort_unstable();
    nightlies.pop()
}

#[cfg(test)]
mod tests {
    use super::pick_nightly;

    #[test]
    fn the_plain_nightly_is_preferred() {
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\n\
                    nightly-2026-01-02-x86_64-unknown-linux-gnu\n\
                    nightly-x86_64-unknown-linux-gnu\n";
        assert_eq!(pick_nightly(list), Some("nightly-x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn of_dated_nightlies_the_newest_is_taken() {
        let list = "nightly-2026-01-02-x\nnightly-2026-03-01-x (default)\nnightly-2025-12-31-x\n";
        assert_eq!(pick_nightly(list), Some("nightly-2026-03-01-x"));
    }

    #[test]
    fn without_a_nightly_there_is_none() {
        assert_eq!(pick_nightly("stable-x86_64-unknown-linux-gnu\n1.95.0-x\n"), None);
        assert_eq!(pick_nightly("no installed toolchains\n"), None);
    }
}
