//! Reads and decodes a whole trace.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use etw_etl::{Decoder, Reader};
use etw_types::tracelogging::{Field, Value as Decoded, Visitor};
use serde_json::{Value, json};

use crate::tools::{Whose, peak_kib, processor_time};

/// Decodes every event of a file into owned values.
pub(super) fn decode(file: &Path) -> Result<Value, String> {
    measure(file, |reader| {
        let mut events = 0;
        let mut fields = 0;
        for event in reader.by_ref() {
            fields += event.decode().fields.len() as u64;
            events += 1;
        }
        (events, fields)
    })
}

/// Passes every value of a file's events to a visitor, without copying.
pub(super) fn visit(file: &Path) -> Result<Value, String> {
    measure(file, |reader| {
        let mut counter = Counter::default();
        let mut events = 0;
        while let Some(event) = reader.next_ref() {
            // An event without a schema has no values.
            let _ = event.visit(&mut counter);
            events += 1;
        }
        (events, counter.values)
    })
}

/// Names every event of a file and visits each of its values without copying. Fails if an event is not named or
/// incomplete.
pub(super) fn name(file: &Path) -> Result<Value, String> {
    let mut missed = 0_u64;
    let result = measure(file, |reader| {
        let mut decoder = Decoder::from_reader(reader, None);
        let mut events = 0;
        let mut values = 0;
        while let Some(event) = reader.next_ref() {
            let named = decoder.visit(&event, &mut |field, value| {
                black_box((&field.name, value));
                values += 1;
            });
            missed +=
                u64::from(!named.is_some_and(|(schema, is_whole)| is_whole && !black_box(&schema.name).is_empty()));
            events += 1;
        }
        (events, values)
    })?;
    if missed > 0 { Err(format!("{missed} events are not named or not complete")) } else { Ok(result) }
}

/// Decodes every event of a file by its schema into owned values.
pub(super) fn name_owned(file: &Path) -> Result<Value, String> {
    measure(file, |reader| {
        let mut decoder = Decoder::from_reader(reader, None);
        let mut events = 0;
        let mut fields = 0;
        while let Some(event) = reader.next_ref() {
            fields += decoder.decode(&event).fields.len() as u64;
            events += 1;
        }
        (events, fields)
    })
}

/// Counts the events of a file by their kind.
pub(super) fn kinds(file: &Path) -> Result<Value, String> {
    let mut reader = Reader::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    while let Some(event) = reader.next_ref() {
        *kinds.entry(event.kind().as_str()).or_default() += 1;
    }
    Ok(json!(kinds))
}

/// Counts values and uses each one, so that it must be decoded.
#[derive(Default)]
struct Counter {
    values: u64,
}

impl<'a> Visitor<'a> for Counter {
    fn value(&mut self, field: &Field<'a>, value: Decoded<'a>) {
        black_box((field, value));
        self.values += 1;
    }
}

/// Takes the processor time of `walk` over a file. `walk` returns the numbers of events and fields.
fn measure(file: &Path, walk: impl FnOnce(&mut Reader) -> (u64, u64)) -> Result<Value, String> {
    let text = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let bytes = fs::metadata(file).map_err(|error| text(&error))?.len();
    let before = processor_time(Whose::Own);
    let mut reader = Reader::open(file).map_err(|error| text(&error))?;
    let (events, fields) = walk(&mut reader);
    let elapsed = processor_time(Whose::Own).saturating_sub(before);
    Ok(json!({
        "bytes": bytes,
        "events": events,
        "fields": fields,
        "ns": u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        "peak_kib": peak_kib(std::process::id()),
    }))
}
