//! CSV as specified by RFC 4180, with the columns of the JSON export. A missing value is an empty cell; the fields are JSON in
//! one cell.
//!
//! A name that a spreadsheet would treat as a formula (it starts with `=`, `+`, `-`, `@`, a tab or a carriage return) is prefixed
//! with an apostrophe. Other cells never start with these characters.

use super::json;
use crate::decode::Decoded;
use crate::format::bytes::hex;
use crate::read::event::EventRef;

pub(super) const COLUMNS: &str = "time,provider,provider_id,event,kind,id,version,channel,level,opcode,task,keyword,\
                                  pid,tid,cpu,activity,related,fields,raw\r\n";

pub(super) fn line(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
    let header = &event.header;
    let descriptor = &header.descriptor;
    let mut fields = String::new();
    let is_exact = json::fields(&mut fields, &decoded.fields, json::Integers::Numbers);
    let optional = |value: Option<String>| value.unwrap_or_default();
    let cells = [
        header.time.to_string(),
        optional(decoded.provider.as_deref().map(guarded)),
        optional(event.class().map(|id| id.to_string())),
        optional(decoded.event.as_deref().map(guarded)),
        event.kind().as_str().to_owned(),
        descriptor.id.to_string(),
        descriptor.version.to_string(),
        descriptor.channel.as_int().to_string(),
        descriptor.level.as_int().to_string(),
        descriptor.opcode.as_int().to_string(),
        descriptor.task.to_string(),
        format!("{:#x}", descriptor.keyword.bits()),
        optional(header.process_id.map(|id| id.to_string())),
        optional(header.thread_id.map(|id| id.to_string())),
        header.cpu.to_string(),
        optional(header.activity.map(|id| id.to_string())),
        optional(event.related().map(|id| id.to_string())),
        fields,
        optional(decoded.raw.as_deref().or_else(|| (!is_exact).then(|| event.payload())).map(hex)),
    ];
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_cell(out, cell);
    }
    out.push_str("\r\n");
}

/// Returns a name that a spreadsheet does not evaluate as a formula.
fn guarded(name: &str) -> String {
    if name.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{name}") } else { name.to_owned() }
}

fn push_cell(out: &mut String, cell: &str) {
    if cell.contains([',', '"', '\r', '\n']) {
        out.push('"');
        out.push_str(&cell.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(cell);
    }
}
