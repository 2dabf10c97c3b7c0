//! Compares the trace of a machine with the expected one, as a plan wants it.

use std::path::Path;

use etw_etl::compare::{Difference, Entry, compare};
use etw_etl::{Decoder, Kind, Reader};
use etw_types::Guid;

use crate::evidence::Compared;
use crate::plan::Plan;

/// The maximum number of compared events of a trace, and of differences that are kept.
const MAX_EVENTS: usize = 200_000;
const MAX_DIFFERENCES: usize = 200;

/// Compares two traces.
///
/// # Errors
///
/// If a trace cannot be read, or lost events.
pub fn compared(trace: &Path, expected: &Path, plan: &Plan) -> Result<Compared, String> {
    let first = entries(trace, plan)?;
    let second = entries(expected, plan)?;
    let comparison = compare(&first, &second);
    let differences = comparison.differences.iter().take(MAX_DIFFERENCES).map(line).collect();
    Ok(Compared { events: first.len(), expected: second.len(), common: comparison.common, differences })
}

fn entries(path: &Path, plan: &Plan) -> Result<Vec<Entry>, String> {
    let named = |error: &dyn ToString| format!("{}: {}", path.display(), error.to_string());
    let mut reader = Reader::open(path).map_err(|error| named(&error))?;
    let mut schemas = Decoder::from_reader(&reader, None);
    let provider = Guid::from_name(&plan.provider);
    let mut entries = Vec::new();
    while let Some(event) = reader.next_ref() {
        let is_driver = plan.provider.is_empty() || event.header.provider == Some(provider);
        if matches!(event.kind(), Kind::System | Kind::Mof) || !is_driver {
            continue;
        }
        let decoded = schemas.decode(&event);
        if decoded.event.as_ref().is_some_and(|name| plan.ignore_events.contains(name)) {
            continue;
        }
        if entries.len() == MAX_EVENTS {
            return Err(named(&"it has too many events to compare"));
        }
        entries.push(Entry::new(&event, &decoded, &plan.ignore_fields));
    }
    let report = reader.report();
    if !report.is_whole() || report.has_session_losses() {
        return Err(named(&format!("it is incomplete: {report}")));
    }
    Ok(entries)
}

/// A difference in one line. The first trace is that of Windows.
fn line(difference: &Difference) -> String {
    match difference {
        Difference::OnlyFirst { position, event } => format!("only on Windows: {event}, event {position}"),
        Difference::OnlySecond { position, event } => format!("only in nt-host: {event}, event {position}"),
        Difference::Changed { positions: (position, _), event, parts } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| {
                    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".into());
                    format!("{}: {} | {}", part.name, value(&part.first), value(&part.second))
                })
                .collect();
            format!("different: {event}, event {position}: {}", parts.join("; "))
        }
    }
}
