//! JSON Lines: one object per event. The keys and their order are part of this crate's interface.
//!
//! Every event has `schema_version`, which is 1, and the keys up to `fields`. These keys follow if the event has them: `process`,
//! `thread`, `file` and `key` (the names of its process and its thread, and of the file and the registry key that it is about),
//! `message` (the text from its manifest with the fields inserted), `sequence` (the sequence number of a message), `stack` (return
//! addresses, innermost first) with `frames` (names of images and functions, including inlined ones), `stack_key` if the file
//! does not define the stack, and `raw` (the event's data) if it was not decoded completely or a value does not fit its type.
//!
//! A field has one type: integers are numbers with all their digits, booleans are booleans, floating-point numbers are numbers or
//! null, and everything else is a string. Pointers and other hexadecimal numbers, GUIDs, addresses, dates and statuses are
//! strings.

use etw_types::Guid;

use super::json::{self, Integers, push, string};
use super::typed::fields;
use super::writer::FormatWriter;
use crate::decode::Decoded;
use crate::digits::hex;
use crate::digits::{decimal, guid, hexadecimal, time};
use crate::event::EventRef;

/// The beginning of every line. The version must change whenever the keys or their meaning change.
const START: &str = "{\"schema_version\":1,\"time\":\"";

/// Lines of JSON.
#[derive(Debug, Default)]
pub(super) struct JsonLines;

impl FormatWriter for JsonLines {
    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        line(out, event, decoded);
    }
}

fn line(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
    let header = &event.header;
    let descriptor = &header.descriptor;
    out.push_str(START);
    time(out, header.time);
    out.push_str("\",\"provider\":");
    optional(out, decoded.provider.as_deref());
    out.push_str(",\"provider_id\":");
    id(out, event.class());
    out.push_str(",\"event\":");
    optional(out, decoded.event.as_deref());
    out.push_str(",\"kind\":\"");
    out.push_str(event.kind().as_str());
    for (key, value) in [
        ("\",\"id\":", descriptor.id),
        (",\"version\":", descriptor.version.into()),
        (",\"channel\":", descriptor.channel.as_int().into()),
        (",\"level\":", descriptor.level.as_int().into()),
        (",\"opcode\":", descriptor.opcode.as_int().into()),
        (",\"task\":", descriptor.task),
    ] {
        out.push_str(key);
        decimal(out, value.into());
    }
    out.push_str(",\"keyword\":\"");
    hexadecimal(out, descriptor.keyword.bits());
    for (key, value) in [("\",\"pid\":", header.process_id), (",\"tid\":", header.thread_id)] {
        out.push_str(key);
        match value {
            Some(value) => decimal(out, value.into()),
            None => out.push_str("null"),
        }
    }
    out.push_str(",\"cpu\":");
    decimal(out, header.cpu.into());
    out.push_str(",\"activity\":");
    id(out, header.activity);
    out.push_str(",\"related\":");
    id(out, event.related());
    out.push_str(",\"fields\":");
    let is_exact = fields(out, &decoded.fields, Integers::Numbers);
    if let Some(process) = &decoded.names.process {
        out.push_str(",\"process\":");
        string(out, &process.name);
    }
    for (what, name) in decoded.names.others() {
        push(out, format_args!(",\"{what}\":"));
        string(out, name);
    }
    if let Some(message) = decoded.message() {
        out.push_str(",\"message\":");
        string(out, &message);
    }
    if let Some(sequence) = header.sequence {
        push(out, format_args!(",\"sequence\":{sequence}"));
    }
    if let Some(frames) = event.stack() {
        out.push_str(",\"stack\":");
        json::stack(out, &frames);
        if !decoded.frames.is_empty() {
            out.push_str(",\"frames\":[");
            for (index, frame) in decoded.frames.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                string(out, frame);
            }
            out.push(']');
        }
    } else if let Some(key) = event.stack_key() {
        push(out, format_args!(",\"stack_key\":\"{key:#x}\""));
    }
    if let Some(raw) = decoded.raw.as_deref().or_else(|| (!is_exact).then(|| event.payload())) {
        push(out, format_args!(",\"raw\":\"{}\"", hex(raw)));
    }
    out.push_str("}\n");
}

fn id(out: &mut String, id: Option<Guid>) {
    match id {
        Some(id) => {
            out.push('"');
            guid(out, &id);
            out.push('"');
        }
        None => out.push_str("null"),
    }
}

fn optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => out.push_str("null"),
    }
}
