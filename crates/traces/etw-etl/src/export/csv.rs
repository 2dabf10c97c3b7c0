//! CSV as specified by RFC 4180, with the columns of the JSON export. A missing value is an empty cell; the fields are JSON in
//! one cell. The names of process, thread, file and registry key and the message are at the end.
//!
//! A name or a message that a spreadsheet would treat as a formula (it starts with `=`, `+`, `-`, `@`, a tab or a carriage return) is prefixed
//! with an apostrophe. Other cells never start with these characters.

use super::json::Integers;
use super::typed;
use super::writer::FormatWriter;
use crate::decode::{Decoded, Field, Node, Scalar};
use crate::digits::hex;
use crate::event::EventRef;

const COLUMNS: &str = "time,provider,provider_id,event,kind,id,version,channel,level,opcode,task,keyword,\
                                  pid,tid,cpu,activity,related,fields,raw,process,thread,file,key,message\r\n";

/// Rows that all have the same columns.
#[derive(Debug, Default)]
pub(super) struct Csv;

impl FormatWriter for Csv {
    fn start(&mut self, out: &mut String) {
        out.push_str(COLUMNS);
    }

    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        line(out, event, decoded);
    }
}

fn line(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
    let header = &event.header;
    let descriptor = &header.descriptor;
    let names = &decoded.names;
    let mut fields = String::new();
    let is_exact = typed::fields(&mut fields, &decoded.fields, Integers::Numbers);
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
        optional(names.process.as_ref().map(|process| guarded(&process.name))),
        optional(names.thread.as_deref().map(guarded)),
        optional(names.file.as_deref().map(guarded)),
        optional(names.key.as_deref().map(guarded)),
        optional(decoded.message().as_deref().map(guarded)),
    ];
    row(out, cells);
}

fn row(out: &mut String, cells: impl IntoIterator<Item = String>) {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_cell(out, &cell);
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

/// The columns of every event if fields have columns of their own.
const FEW_COLUMNS: [&str; 13] = [
    "time", "provider", "event", "level", "pid", "process", "tid", "thread", "cpu", "activity", "file", "key",
    "message",
];

/// A table of events of one kind: each field has a column. The columns are those of the first event. The last column has the
/// fields of an event that have no column, as JSON.
#[derive(Debug, Default)]
pub(super) struct FieldColumns {
    names: Option<Vec<String>>,
}

impl FormatWriter for FieldColumns {
    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let header = &event.header;
        let columns = self.names.get_or_insert_with(|| {
            let names: Vec<String> = decoded.fields.iter().map(|field| field.name.clone()).collect();
            let fields = names.iter().map(|name| guarded(name));
            row(out, FEW_COLUMNS.iter().map(|name| (*name).to_owned()).chain(fields).chain(["more".to_owned()]));
            names
        });
        let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
        let name = |name: Option<&str>| name.map(guarded).unwrap_or_default();
        let cells = [
            header.time.to_string(),
            name(decoded.provider.as_deref()),
            name(decoded.event.as_deref().or(Some(&event.label()))),
            header.descriptor.level.as_int().to_string(),
            number(header.process_id),
            name(decoded.names.process.as_ref().map(|process| &*process.name)),
            number(header.thread_id),
            name(decoded.names.thread.as_deref()),
            header.cpu.to_string(),
            header.activity.map(|id| id.to_string()).unwrap_or_default(),
            name(decoded.names.file.as_deref()),
            name(decoded.names.key.as_deref()),
            name(decoded.message().as_deref()),
        ];
        let mut left: Vec<Option<&Field>> = decoded.fields.iter().map(Some).collect();
        let mut take = |wanted: &String| left.iter_mut().find_map(|field| field.take_if(|field| field.name == *wanted));
        let values: Vec<String> = columns.iter().map(|column| take(column).map(value).unwrap_or_default()).collect();
        let left: Vec<Field> = left.into_iter().flatten().cloned().collect();
        let mut more = String::new();
        if !left.is_empty() {
            typed::fields(&mut more, &left, Integers::Numbers);
        }
        row(out, cells.into_iter().chain(values).chain([more]));
    }
}

/// Returns the text of a value for its cell.
fn value(field: &Field) -> String {
    match &field.node {
        Node::Value(Scalar::Text(text) | Scalar::Word(text)) => guarded(text),
        node => {
            let mut text = String::new();
            typed::node(&mut text, field, node, Integers::Numbers);
            text
        }
    }
}
