//! The trace format of the Chrome and Perfetto viewers.
//!
//! A start and its stop ([`Pairs`]) become one complete event (`X`) on the track of the thread that started it. Every other event
//! is an instant on the track of its thread. A start without a stop is also an instant, marked `"open":true`. Processes and threads
//! have their names, if the trace says them.

use std::collections::HashMap;
use std::sync::Arc;

use super::json::{Integers, push, string};
use super::typed::fields;
use crate::decode::Decoded;
use crate::digits::hex;
use crate::event::EventRef;
use crate::pair::{Pairs, Role};

/// The beginning of every export.
pub(super) const START: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
/// Maximum memory for open spans, in bytes. A start beyond this limit becomes an instant.
const MAX_OPEN: usize = 16 * 1024 * 1024;
/// Maximum number of names of processes and threads.
const MAX_NAMES: usize = 100_000;
/// The memory cost of a span in addition to its strings.
const SPAN_COST: usize = 256;

/// A start whose stop has not been seen yet.
#[derive(Debug)]
struct Span {
    start: i64,
    head: String,
    arguments: String,
}

#[derive(Debug)]
pub(super) struct Chrome {
    first: Option<i64>,
    any: bool,
    open: Pairs<Span>,
    /// The last name that was written for each process, or for a thread of it.
    names: HashMap<(u32, Option<u32>), Arc<str>>,
}

impl Default for Chrome {
    fn default() -> Self {
        Self { first: None, any: false, open: Pairs::new(MAX_OPEN), names: HashMap::new() }
    }
}

impl Chrome {
    pub(super) fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let header = &event.header;
        let time = header.time.0.saturating_sub(*self.first.get_or_insert(header.time.0));
        self.name(out, event, decoded);
        let arguments = arguments(event, decoded);
        let head = head(event, decoded);
        match Role::from_event(event) {
            Some(Role::Start) if self.open.repeats(event) => self.instant(out, time, &head, &arguments),
            Some(Role::Start) => {
                let cost = SPAN_COST + head.len() + arguments.len();
                let span = Span { start: time, head, arguments };
                if let Some(span) = self.open.start(event, decoded, span, cost) {
                    self.open_end(out, &span);
                }
            }
            Some(Role::Stop) => {
                let stopped = self.open.stop(event, decoded);
                stopped.open.iter().for_each(|span| self.open_end(out, span));
                match stopped.start {
                    Some(span) => self.complete(out, &span, time, &arguments),
                    None => self.instant(out, time, &head, &arguments),
                }
            }
            None => self.instant(out, time, &head, &arguments),
        }
    }

    /// Writes the names of the event's process and thread when they first occur. If an id is used again, the viewers show the last
    /// name.
    fn name(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let (Some(process), names) = (event.header.process_id, &decoded.names) else { return };
        let thread = event.header.thread_id.zip(names.thread.as_ref());
        let found =
            [names.process.as_ref().map(|process| (None, &process.name)), thread.map(|(id, name)| (Some(id), name))];
        for (thread, name) in found.into_iter().flatten() {
            if self.names.get(&(process, thread)).is_some_and(|known| known == name) || self.names.len() >= MAX_NAMES {
                continue;
            }
            self.names.insert((process, thread), Arc::clone(name));
            let command_line = names.process.as_ref().and_then(|process| process.command_line.as_deref());
            let what = if thread.is_some() { "thread_name" } else { "process_name" };
            self.metadata(out, what, "name", (process, thread), name);
            if let (None, Some(command_line)) = (thread, command_line) {
                self.metadata(out, "process_labels", "labels", (process, thread), command_line);
            }
        }
    }

    fn metadata(&mut self, out: &mut String, what: &str, key: &str, (process, thread): (u32, Option<u32>), text: &str) {
        self.begin(out);
        push(out, format_args!("{{\"name\":\"{what}\",\"ph\":\"M\",\"pid\":{process}"));
        if let Some(thread) = thread {
            push(out, format_args!(",\"tid\":{thread}"));
        }
        push(out, format_args!(",\"args\":{{\"{key}\":"));
        string(out, text);
        out.push_str("}}");
    }

    /// Writes the spans that are still open, and ends the document.
    pub(super) fn finish(&mut self, out: &mut String) {
        let mut open = self.open.finish();
        open.sort_by_key(|span| span.start);
        for span in open {
            self.open_end(out, &span);
        }
        out.push_str("\n]}\n");
    }

    fn complete(&mut self, out: &mut String, span: &Span, end: i64, stop: &str) {
        self.begin(out);
        let length = microseconds(end.saturating_sub(span.start).max(0));
        push(out, format_args!("{},\"ph\":\"X\",\"ts\":{},\"dur\":{length}", span.head, microseconds(span.start)));
        push(out, format_args!(",\"args\":{{\"start\":{},\"stop\":{stop}}}}}", span.arguments));
    }

    /// Writes a start without a stop.
    fn open_end(&mut self, out: &mut String, span: &Span) {
        let arguments = format!("{{\"start\":{},\"open\":true}}", span.arguments);
        self.instant(out, span.start, &span.head, &arguments);
    }

    fn instant(&mut self, out: &mut String, time: i64, head: &str, arguments: &str) {
        self.begin(out);
        let time = microseconds(time);
        push(out, format_args!("{head},\"ph\":\"i\",\"s\":\"t\",\"ts\":{time},\"args\":{arguments}}}"));
    }

    fn begin(&mut self, out: &mut String) {
        out.push_str(if self.any { ",\n" } else { "\n" });
        self.any = true;
    }
}

