//! JSON Lines: one object for each event. The keys and their order are part of this crate's interface.
//!
//! Every event has the keys up to `fields`. Behind them follow, where an event has it, `sequence` (the number of a message),
//! `stack` (return addresses, the innermost first) or, where the file does not define it, `stack_key`, and `raw`.

use super::json::{self, fields, push, string};
use crate::decode::Decoded;
use crate::format::bytes::hex;
use crate::read::event::EventRef;

pub(super) fn line(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
    let header = &event.header;
    let descriptor = &header.descriptor;
    push(out, format_args!("{{\"time\":\"{}\",\"provider\":", header.time));
    optional(out, decoded.provider.as_deref());
    out.push_str(",\"provider_id\":");
    optional(out, header.provider.map(|id| id.to_string()).as_deref());
    out.push_str(",\"event\":");
    optional(out, decoded.event.as_deref());
    push(out, format_args!(",\"kind\":\"{}\"", event.kind().as_str()));
    for (key, value) in [
        ("id", descriptor.id),
        ("version", descriptor.version.into()),
        ("channel", descriptor.channel.as_int().into()),
        ("level", descriptor.level.as_int().into()),
        ("opcode", descriptor.opcode.as_int().into()),
        ("task", descriptor.task),
    ] {
        push(out, format_args!(",\"{key}\":{value}"));
    }
    push(out, format_args!(",\"keyword\":\"{:#x}\"", descriptor.keyword.bits()));
    for (key, value) in [("pid", header.process_id), ("tid", header.thread_id)] {
        let value = value.map_or_else(|| "null".into(), |value| value.to_string());
        push(out, format_args!(",\"{key}\":{value}"));
    }
    push(out, format_args!(",\"cpu\":{},\"activity\":", header.cpu));
    optional(out, header.activity.map(|id| id.to_string()).as_deref());
    out.push_str(",\"related\":");
    optional(out, event.related().map(|id| id.to_string()).as_deref());
    out.push_str(",\"fields\":");
    fields(out, &decoded.fields);
    if let Some(sequence) = header.sequence {
        push(out, format_args!(",\"sequence\":{sequence}"));
    }
    if let Some(frames) = event.stack() {
        out.push_str(",\"stack\":");
        json::stack(out, &frames);
    } else if let Some(key) = event.stack_key() {
        push(out, format_args!(",\"stack_key\":\"{key:#x}\""));
    }
    if let Some(raw) = &decoded.raw {
        push(out, format_args!(",\"raw\":\"{}\"", hex(raw)));
    }
    out.push_str("}\n");
}

fn optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => out.push_str("null"),
    }
}
