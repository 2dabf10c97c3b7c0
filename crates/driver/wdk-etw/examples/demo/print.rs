//! Captured events as a table.

use std::fmt::Write as _;

use etw_engine::CapturedEvent;
use wdk_etw::tracelogging::{Field, Metadata, Value, Visitor, decode};
use wdk_etw::{NtStatus, OutType};

/// Prints one line per event: time since the first, level, opcode, activity, name and fields.
pub(crate) fn events(events: &[CapturedEvent]) {
    let start = events.first().map_or(0, |event| event.timestamp);
    println!("  {:>9}  {:<13} {:<8} {:<8} {:<12} fields", "µs", "level", "opcode", "activity", "event");
    for event in events {
        let (name, fields) = decoded(event);
        let microseconds = event.timestamp.saturating_sub(start) / 10;
        let activity = if event.activity.is_zero() { String::new() } else { short(&event.activity.to_string()) };
        let (level, opcode) = (event.descriptor.level.to_string(), event.descriptor.opcode.to_string());
        let line = format!("  {microseconds:>9}  {level:<13} {opcode:<8} {activity:<8} {name:<12} {fields}");
        println!("{}", line.trim_end());
    }
}

/// The first group of an id's digits.
fn short(id: &str) -> String {
    id.split('-').next().unwrap_or_default().to_owned()
}

/// The event's name and its fields as text.
fn decoded(event: &CapturedEvent) -> (String, String) {
    let Some(Ok((metadata, _))) = event.metadata.as_deref().map(Metadata::parse) else {
        return ("(no schema)".to_owned(), format!("{:02x?}", event.payload));
    };
    let mut line = Line::default();
    if let Err(error) = decode(&metadata, &event.payload, &mut line) {
        let _ = write!(line.0, "({error})");
    }
    (String::from_utf8_lossy(metadata.name()).into_owned(), line.0)
}

#[derive(Default)]
struct Line(String);

impl<'a> Visitor<'a> for Line {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        let name = String::from_utf8_lossy(field.name);
        let _ = match (field.out_type, value) {
            (OutType::NtStatus, Value::Hex(code)) => {
                let status = u32::try_from(code).map(NtStatus::from_int).unwrap_or_default();
                write!(self.0, "{name}={status} ")
            }
            _ => write!(self.0, "{name}={value} "),
        };
    }

    fn begin_struct(&mut self, field: &Field<'a>) {
        let _ = write!(self.0, "{}={{ ", String::from_utf8_lossy(field.name));
    }

    fn end_struct(&mut self, _: &Field<'a>) {
        self.0 += "} ";
    }
}
