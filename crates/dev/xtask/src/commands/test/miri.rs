//! Miri: looks for undefined behaviour.
//!
//! It starts with the integration tests and runs beside them, because both often keep only one processor busy. Its output is printed
//! by its own step, which waits for it.

use crate::background::Background;
use crate::context::Context;
use crate::steps::{Outcome, Step};
use driver_build::Error;
use driver_build::setup::note;

pub(super) const STEP: Step =
    Step::new("miri", "undefined behaviour in the crates that a driver links and in pointers into guest memory", run);

/// The crate that a driver links and that accesses raw memory.
const PROVIDER: &[&str] = &["--lib", "--tests", "--package", "wdk-etw"];

/// The part of the types that has unsafe code. The rest of that crate is safe.
const GUIDS: &[&str] = &["--lib", "--package", "etw-types", "guid::"];

/// The pointers into guest memory, with memory that the tests allocate. Miri cannot run the rest of that crate, because it
/// maps pages and runs drivers.
const GUEST: &[&str] = &["--lib", "--package", "nt-verifier", "exception::tests::"];

/// The files of `wdk-kmdf` that need no framework.
const KMDF: &[&str] = &["--test", "it", "--package", "test-support", "--no-default-features", "kmdf_output::"];

/// The commands that were started, or the reason why there are none.
enum Runs {
    Started(Vec<Background>),
    Skipped(String),
}

/// Starts Miri, if it can run. [`STEP`] waits for it, or reports why it did not start.
pub(super) fn start_beside(context: &Context) {
    if let Ok(Runs::Started(runs)) = start(context) {
        context.background.set(runs);
    }
}

fn run(context: &Context) -> Result<Outcome, Error> {
    let mut runs = context.background.take();
    if runs.is_empty() {
        match start(context)? {
            Runs::Started(started) => runs = started,
            Runs::Skipped(reason) => return Ok(Outcome::Skipped(reason)),
        }
    }
    let results: Vec<_> = runs.into_iter().map(Background::wait).collect();
    results.into_iter().collect::<Result<(), Error>>()?;
    Ok(Outcome::Passed)
}

fn start(context: &Context) -> Result<Runs, Error> {
    let Ok(toolchains) = context.tool("rustup").args(["toolchain", "list"]).capture() else {
        return Ok(Runs::Skipped("rustup is not installed".into()));
    };
    let Some(nightly) = pick_nightly(&toolchains) else {
        return Ok(Runs::Skipped("no nightly toolchain (rustup toolchain install nightly)".into()));
    };
    let components = ["component", "add", "miri", "rust-src", "--toolchain"];
    let added = context.tool("rustup").args(components).args([nightly]);
    if let Err(error) = added.capture() {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default();
        return Ok(Runs::Skipped(format!("{nightly} has no Miri: {last}")));
    }
    note(&format!("starting Miri of {nightly}"));
    let miri = || context.tool("rustup").args(["run", nightly, "cargo", "miri"]);
    // Makes its standard library once, before the runs need it.
    miri().args(["setup"]).capture()?;
    let mut runs = Vec::new();
    let parts = [("miri-provider", PROVIDER), ("miri-guids", GUIDS), ("miri-guest", GUEST), ("miri-kmdf", KMDF)];
    for (name, part) in parts {
        // The engine reads the time of day, which isolation forbids.
        let command = miri().env("MIRIFLAGS", "-Zmiri-disable-isolation").args(["test"]).args(part);
        runs.push(Background::start(context.target().file(format!("{name}.log")), command)?);
    }
    Ok(Runs::Started(runs))
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
    use std::fs;

    use super::{GUIDS, pick_nightly};
    use crate::commands::lint::irql::rust_files;
    use crate::context::Context;

    #[test]
    fn the_types_have_unsafe_code_only_where_miri_looks() {
        let sources = Context::new(Vec::new()).path("crates/driver/etw-types/src");
        let tested = sources.join(GUIDS[3].trim_end_matches("::"));
        for path in rust_files(&sources).unwrap().iter().filter(|path| !path.starts_with(&tested)) {
            let text = fs::read_to_string(path).unwrap();
            assert!(!text.contains("(unsafe_code,"), "{}: Miri has to test it", path.display());
        }
    }

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
