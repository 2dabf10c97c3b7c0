//! The trace format of Chrome's and Perfetto's viewers.
//!
//! A start and its stop become one complete event (`X`) on the track of the thread that started it; everything else is an
//! instant on its thread's track. They are paired by provider and activity id; where an event has none, by provider, thread
//! and task, the latest start first. A start whose stop is not in the trace lasts to its end.

use std::collections::BTreeMap;

use etw_types::{Guid, Opcode};

use super::json::{fields, push, string};
use crate::decode::Decoded;
use crate::read::event::EventRef;

/// What an export starts with.
pub(super) const START: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
/// Memory for spans that are open, in bytes. A start beyond it is an instant.
const MAX_OPEN: usize = 16 * 1024 * 1024;
/// What a span costs besides its texts.
const SPAN_COST: usize = 256;

/// How a stop finds its start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Activity(Option<Guid>, Guid),
    Thread(Option<Guid>, Option<u32>, Option<u32>, u16),
}

/// A start that waits for its stop.
#[derive(Debug)]
struct Span {
    start: i64,
    head: String,
    arguments: String,
}

impl Span {
    fn cost(&self) -> usize {
        SPAN_COST + self.head.len() + self.arguments.len()
    }
}

#[derive(Debug, Default)]
pub(super) struct Chrome {
    first: Option<i64>,
    last: i64,
    any: bool,
    open: BTreeMap<Key, Vec<Span>>,
    held: usize,
}

impl Chrome {
    pub(super) fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let header = &event.header;
        let time = header.time.0.saturating_sub(*self.first.get_or_insert(header.time.0));
        self.last = self.last.max(time);
        let mut arguments = String::new();
        fields(&mut arguments, &decoded.fields);
        let key = match header.activity {
            Some(activity) => Key::Activity(header.provider, activity),
            None => Key::Thread(header.provider, header.process_id, header.thread_id, header.descriptor.task),
        };
        let is_kernel = header.process_id.is_none();
        let head = head(event, decoded);
        match header.descriptor.opcode {
            Opcode::Start if !is_kernel => {
                let span = Span { start: time, head, arguments };
                if self.held + span.cost() > MAX_OPEN {
                    self.instant(out, time, &span.head, &span.arguments);
                } else {
                    self.held += span.cost();
                    self.open.entry(key).or_default().push(span);
                }
            }
            Opcode::Stop if !is_kernel => match self.take(&key) {
                Some(span) => self.complete(out, &span, time, &format!("\"stop\":{arguments}")),
                None => self.instant(out, time, &head, &arguments),
            },
            _ => self.instant(out, time, &head, &arguments),
        }
    }

    /// Ends the spans that are still open, and the document.
    pub(super) fn finish(&mut self, out: &mut String) {
        let mut open: Vec<Span> = std::mem::take(&mut self.open).into_values().flatten().collect();
        open.sort_by_key(|span| span.start);
        for span in open {
            self.complete(out, &span, self.last, "\"unfinished\":true");
        }
        out.push_str("\n]}\n");
    }

    fn take(&mut self, key: &Key) -> Option<Span> {
        let spans = self.open.get_mut(key)?;
        let span = spans.pop();
        if spans.is_empty() {
            self.open.remove(key);
        }
        self.held -= span.as_ref().map_or(0, Span::cost);
        span
    }

    fn complete(&mut self, out: &mut String, span: &Span, end: i64, more: &str) {
        self.begin(out);
        let length = microseconds(end.saturating_sub(span.start).max(0));
        push(out, format_args!("{},\"ph\":\"X\",\"ts\":{},\"dur\":{length}", span.head, microseconds(span.start)));
        push(out, format_args!(",\"args\":{{\"start\":{},{more}}}}}", span.arguments));
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

/// The open object with name, category and track. A record without a thread is on a track of its processor.
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

/// 100 ns as microseconds with one digit behind the point.
fn microseconds(ticks: i64) -> String {
    let sign = if ticks < 0 { "-" } else { "" };
    let ticks = ticks.unsigned_abs();
    format!("{sign}{}.{}", ticks / 10, ticks % 10)
}
