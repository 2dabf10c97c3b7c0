//! Counts what `wdk-kmdf` costs: the echo driver on it, and the same driver written with `wdk-sys`.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use pe_image::Image;

use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::step::program::{Counted, inside_between_marks};
use crate::tools::{cargo, run_slowly, worker_command};

const TEXT: &str = "\
A port of Microsoft's echo sample on `wdk-kmdf`, and the same driver with the same objects and locks written with the functions of \
`wdk-sys`. nt-host runs both. Instructions are those of the driver's image, counted by single steps; those of the framework and the kernel, \
also `memcpy`, are not counted. *Exits* are the calls of them and the callback's return. *Tick* is the timer's callback that completes the \
request. 64 bytes are written and read. The sections of a file are padded to 512 bytes, so two files can have the same size although their \
sections differ.";
/// The workspace of the drivers.
const DRIVERS: &str = "crates/driver/wdk-kmdf/drivers/Cargo.toml";
const SIDES: [&str; 2] = ["kmdf-echo", "kmdf-echo-raw"];
/// The callbacks: the name of the row, and what the worker does.
const STEPS: [(&str, &str); 3] = [("EvtIoWrite", "write"), ("EvtIoRead", "read"), ("tick", "tick")];

/// Builds both drivers, steps through their callbacks and compares their images.
///
/// # Errors
///
/// Returns an error if a driver cannot be built or stepped, or if two runs differ.
pub fn kmdf(settings: &Settings) -> Result<Findings, String> {
    let images = build(settings)?;
    let columns = ["what", "wdk-kmdf", "wdk-sys", "ratio", "exits, wdk-kmdf", "exits, wdk-sys"];
    let mut section = Section::new("The cost of wdk-kmdf", TEXT, &columns);
    let mut total = [Counted::default(); 2];
    for (name, step) in STEPS {
        let [ours, theirs] = [steps(&images, 0, step)?, steps(&images, 1, step)?];
        row(&mut section, name, [ours, theirs]);
        // A write and a read have a tick each.
        let times = if step == "tick" { 2 } else { 1 };
        for (total, counted) in total.iter_mut().zip([ours, theirs]) {
            total.instructions += times * counted.instructions;
            total.exits += times * counted.exits;
        }
    }
    row(&mut section, "a write and a read, with their ticks", total);
    let [ours, theirs] = total;
    let mut goals =
        vec![goal("wdk-kmdf: instructions of a request, ratio", 1.02, ours.instructions, theirs.instructions)];
    let sizes = images.iter().map(|image| Size::read(image)).collect::<Result<Vec<_>, _>>()?;
    if let [ours, theirs] = sizes.as_slice() {
        for (row, what, ours, theirs) in [
            ("image, bytes", "wdk-kmdf: size of an image, ratio", ours.file, theirs.file),
            ("its sections, bytes", "wdk-kmdf: size of an image's sections, ratio", ours.sections, theirs.sections),
        ] {
            let ratio = Cell::Number(ratio(ours, theirs), 3);
            let cells = vec![Cell::text(row), Cell::count(ours), Cell::count(theirs), ratio];
            section.row(cells, "read from the images, once");
            goals.push(goal(what, 1.05, ours, theirs));
        }
    }
    Ok(Findings { sections: vec![section], goals })
}

/// The size of an image.
struct Size {
    /// Of the file, whose sections are padded to 512 bytes.
    file: u64,
    /// Of the sections in memory, without padding.
    sections: u64,
}

impl Size {
    fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn Display| format!("{}: {error}", path.display());
        let bytes = fs::read(path).map_err(|error| failed(&error))?;
        let image = Image::parse(&bytes).map_err(|error| failed(&error))?;
        let sections = image.sections.iter().map(|section| u64::from(section.virtual_size)).sum();
        Ok(Self { file: image.file_size, sections })
    }
}

/// Builds both drivers and returns their images.
fn build(settings: &Settings) -> Result<Vec<PathBuf>, String> {
    let mut command = cargo(&settings.root);
    command.args(["xtask", "build", "--manifest-path"]).arg(settings.root.join(DRIVERS));
    for side in SIDES {
        command.args(["--package", side]);
    }
    run_slowly(&mut command)?;
    let dir = settings.root.join("target/driver/x64");
    Ok(SIDES.iter().map(|side| dir.join(side.replace('-', "_")).with_extension("sys")).collect())
}

/// Steps through a callback twice.
fn steps(images: &[PathBuf], side: usize, step: &str) -> Result<Counted, String> {
    let image = images.get(side).map(|image| image.display().to_string()).unwrap_or_default();
    let measure = || inside_between_marks(&mut worker_command(&["echo", step, &image])?);
    let first = measure()?;
    let second = measure()?;
    if first != second {
        return Err(format!("two runs of {step} of {image} differ: {first:?} and {second:?}"));
    }
    Ok(first)
}

fn row(section: &mut Section, name: &str, [ours, theirs]: [Counted; 2]) {
    let cells = vec![
        Cell::text(name),
        Cell::count(ours.instructions),
        Cell::count(theirs.instructions),
        Cell::Number(ratio(ours.instructions, theirs.instructions), 3),
        Cell::count(ours.exits),
        Cell::count(theirs.exits),
    ];
    section.row(cells, "stepped twice, equal");
}

fn goal(what: &str, limit: f64, ours: u64, theirs: u64) -> Goal {
    Goal {
        what: what.into(),
        limit,
        bound: Bound::AtMost,
        // The functions of `wdk-sys` and some percent, for the checks that make the layer safe.
        origin: Origin::Target,
        measured: Some(ratio(ours, theirs)),
        everywhere: true,
        note: format!("{ours} to {theirs}"),
        why: String::from("The compiler in use generates other code than the one with which the goal was reached."),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
fn ratio(ours: u64, theirs: u64) -> f64 {
    ours as f64 / theirs.max(1) as f64
}