/// Returns the event's fields as a JSON object. The bytes of an event that is not decoded completely follow as `raw`, and the
/// names of its file and its registry key as `names`.
fn arguments(event: &EventRef<'_>, decoded: &Decoded) -> String {
    let mut out = String::new();
    let is_exact = fields(&mut out, &decoded.fields, Integers::Safe);
    let mut members = Vec::new();
    if let Some(raw) = decoded.raw.as_deref().or_else(|| (!is_exact).then(|| event.payload())) {
        members.push(format!("\"raw\":\"{}\"", hex(raw)));
    }
    let names = decoded.names.others().filter(|(what, _)| *what != "thread").map(|(what, name)| {
        let mut member = format!("\"{what}\":");
        string(&mut member, name);
        member
    });
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        members.push(format!("\"names\":{{{}}}", names.join(",")));
    }
    if !members.is_empty() {
        out.pop();
        let comma = if decoded.fields.is_empty() { "" } else { "," };
        push(&mut out, format_args!("{comma}{}}}", members.join(",")));
    }
    out
}

/// Starts the JSON object with name, category and track, and leaves it open. A record without a thread goes to a track with the
/// number of its processor.
fn head(event: &EventRef<'_>, decoded: &Decoded) -> String {
    let header = &event.header;
    let mut out = String::from("{\"name\":");
    match &decoded.event {
        Some(name) => string(&mut out, name),
        None => string(&mut out, &event.label()),
    }
    out.push_str(",\"cat\":");
    match (&decoded.provider, event.class()) {
        (Some(name), _) => string(&mut out, name),
        (None, Some(id)) => push(&mut out, format_args!("\"{id}\"")),
        (None, None) => push(&mut out, format_args!("\"{}\"", event.kind().as_str())),
    }
    let thread = header.thread_id.unwrap_or(header.cpu.into());
    push(&mut out, format_args!(",\"pid\":{},\"tid\":{thread}", header.process_id.unwrap_or(0)));
    out
}

/// Formats 100 ns units as microseconds with one decimal place.
fn microseconds(ticks: i64) -> String {
    let sign = if ticks < 0 { "-" } else { "" };
    let ticks = ticks.unsigned_abs();
    format!("{sign}{}.{}", ticks / 10, ticks % 10)
}
