//! Measures the sample driver beyond one run: its failure matrix, and the size of its image.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use nt_host::{Error, Matrix, NtHost};
use pe_image::Image;

use super::{Findings, Settings};
use crate::report::{Cell, Section};
use crate::stats::{median, spread};

const SAMPLE: &str = "target/driver/x64/driver_sample.sys";
pub(super) const ECHO: u32 = 0x0022_E000;
pub(super) const NOT_BUILT: &str = "the sample driver is not built (cargo xtask build)";

const MATRIX_TEXT: &str = "\
The failure matrix of the sample driver: one run for each call that can fail, in which this call fails, and 20 runs with random failures. \
Each run has its own process: load, add a device, send a request, remove the device, unload. The floor is the same run without a failure.";
const IMAGE_TEXT: &str = "\
The release image of the sample driver. *Code* and *read-only data* are the sections as they are in memory.";
const SEEDS: u64 = 20;

/// Returns the sample driver's image, if it is built.
pub(super) fn sample(settings: &Settings) -> Option<PathBuf> {
    Some(settings.root.join(SAMPLE)).filter(|image| image.is_file())
}

/// Runs the failure matrix of the sample driver.
///
/// # Errors
///
/// Returns an error if the sample driver does not run, or a run has findings.
pub fn matrix(settings: &Settings) -> Result<Findings, String> {
    let mut section = Section::new("The failure matrix", MATRIX_TEXT, &["what", "runs", "runs per s"]);
    let rows = ["failure matrix", "the same run without failures (the floor)"];
    let Some(image) = sample(settings) else { return Ok(skipped(section, &rows)) };
    let rounds = if settings.quick { 1 } else { 5 };
    let mut rates = [Vec::new(), Vec::new()];
    let mut runs = 0;
    for _ in 0..rounds {
        let matrix = Matrix::new(NtHost::builder().driver(&image).trace_all()).seeds(SEEDS);
        let started = Instant::now();
        let survey = matrix.run(drive).map_err(|error| error.to_string())?;
        let elapsed = started.elapsed();
        if !survey.broken.is_empty() {
            return Err(format!("{} runs of the failure matrix have findings", survey.broken.len()));
        }
        // The first run has no failure; it counts the calls.
        runs = 1 + survey.failures + survey.seeds;
        let started = Instant::now();
        for _ in 0..runs {
            let host = NtHost::builder().driver(&image).trace_all().prepare().map_err(|error| error.to_string())?;
            drive(&host).map_err(|error| error.to_string())?;
        }
        for (rates, elapsed) in rates.iter_mut().zip([elapsed, started.elapsed()]) {
            #[expect(clippy::cast_precision_loss, reason = "some hundreds of runs")]
            rates.push(runs as f64 / elapsed.as_secs_f64());
        }
    }
    for (name, rates) in rows.into_iter().zip(&rates) {
        let spread = spread(rates, 0, "");
        let cells = vec![Cell::text(name), Cell::count(runs), Cell::number(median(rates), 0)];
        section.row(cells, format!("{rounds} rounds in turns, median{spread}"));
    }
    Ok(Findings { sections: vec![section], goals: Vec::new() })
}

/// Uses the driver from load to unload.
fn drive(host: &NtHost) -> Result<(), Error> {
    host.load()?;
    let device = host.add_device()?;
    device.ioctl(ECHO, b"hello", 64)?;
    device.remove()?;
    host.unload().map(drop)
}

/// Reads the size of the sample driver's image.
///
/// # Errors
///
/// Returns an error if the image cannot be read.
pub fn image(settings: &Settings) -> Result<Findings, String> {
    let columns = ["what", "bytes", "code", "read-only data"];
    let mut section = Section::new("Size of the sample driver", IMAGE_TEXT, &columns);
    let Some(path) = sample(settings) else { return Ok(skipped(section, &["driver_sample.sys"])) };
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let image = Image::parse(&file).map_err(|error| format!("{}: {error}", path.display()))?;
    let sum = |is_code: bool| {
        let sections = image.sections.iter().filter(|section| !section.is_writable() && section.name != ".reloc");
        sections
            .filter(|section| section.is_executable() == is_code)
            .map(|section| u64::from(section.memory_size()))
            .sum()
    };
    let size = file.len() as u64;
    let cells =
        vec![Cell::text("driver_sample.sys"), Cell::count(size), Cell::count(sum(true)), Cell::count(sum(false))];
    section.row(cells, "read from the image, once");
    Ok(Findings { sections: vec![section], goals: Vec::new() })
}

/// Returns a table whose rows say that the sample driver is missing.
fn skipped(mut section: Section, rows: &[&str]) -> Findings {
    for row in rows {
        section.skipped(row, NOT_BUILT);
    }
    Findings { sections: vec![section], goals: Vec::new() }
}
