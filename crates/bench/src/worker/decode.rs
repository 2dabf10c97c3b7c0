//! A trace read and decoded from beginning to end.

use std::fs;
use std::path::Path;
use std::time::Instant;

use etw_etl::Reader;
use serde_json::{Value, json};

/// Decodes every event of a file.
pub(super) fn decode(file: &Path) -> Result<Value, String> {
    let text = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let bytes = fs::metadata(file).map_err(|error| text(&error))?.len();
    let started = Instant::now();
    let mut reader = Reader::open(file).map_err(|error| text(&error))?;
    let (mut events, mut members) = (0_u64, 0_u64);
    for event in reader.by_ref() {
        let decoded = event.decode();
        members += decoded.fields.len() as u64;
        events += 1;
    }
    let elapsed = started.elapsed();
    Ok(json!({
        "bytes": bytes,
        "events": events,
        "fields": members,
        "ns": u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        "peak_kib": peak_kib(),
    }))
}

/// The most memory that this process had, in KiB.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
