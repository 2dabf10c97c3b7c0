//! Measures the work before a driver is compiled: making the driver kit, and a build without changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::images::{built, named};

use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::{median, spread};
use crate::tools::{cargo, run, run_slowly, timed};

const TEXT: &str = "\
The driver kit is made once for all drivers of a user: `wdk-kit make` in an empty folder, with the code that `cargo xtask build` uses. \
The second build is `cargo xtask build` after a build, without changes; the command starts cargo for the workspace of the sample driver and \
for the driver. The floor is one `cargo build` that finds nothing to do.";

/// Makes the kit, and builds the sample driver again. A row that cannot be measured says why.
#[must_use]
pub fn build(settings: &Settings) -> Findings {
    let mut section = Section::new("Building a driver", TEXT, &["what", "s"]);
    let (kits, builds) = if settings.quick { (1, 3) } else { (3, 11) };
    let again = |words: &[&str]| timed(|| run_slowly(cargo(&settings.root).args(words)));
    let floor = || again(&["build", "--quiet", "--package", "xtask"]);
    let rows = [
        (
            "driver kit",
            program(settings).and_then(|program| repeated(kits, || make(&program, settings))),
            Some(10.0),
            "Microsoft's metadata is read, and LLVM makes the libraries.",
        ),
        (
            "second `cargo xtask build`",
            repeated(builds, || again(&["xtask", "build"])),
            Some(1.0),
            "Each start of cargo reads the manifests of its workspace.",
        ),
        ("`cargo build` with nothing to do (the floor)", repeated(builds, floor), None, ""),
    ];
    let mut goals = Vec::new();
    for (name, times, limit, why) in rows {
        let how = match &times {
            Ok(times) => {
                let how = format!("{} runs, median{}", times.len(), spread(times, 2, " s"));
                section.row(vec![Cell::text(name), Cell::number(median(times), 2)], how.clone());
                how
            }
            Err(error) => {
                section.skipped(name, error);
                error.clone()
            }
        };
        goals.extend(limit.map(|limit| Goal {
            what: format!("{name}, s"),
            limit,
            bound: Bound::AtMost,
            origin: Origin::Target,
            measured: times.ok().and_then(|times| median(&times)),
            everywhere: false,
            note: how,
            why: why.into(),
        }));
    }
    Findings { sections: vec![section], goals }
}

/// Does the work once without counting it, because it may have to build something, and then the given number of times.
fn repeated(times: usize, work: impl Fn() -> Result<f64, String>) -> Result<Vec<f64>, String> {
    work()?;
    (0..times).map(|_| work()).collect()
}

/// Builds the program that makes the kit.
fn program(settings: &Settings) -> Result<PathBuf, String> {
    let files = built(cargo(&settings.root).args(["build", "--locked", "--package", "wdk-kit"]))?;
    named(&files, "wdk-kit").map(Path::to_path_buf)
}

/// Makes a kit in an empty folder.
fn make(program: &Path, settings: &Settings) -> Result<f64, String> {
    let dir = settings.scratch("kit");
    let _ = fs::remove_dir_all(&dir);
    let seconds = timed(|| run(Command::new(program).arg("make").arg(&dir)));
    let _ = fs::remove_dir_all(&dir);
    seconds
}
