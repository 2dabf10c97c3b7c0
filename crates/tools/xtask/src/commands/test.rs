//! `cargo xtask test`: every test there is.

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
built with --cfg loom in target/loom. If rustup can install them,
Rust's beta runs the tests that depend on the toolchain, the oldest Rust that
drivers may use checks what they link, and a nightly runs Miri.
",
    flags: &[
        Flag { name: QUICK, summary: "formatting and unit tests only, for while you edit" },
        Flag { name: LIST, summary: "prints the steps and what each runs, and runs nothing" },
        Flag { name: NO_MIRI, summary: "leaves Miri out, which takes longest" },
    ],
    run,
};

const QUICK: &str = "--quick";
const LIST: &str = "--list";
const NO_MIRI: &str = "--no-miri";

/// The target of the command for Windows that Wine runs.
const GNU: &str = "x86_64-pc-windows-gnu";

/// Crates with models of their lock-free state. Loom's flag would rebuild everything in the usual folder, so they have their own.
pub(super) const LOOM_CRATES: [&str; 7] =
    ["--target-dir", "target/loom", "--lib", "--package", "wdk-etw", "--package", "etw-engine"];
pub(super) const LOOM_FLAGS: &str = "--cfg loom";

/// Packages with `doctest = false`, which cargo does not heed if it is asked for documentation tests.
const WITHOUT_DOCTESTS: [&str; 4] = ["--exclude", "tracelogging-oracle", "--exclude", "bench"];

/// Miri checks what a driver links, as far as it touches raw memory.
const MIRI_CRATES: [&str; 6] = ["--lib", "--tests", "--package", "etw-types", "--package", "wdk-etw"];

/// And the pointers into guest memory, over memory of the tests: the rest of that crate maps pages and runs drivers.
const MIRI_GUEST: [&str; 4] = ["--lib", "--package", "nt-machine", "memory::"];

/// What fails soonest comes first.
pub(super) const STEPS: [Step; 12] = [
    SETUP,
    FORMAT,
    UNIT,
    Step::new("targets", "Rust's targets that tests compile for", targets),
    TOOLS,
    DRIVER,
    Step::new("verifiers", "programs of others that check signatures and scripts", verifiers),
    Step::new("windows", "session control type-checks for Windows", windows),
    Step::new("tests", "integration tests of all crates, their documentation, and loom's models", workspace),
    toolchains::OLDEST,
    toolchains::NEWEST,
    Step::new("miri", "undefined behaviour in what a driver links, and in pointers into guest memory", miri),
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

/// Every target of the tests, so that none depends on what another one installed.
#[expect(clippy::unnecessary_wraps, reason = "the shape of every step")]
fn targets(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    let mut without = toolchain.ensure_driver_targets(context);
    if toolchain.ensure_target(context, GNU).is_err() {
        without.push(GNU);
    }
    let reason = format!("tests go on without {}", without.join(" and "));
    Ok(if without.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every step")]
fn verifiers(context: &Context) -> Result<Outcome, Error> {
    let without = verifiers::ensure(context);
    let reason = format!("tests go on without {}", without.join("; without "));
    Ok(if without.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

/// The two families of Windows targets; what is behind `cfg(windows)` is seen only there.
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
        check.args(["--package", "etw-session", "--package", "etwctl"]).run()?;
    }
    Ok(Outcome::Passed)
}

/// `cargo test` for all crates, with what tests need to build images.
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
    // The unit tests have run. A failure of the one kind does not hide those of the other.
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
            // Property tests look for their folder, which isolation forbids; few cases, as each takes long.
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("PROPTEST_CASES", "4")
            .hidden_env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .args(["run", nightly, "cargo", "miri", "test"])
            .args(part)
            .run()?;
    }
    Ok(Outcome::Passed)
}

/// The plain nightly if there is one, else the newest dated one, of `rustup toolchain list`.
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
