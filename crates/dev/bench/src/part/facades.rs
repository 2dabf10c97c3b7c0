//! Measures events that are written through `log` and `tracing`, compared with events that are written directly.

use super::instructions::driver::{Driver, Facade};
use super::{Findings, Images};
use crate::report::{Cell, Section};

const TEXT: &str = "\
An event through `wdk-etw-log` and `wdk-etw-tracing`, compared with `write_event!`. *message* is a constant text. *values* is a `u32` and a text \
of 16 letters: `log` formats them into its message, and the others write them as fields. Counted by single steps as above, at a call site that has \
written an event before. `memcpy` and similar routines are in the kernel: calls to them are counted in their own column, but not their \
instructions. The image is the file with both events; `log` is built without its feature `kv`. `tracing-etw` cannot be part of a driver: it needs \
`std`, and on Linux it writes another format. Only its way to write an event is measured, `tracelogging_dynamic` 1.2.4, called as it calls it: a \
reused builder, the time as the first field, then the fields. Its subscriber with the registry of spans, the clock, and the formatting of messages, \
which allocates, are not measured; on Windows they add to the cost.";

/// The images, and the API that writes their events.
const SIDES: [(&str, &str); 4] = [
    ("facade_direct", "write_event!"),
    ("facade_log", "log"),
    ("facade_tracing", "tracing"),
    ("facade_builder", "tracing-etw, only its builder"),
];

/// Steps through the events of the facades.
///
/// # Errors
///
/// Returns an error if an image cannot be read or stepped.
pub fn facades(images: &Images) -> Result<Findings, String> {
    let columns = ["event", "written with", "disabled", "enabled", "library calls", "stack", "image, bytes"];
    let mut section = Section::new("log and tracing", TEXT, &columns);
    for event in ["message", "values"] {
        for (image, name) in SIDES {
            let file = images.read(image)?;
            let mut driver = Driver::with_library(&file)?;
            let Facade { disabled, enabled, library, stack } = driver.facade(event)?;
            if driver.facade(event)? != (Facade { disabled, enabled, library, stack }) {
                return Err(format!("two runs of {event} of {name} differ"));
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
