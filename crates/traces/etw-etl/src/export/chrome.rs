//! The trace format of the Chrome and Perfetto viewers.
//!
//! A start and its stop ([`Pairs`]) become one complete event (`X`) on the track of the thread that started it. Every other event
//! is an instant on the track of its thread. A start without a stop is also an instant, marked `"open":true`. Processes and threads
//! have their names, if the trace says them.

use std::collections::HashMap;
use std::sync::Arc;

use super::json::{Integers, push, string};
use super::typed::fields;
use super::writer::FormatWriter;
use crate::decode::Decoded;
use crate::digits::hex;
use crate::event::EventRef;
use crate::pair::{Pairs, Role};

/// The beginning of every export.
const START: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
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

/// What stands for a process that the trace does not tell. 0 is the process of the idle threads.
const UNKNOWN_PROCESS: i64 = -1;

#[derive(Debug)]
pub(super) struct Chrome {
    first: Option<i64>,
    any: bool,
    /// Starts that wait for their stop; `None` for those that are not written.
    open: Pairs<Option<Span>>,
    /// How many of the spans in `open` will be written.
    awaited: usize,
    has_unknown_process: bool,
    /// The last name that was written for each process, or for a thread of it.
    names: HashMap<(u32, Option<u32>), Arc<str>>,
}

impl Default for Chrome {
    fn default() -> Self {
        Self {
            first: None,
            any: false,
            open: Pairs::new(MAX_OPEN),
            awaited: 0,
            has_unknown_process: false,
            names: HashMap::new(),
        }
    }
}

impl FormatWriter for Chrome {
    fn start(&mut self, out: &mut String) {
        out.push_str(START);
    }

    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
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
                self.awaited += 1;
                if let Some(span) = self.open.start(event, decoded, Some(span), cost) {
                    self.close_open(out, span);
                }
            }
            Some(Role::Stop) => {
                let stopped = self.open.stop(event, decoded);
                stopped.open.into_iter().for_each(|span| self.close_open(out, span));
                match stopped.start.flatten() {
                    Some(span) => self.complete(out, &span, time, &arguments),
                    None => self.instant(out, time, &head, &arguments),
                }
            }
            None => self.instant(out, time, &head, &arguments),
        }
    }

    fn unselected(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        match Role::from_event(event) {
            Some(Role::Start) if !self.open.repeats(event) => {
                // If there is no room for it, its stop is that of no span.
                let _ = self.open.start(event, decoded, None, SPAN_COST);
            }
            Some(Role::Stop) => {
                let stopped = self.open.stop(event, decoded);
                stopped.open.into_iter().for_each(|span| self.close_open(out, span));
                if let Some(span) = stopped.start.flatten() {
                    let first = self.first.unwrap_or(event.header.time.0);
                    let time = event.header.time.0.saturating_sub(first);
                    self.complete(out, &span, time, &arguments(event, decoded));
                }
            }
            _ => {}
        }
    }

    fn has_spans(&self) -> bool {
        true
    }

    fn awaits_stops(&self) -> bool {
        self.awaited > 0
    }

    /// Writes the spans that are still open, and ends the document.
    fn finish(&mut self, out: &mut String) {
        let mut open: Vec<Span> = self.open.finish().into_iter().flatten().collect();
        open.sort_by_key(|span| span.start);
        for span in open {
            self.close_open(out, Some(span));
        }
        out.push_str("\n]}\n");
    }
}

impl Chrome {
    /// Writes the names of the event's process and thread when they first occur. If an id is used again, the viewers show the last
    /// name.
    fn name(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let names = &decoded.names;
        let Some(process) = event.header.process_id else {
            if !std::mem::replace(&mut self.has_unknown_process, true) {
                self.metadata(out, "process_name", "name", (UNKNOWN_PROCESS, None), "(unknown process)");
            }
            return;
        };
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
            self.metadata(out, what, "name", (process.into(), thread), name);
            if let (None, Some(command_line)) = (thread, command_line) {
                self.metadata(out, "process_labels", "labels", (process.into(), thread), command_line);
            }
        }
    }

    fn metadata(&mut self, out: &mut String, what: &str, key: &str, (process, thread): (i64, Option<u32>), text: &str) {
        self.begin(out);
        push(out, format_args!("{{\"name\":\"{what}\",\"ph\":\"M\",\"pid\":{process}"));
        if let Some(thread) = thread {
            push(out, format_args!(",\"tid\":{thread}"));
        }
        push(out, format_args!(",\"args\":{{\"{key}\":"));
        string(out, text);
        out.push_str("}}");
    }

    fn complete(&mut self, out: &mut String, span: &Span, end: i64, stop: &str) {
        self.awaited -= 1;
        self.begin(out);
        let length = microseconds(end.saturating_sub(span.start).max(0));
        push(out, format_args!("{},\"ph\":\"X\",\"ts\":{},\"dur\":{length}", span.head, microseconds(span.start)));
        push(out, format_args!(",\"args\":{{\"start\":{},\"stop\":{stop}}}}}", span.arguments));
    }

    /// Writes a start without a stop, if it is to be written.
    fn close_open(&mut self, out: &mut String, span: Option<Span>) {
        let Some(span) = span else { return };
        self.awaited -= 1;
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
    let process = header.process_id.map_or(UNKNOWN_PROCESS, i64::from);
    push(&mut out, format_args!(",\"pid\":{process},\"tid\":{thread}"));
    out
}

/// Formats 100 ns units as microseconds with one decimal place.
fn microseconds(ticks: i64) -> String {
    let sign = if ticks < 0 { "-" } else { "" };
    let ticks = ticks.unsigned_abs();
    format!("{sign}{}.{}", ticks / 10, ticks % 10)
}
