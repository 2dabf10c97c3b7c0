//! Runs a driver with a thousand devices in nt-host, and with many requests and threads.
//!
//! The driver is a new one, as `cargo driver new` makes it, because the sample driver has at most 16 devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use driver_build::new::{Kind, NewDriver, Source};
use etw_types::NtStatus;
use nt_host::{Error, NtHost};
use serde_json::{Value, json};

use super::{Findings, Settings, scale};
use crate::report::{Cell, Section};
use crate::stats::median;
use crate::tools::{cargo, peak_kib, required_number, run_slowly, worker};

const TEXT: &str = "\
One run of a new KMDF driver (`cargo driver new`) in nt-host: load, add the devices, send a request to each, remove them, unload. Memory is \
the maximum of the driver's process (VmHWM). The floor is the same run with one device.";
const NAME: &str = "bench-devices";

/// Runs the driver with a thousand devices and with one, and then with many requests and threads.
///
/// # Errors
///
/// Returns an error if the driver does not run. If it cannot be built, the rows say so.
pub fn devices(settings: &Settings) -> Result<Findings, String> {
    let mut section = Section::new("Many devices", TEXT, &["what", "s", "peak MiB"]);
    let rounds = if settings.quick { 1 } else { 5 };
    let image = build(settings).map(|image| image.display().to_string());
    for (name, count) in [("1,000 devices", "1000"), ("1 device (the floor)", "1")] {
        let image = match &image {
            Ok(image) => image,
            Err(error) => {
                section.skipped(name, error);
                continue;
            }
        };
        let mut runs = Vec::new();
        for _ in 0..rounds {
            let output = worker(&["devices", count, image])?;
            let get = |name| required_number(&output, name);
            runs.push((get("ns")? / 1e9, get("peak_kib")? / 1024.0));
        }
        let middle = |value: fn(&(f64, f64)) -> f64| median(&runs.iter().map(value).collect::<Vec<f64>>());
        let cells = vec![Cell::text(name), Cell::number(middle(|run| run.0), 3), Cell::number(middle(|run| run.1), 1)];
        section.row(cells, format!("{rounds} runs, median"));
    }
    Ok(Findings { sections: vec![section, scale::section(&image, rounds)?], goals: Vec::new() })
}

/// Makes and builds the driver.
fn build(settings: &Settings) -> Result<PathBuf, String> {
    let dir = settings.scratch(NAME);
    let _ = fs::remove_dir_all(&dir);
    NewDriver::at(&dir, Kind::Kmdf, Source::Path(settings.root.clone())).write().map_err(|error| error.to_string())?;
    run_slowly(cargo(&settings.root).args(["xtask", "build", "--manifest-path"]).arg(&dir))?;
    Ok(settings.root.join("target/driver/x64").join(NAME.replace('-', "_")).with_extension("sys"))
}

/// Runs the driver with this many devices. Runs in a worker.
pub(crate) fn run_devices(count: u64, image: &Path) -> Result<Value, String> {
    let text = |error: Error| error.to_string();
    let started = Instant::now();
    let host = NtHost::builder().driver(image).start().map_err(text)?;
    let devices = (0..count).map(|_| host.add_device()).collect::<Result<Vec<_>, _>>().map_err(text)?;
    for device in &devices {
        let reply = device.ioctl(scale::ADD, &[5, 0, 0, 0], 4).map_err(text)?;
        if reply.status != NtStatus::Success || reply.output != [5, 0, 0, 0] {
            return Err(format!("the driver returned {} for a request", reply.status));
        }
    }
    for device in devices {
        device.remove().map_err(text)?;
    }
    let peak = peak_kib(host.process_id());
    host.unload().map_err(text)?;
    drop(host);
    let nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(json!({ "ns": nanoseconds, "peak_kib": peak }))
}
