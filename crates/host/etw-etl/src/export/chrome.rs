//! The trace format of the Chrome and Perfetto viewers.
//!
//! A start and its stop ([`Pairs`]) become one complete event (`X`) on the track of the thread that started it. Every other event
//! is an instant on the track of its thread. A start without a stop is also an instant, marked `"open":true`.

use super::json::{Integers, fields, push, string};
use crate::decode::Decoded;
use crate::pair::{Pairs, Role};
use crate::read::event::EventRef;

/// The beginning of every export.
pub(super) const START: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
/// Maximum memory for open spans, in bytes. A start beyond this limit becomes an instant.
const MAX_OPEN: usize = 16 * 1024 * 1024;
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
}

impl Default for Chrome {
    fn default() -> Self {
        Self { first: None, any: false, open: Pairs::new(MAX_OPEN) }
    }
}

impl Chrome {
    pub(super) fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let header = &event.header;
        let time = header.time.0.saturating_sub(*self.first.get_or_insert(header.time.0));
        let mut arguments = String::new();
        fields(&mut arguments, &decoded.fields, Integers::Safe);
        let head = head(event, decoded);
        match Role::of(event) {
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

/// Starts the JSON object with name, category and track, and leaves it open. A record without a thread goes to a track with the
/// number of its processor.
fn head(event: &EventRef<'_>, decoded: &Decoded) -> String {
    let header = &event.header;
    let mut out = String::from("{\"name\":");
    match &decoded.event {
        Some(name) => string(&mut out, name),
        None => push(&mut out, format_args!("\"{} {}\"", event.kind().as_str(), header.descriptor.id)),
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
