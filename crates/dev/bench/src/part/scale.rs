//! Whether the cost of a request and of a thread stays the same when there are many of them.

use std::path::Path;
use std::time::{Duration, Instant};

use etw_types::{Guid, NtStatus};
use nt_host::{Error, NtHost, Storm};
use serde_json::{Value, json};

use crate::report::{Cell, Section};
use crate::stats::median;
use crate::tools::{required_number, worker};

const TEXT: &str = "\
The same driver with one device and many requests, one after the other, and with many threads that send a request each at the same time. \
The last column compares the time for one of them with the row above; 1.0 means that the cost is linear.";

/// Adds a number to the device's sum and returns the sum.
pub(super) const ADD: u32 = 0x0022_2000;

/// A number with its text.
type Count = (u32, &'static str);

/// What a worker counts, and the smaller and the larger number.
const ROWS: [(&str, [Count; 2]); 2] =
    [("requests", [(5_000, "5,000"), (20_000, "20,000")]), ("threads", [(1_000, "1,000"), (2_000, "2,000")])];

/// Runs the driver with few and many requests and threads. The image is that of the part "devices".
pub(super) fn section(image: &Result<String, String>, rounds: u32) -> Result<Section, String> {
    let mut section = Section::new("Many requests and threads", TEXT, &["what", "s", "µs each", "ratio"]);
    for (what, counts) in ROWS {
        let mut before = None;
        for (count, text) in counts {
            let name = format!("{text} {what}");
            let image = match image {
                Ok(image) => image,
                Err(error) => {
                    section.skipped(&name, error);
                    continue;
                }
            };
            let mut runs = Vec::new();
            for _ in 0..rounds {
                let output = worker(&[what, &count.to_string(), image])?;
                runs.push(required_number(&output, "ns")?);
            }
            let Some(total) = median(&runs) else { continue };
            let each = total / f64::from(count);
            let mut cells =
                vec![Cell::text(name), Cell::number(Some(total / 1e9), 3), Cell::number(Some(each / 1e3), 1)];
            cells.push(before.map_or_else(|| Cell::text(""), |before| Cell::number(Some(each / before), 2)));
            before = Some(each);
            section.row(cells, format!("{rounds} runs, median"));
        }
    }
    Ok(section)
}

fn text(error: &Error) -> String {
    error.to_string()
}

fn elapsed(started: Instant) -> Value {
    json!({ "ns": u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX) })
}

/// Sends this many requests. Runs in a worker.
pub(crate) fn run_requests(count: u64, image: &Path) -> Result<Value, String> {
    let host = NtHost::builder().driver(image).start().map_err(|error| text(&error))?;
    let device = host.add_device().map_err(|error| text(&error))?;
    let started = Instant::now();
    for _ in 0..count {
        let reply = device.ioctl(ADD, &[0, 0, 0, 0], 4).map_err(|error| text(&error))?;
        if reply.status != NtStatus::Success {
            return Err(format!("the driver returned {} for a request", reply.status));
        }
    }
    Ok(elapsed(started))
}

/// Runs this many threads at the same time. Runs in a worker.
pub(crate) fn run_threads(count: u64, image: &Path) -> Result<Value, String> {
    let builder = NtHost::builder().driver(image).patience(Duration::from_mins(5));
    let host = builder.prepare().map_err(|error| text(&error))?;
    let storm = Storm {
        rounds: 1,
        threads: u32::try_from(count).map_err(|error| error.to_string())?,
        requests: 1,
        provider: Guid::from_name("Bench"),
        code: ADD,
        input: vec![0; 4],
        output: 4,
    };
    let started = Instant::now();
    let report = host.storm(&storm).map_err(|error| text(&error))?;
    match report.findings().first() {
        Some(finding) => Err(finding.to_string()),
        None => Ok(elapsed(started)),
    }
}
