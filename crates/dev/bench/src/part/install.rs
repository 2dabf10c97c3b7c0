//! Measures what a user waits for once: the build of an installed program.

use std::fs;
use std::path::Path;

use super::{Findings, Settings};
use crate::report::{Cell, Section};
use crate::tools::{cargo, run_slowly, spent};

const TEXT: &str = "\
`cargo install --locked` in an empty folder, with packages that were downloaded before. This is the release profile, with which the release \
workflow builds and the rest of this page is measured. Processor time (user and system) is that of all processors together.";
/// The programs and their packages.
const PROGRAMS: [(&str, &str); 2] =
    [("etwctl", "crates/programs/etwctl"), ("cargo-driver", "crates/programs/cargo-driver")];

/// Builds the programs. A program that cannot be built says so in its row.
#[must_use]
pub fn install(settings: &Settings) -> Findings {
    let columns = ["program", "processor time, s", "wall s", "program, MB"];
    let mut section = Section::new("Installing", TEXT, &columns);
    for (name, package) in PROGRAMS {
        if settings.quick {
            section.skipped(name, "only in the full run");
            continue;
        }
        match build(settings, name, package) {
            Ok(cells) => section.row(cells, "1 build"),
            Err(error) => section.skipped(name, &error),
        }
    }
    Findings { sections: vec![section], goals: Vec::new() }
}

/// Installs a program from nothing. Returns the cells of its row.
fn build(settings: &Settings, name: &str, package: &str) -> Result<Vec<Cell>, String> {
    let dir = settings.scratch("install");
    let _ = fs::remove_dir_all(&dir);
    let mut command = cargo(&settings.root);
    command.args(["install", "--quiet", "--locked", "--no-track", "--path", package, "--root"]).arg(&dir);
    command.arg("--target-dir").arg(dir.join("target"));
    let spent = spent(|| run_slowly(&mut command));
    let bytes = size(&dir.join("bin").join(name));
    let _ = fs::remove_dir_all(&dir);
    let spent = spent?;
    let megabytes = Cell::Number(bytes? / 1e6, 1);
    Ok(vec![Cell::text(name), Cell::Number(spent.processor, 0), Cell::Number(spent.wall, 0), megabytes])
}

#[expect(clippy::cast_precision_loss, reason = "programs are far smaller than 2^53 bytes")]
fn size(path: &Path) -> Result<f64, String> {
    fs::metadata(path).map(|about| about.len() as f64).map_err(|error| format!("{}: {error}", path.display()))
}
