//! Measures events that are written through `log` and `tracing`, compared with events that are written directly.

use super::instructions::driver::{Driver, Facade};
use super::{Findings, Images};
use crate::report::{Cell, Section};

const TEXT: &str = "\
An event through `wdk-etw-log` and `wdk-etw-tracing`, beside one of `write_event!`: *message* is a constant text, *values* a `u32` and a text of 16 \
letters, which `log` formats into its message and the others have as fields. Stepped as above, from a call site that has been traced before. Calls of \
`memcpy` and the like go to the kernel; they are counted beside, not what they do. The image is the file with both events: `log` without its \
feature `kv`. `tracing-etw` cannot be in a driver: it needs `std`, and on Linux it writes another format. Measured of it is what it writes an event with, \
`tracelogging_dynamic` 1.2.4, called as it does: a builder that is used again, the time as the first field, then the fields. Not measured, and added to \
that on Windows, are its subscriber with the registry of spans, the clock, and the formatting of messages, which allocates.";

/// The images, and what writes their events.
const SIDES: [(&str, &str); 4] = [
    ("facade_direct", "write_event!"),
    ("facade_log", "log"),
    ("facade_tracing", "tracing"),
    ("facade_builder", "tracing-etw, its builder alone"),
];

/// Steps through the events of the facades.
///
/// # Errors
///
/// Returns an error if an image cannot be read or stepped.
pub fn facades(images: &Images) -> Result<Findings, String> {
    let columns = ["event", "written with", "disabled", "enabled", "calls beside", "stack", "image, bytes"];
    let mut section = Section::new("facades", "log and tracing", TEXT, &columns);
    for event in ["message", "values"] {
        for (image, name) in SIDES {
            let file = images.read(image)?;
            let mut driver = Driver::with_library(&file)?;
            let Facade { disabled, enabled, library, stack } = driver.facade(event)?;
            if driver.facade(event)? != (Facade { disabled, enabled, library, stack }) {
                return Err(format!("{event} of {name} is not the same twice"));
            }
            let cells = vec![
                Cell::text(event),
                Cell::text(name),
                Cell::count(disabled),
                Cell::count(enabled),
                Cell::count(library),
                Cell::count(stack),
                Cell::count(file.len() as u64),
            ];
            section.row(cells, "stepped twice, equal");
        }
    }
    Ok(Findings { sections: vec![section], goals: Vec::new() })
}
