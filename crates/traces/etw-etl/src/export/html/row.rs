//! An event as a JSON array, in the order that `model.js` expects.

use super::strings::Strings;
use crate::decode::{Decoded, Field, Names, Node};
use crate::digits::hex;
use crate::event::EventRef;
use crate::export::json::{Integers, push, scalar, stack, string};

/// Maximum number of bytes of undecoded data shown for an event.
const MAX_RAW: usize = 4096;
/// Maximum number of frames shown for a stack.
const MAX_FRAMES: usize = 192;

pub(super) fn row(out: &mut String, event: &EventRef<'_>, decoded: &Decoded, time: i64, strings: &mut Strings) {
    let header = &event.header;
    let descriptor = &header.descriptor;
    push(out, format_args!("[{time}"));
    let label = decoded.event.is_none().then(|| event.label());
    let name = decoded.event.as_deref().or(label.as_deref());
    for text in [decoded.provider.as_deref(), name, Some(event.kind().as_str())] {
        number(out, strings, text);
    }
    for value in [descriptor.level.as_int().into(), descriptor.opcode.as_int().into(), descriptor.task] {
        push(out, format_args!(",{value}"));
    }
    number(out, strings, Some(&format!("{:#x}", descriptor.keyword.bits())));
    for value in [descriptor.id, descriptor.version.into(), descriptor.channel.as_int().into()] {
        push(out, format_args!(",{value}"));
    }
    for value in [header.process_id, header.thread_id] {
        match value {
            Some(value) => push(out, format_args!(",{value}")),
            None => out.push_str(",null"),
        }
    }
    push(out, format_args!(",{}", header.cpu));
    for id in [header.activity, event.related(), event.class()] {
        number(out, strings, id.map(|id| id.to_string()).as_deref());
    }
    out.push(',');
    fields(out, &decoded.fields);
    out.push(',');
    more(out, event, decoded);
    names(out, &decoded.names, strings);
    out.push(']');
}

/// Appends the names of process, command line, thread, file and registry key, if there is any.
fn names(out: &mut String, names: &Names, strings: &mut Strings) {
    let process = names.process.as_deref();
    let command_line = process.and_then(|process| process.command_line.as_deref());
    let all = [
        process.map(|process| &*process.name),
        command_line,
        names.thread.as_deref(),
        names.file.as_deref(),
        names.key.as_deref(),
    ];
    if all.iter().any(Option::is_some) {
        out.push(',');
        list(out, &all, |out, text| push(out, format_args!("{}", strings.number(*text))));
    }
}

fn number(out: &mut String, strings: &mut Strings, text: Option<&str>) {
    push(out, format_args!(",{}", strings.number(text)));
}

/// Appends pairs of name and value. An object would not keep the order of numeric names and would drop duplicate names.
fn fields(out: &mut String, fields: &[Field]) {
    list(out, fields, |out, field| {
        out.push('[');
        string(out, &field.name);
        out.push(',');
        node(out, &field.node);
        out.push(']');
    });
}

fn node(out: &mut String, value: &Node) {
    match value {
        Node::Value(value) => scalar(out, value, Integers::Safe),
        Node::Array(nodes) => list(out, nodes, node),
        Node::Struct(members) => {
            out.push_str("{\"fields\":");
            fields(out, members);
            out.push('}');
        }
        Node::Custom { bytes, .. } => push(out, format_args!("{{\"bytes\":\"{}\"}}", hex(bytes))),
    }
}

/// Appends what only a few events have: undecoded data, a stack, a tag.
fn more(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
    let mut parts = Vec::new();
    if let Some(raw) = &decoded.raw {
        let shown = raw.get(..MAX_RAW).unwrap_or(raw);
        parts.push(format!("\"size\":{},\"raw\":\"{}\"", raw.len(), hex(shown)));
    }
    if let Some(error) = decoded.error {
        let mut text = String::from("\"error\":");
        string(&mut text, &error.to_string());
        parts.push(text);
    }
    if let Some(frames) = event.stack() {
        let mut text = String::from("\"stack\":");
        stack(&mut text, frames.get(..MAX_FRAMES).unwrap_or(&frames));
        parts.push(text);
    }
    if !decoded.frames.is_empty() {
        let mut text = String::from("\"frames\":");
        list(&mut text, decoded.frames.get(..MAX_FRAMES).unwrap_or(&decoded.frames), |out, frame| string(out, frame));
        parts.push(text);
    }
    if decoded.tag != 0 {
        parts.push(format!("\"tag\":\"{:#x}\"", decoded.tag));
    }
    if parts.is_empty() { out.push('0') } else { push(out, format_args!("{{{}}}", parts.join(","))) }
}

fn list<T>(out: &mut String, items: &[T], mut each: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        each(out, item);
    }
    out.push(']');
}
