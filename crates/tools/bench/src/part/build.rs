//! Measures the work before a driver is compiled: making the driver kit, and a build without changes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use test_images::{built, named};

use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Section};
use crate::stats::{median, range};
use crate::tools::{cargo, run, run_slowly};

const TEXT: &str = "\
The driver kit is made once for all drivers of a user: `wdk-kit make` in an empty folder, with the program that `cargo xtask build` uses. \
The second build is `cargo xtask build` after a build, without changes; the command starts cargo for the kit, for the sample driver and for \
the images that tests inspect. The floor is one `cargo build` that finds nothing to do.";

/// Makes the kit, and builds the sample driver again. A row that cannot be measured says why.
#[must_use]
pub fn build(settings: &Settings) -> Findings {
    let mut section = Section::new("build", "Building a driver", TEXT, &["what", "s"]);
    let (kits, builds) = if settings.quick { (1, 3) } else { (3, 11) };
    let floor = || timed(cargo(&settings.root).args(["build", "--quiet", "--package", "xtask"]));
    let rows = [
        (
            "driver kit",
            repeated(kits, || make(settings)),
            Some(10.0),
            "Microsoft's metadata is read, and LLVM makes the libraries.",
        ),
        (
            "second `cargo xtask build`",
            repeated(builds, || timed(cargo(&settings.root).args(["xtask", "build"]))),
            Some(1.0),
            "Each start of cargo reads the manifests of its workspace.",
        ),
        ("`cargo build` with nothing to do (the floor)", repeated(builds, floor), None, ""),
    ];
    let mut goals = Vec::new();
    for (name, times, limit, why) in rows {
        let how = match &times {
            Ok(times) => {
                let spread = range(times).map_or_else(String::new, |(low, high)| format!(", {low:.2} to {high:.2} s"));
                let how = format!("{} runs, median{spread}", times.len());
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

/// Makes a kit in an empty folder.
fn make(settings: &Settings) -> Result<f64, String> {
    let files = built(cargo(&settings.root).args(["build", "--locked", "--package", "wdk-kit"]))?;
    let folder = settings.folder("kit");
    let _ = fs::remove_dir_all(&folder);
    let seconds = made(named(&files, "wdk-kit")?, &folder);
    let _ = fs::remove_dir_all(&folder);
    seconds
}

fn made(program: &Path, folder: &Path) -> Result<f64, String> {
    let started = Instant::now();
    run(Command::new(program).arg("make").arg(folder))?;
    Ok(started.elapsed().as_secs_f64())
}

fn timed(command: &mut Command) -> Result<f64, String> {
    let started = Instant::now();
    run_slowly(command)?;
    Ok(started.elapsed().as_secs_f64())
}
