//! A page that shows a trace in any browser, with a timeline, a filter, a table and a field view.
//!
//! The page is one file. It makes no network requests, and its content security policy allows only the script that is built into
//! this crate: `SCRIPT_HASH` and `STYLE_HASH` identify the only script and the only style sheet that a browser accepts. The trace
//! is a block of JSON that contains no `<`, so no text of a provider can end it.
//!
//! The size is bounded: a page holds at most [`MAX_EVENTS`] events and about [`MAX_BYTES`] of event data, and states the total
//! number of events. If it leaves events out, it holds the first ones, those around warnings and errors, and the last ones. The
//! timeline marks where events are left out, so that a thread does not look idle there.

mod row;
mod spans;
mod strings;
mod waiting;

use std::fmt;

use super::about::About;
use super::json::{push, string};
use super::writer::FormatWriter;
use crate::decode::Decoded;
use crate::event::EventRef;
use crate::time::FileTime;
use row::row;
use spans::{Shown, Spans};
use strings::Strings;
use waiting::Waiting;

/// Maximum number of events in a page.
const MAX_EVENTS: u64 = 100_000;
/// Approximate maximum size of the events in a page, in bytes.
const MAX_BYTES: usize = 96 * 1024 * 1024;
/// One part in this many of the limits is for events around warnings and errors, and for the last events.
const REST: u64 = 10;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("model.js"),
    include_str!("filter.js"),
    include_str!("timeline.js"),
    include_str!("table.js"),
    include_str!("detail.js"),
    include_str!("main.js"),
);
/// The hash of [`SCRIPT`] in the page's policy. A test checks it.
const SCRIPT_HASH: &str = "sha256-a3Etw1B+4qZu8fR4/LAhSlJY/BbFEkwfroBIaMj/bxQ=";
/// The hash of [`STYLE`] in the page's policy. A test checks it.
const STYLE_HASH: &str = "sha256-jIIk7ZG01FlZspjzIjxfDfBKkFQJlphZhPW/DufzYH4=";

#[derive(Debug)]
pub(super) struct Html {
    max_events: u64,
    max_bytes: usize,
    about: About,
    strings: Strings,
    first: Option<FileTime>,
    last: i64,
    /// Number of events received.
    events: u64,
    /// Number of events in the page.
    held: u64,
    bytes: usize,
    /// Number of events at the start of the page that follow each other without a gap.
    leading: u64,
    waiting: Waiting,
    spans: Spans,
    gaps: Vec<Gap>,
    /// Whether the last event is in the last gap.
    is_in_gap: bool,
}

/// Events that follow each other and are not in the page.
#[derive(Debug)]
struct Gap {
    from: i64,
    to: i64,
    events: u64,
}

impl Default for Html {
    fn default() -> Self {
        Self {
            max_events: MAX_EVENTS,
            max_bytes: MAX_BYTES,
            about: About::default(),
            strings: Strings::default(),
            first: None,
            last: 0,
            events: 0,
            held: 0,
            bytes: 0,
            leading: 0,
            waiting: Waiting::default(),
            spans: Spans::default(),
            gaps: Vec::new(),
            is_in_gap: false,
        }
    }
}

impl FormatWriter for Html {
    /// Appends the page up to its data.
    fn start(&mut self, out: &mut String) {
        let (before, _) = halves();
        out.push_str(&before);
        out.push_str("{\"events\":[");
    }

    fn about(&mut self, about: About) {
        self.about = about;
    }

    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let first = *self.first.get_or_insert(event.header.time);
        let time = event.header.time.0.saturating_sub(first.0);
        self.last = self.last.max(time);
        let number = self.events;
        self.events += 1;
        self.spans.see(event, decoded, time, Some(number));
        let rest_events = self.max_events / REST;
        let rest_bytes = self.max_bytes / usize::try_from(REST).unwrap_or(1);
        if self.leading + 1 == self.events
            && self.held < self.max_events - rest_events
            && self.bytes < self.max_bytes - rest_bytes
        {
            self.row(out, event, decoded, time, number);
            self.leading = self.held;
            return;
        }
        if self.room() == 0 {
            self.leave_out(time, number);
            return;
        }
        self.waiting.push(event, decoded, time, number);
        while u64::try_from(self.waiting.len()).unwrap_or(u64::MAX) > rest_events.max(1)
            || self.waiting.bytes > rest_bytes
        {
            let Some((waiter, is_near)) = self.waiting.pop() else { break };
            if is_near && self.room() > 0 {
                self.row(out, &waiter.event.as_ref(), &waiter.decoded, waiter.time, waiter.number);
            } else {
                self.leave_out(waiter.time, waiter.number);
            }
        }
    }

    fn unselected(&mut self, _out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let first = self.first.unwrap_or(event.header.time);
        self.spans.see(event, decoded, event.header.time.0.saturating_sub(first.0), None);
    }

    fn has_spans(&self) -> bool {
        true
    }

    fn awaits_stops(&self) -> bool {
        self.spans.awaits_stops()
    }

    fn left_out(&self) -> u64 {
        let waiting = u64::try_from(self.waiting.len()).unwrap_or(u64::MAX);
        self.events - self.held - waiting.min(self.room())
    }

    /// Appends the rest of the page.
    fn finish(&mut self, out: &mut String) {
        self.settle(out);
        let mut rest = self.rest();
        harmless(&mut rest);
        out.push_str(&rest);
        out.push_str(&halves().1);
    }
}

impl Html {
    /// Returns the rest of the page's data: strings, spans, and what is said about the trace.
    fn rest(&self) -> String {
        let mut data = String::new();
        let out = &mut data;
        out.push_str("\n],\n\"strings\":[");
        for (index, text) in self.strings.texts.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            string(out, text);
        }
        out.push_str("],\n\"spans\":[");
        for (index, Shown { start, stop, end }) in self.spans.shown().into_iter().enumerate() {
            push(out, format_args!("{}[{start}", if index == 0 { "" } else { "," }));
            or_null(out, stop);
            or_null(out, end);
            out.push(']');
        }
        out.push_str("],\n\"about\":{\"title\":");
        string(out, &self.about.title);
        out.push_str(",\"start\":");
        string(out, &self.first.map(|time| time.to_string()).unwrap_or_default());
        for (key, value) in [
            ("events", Some(self.events)),
            ("leading", Some(self.leading)),
            ("duration", Some(self.last.unsigned_abs())),
            ("lost_events", self.about.events_lost),
            ("lost_buffers", self.about.buffers_lost),
            ("unreadable", Some(self.about.unreadable_bytes)),
        ] {
            push(out, format_args!(",\"{key}\":"));
            number_or_null(out, value);
        }
        out.push_str(",\"gaps\":[");
        for (index, Gap { from, to, events }) in self.gaps.iter().enumerate() {
            push(out, format_args!("{}[{from},{to},{events}]", if index == 0 { "" } else { "," }));
        }
        out.push_str("]}}");
        data
    }

    /// Adds an event to the gap after the last event of the page.
    fn leave_out(&mut self, time: i64, number: u64) {
        self.spans.leave_out(number);
        match self.gaps.last_mut().filter(|_| self.is_in_gap) {
            Some(gap) => {
                gap.from = gap.from.min(time);
                gap.to = gap.to.max(time);
                gap.events += 1;
            }
            None => self.gaps.push(Gap { from: time, to: time, events: 1 }),
        }
        self.is_in_gap = true;
    }

    fn row(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded, time: i64, number: u64) {
        self.spans.place(event, number, self.held);
        let mut text = String::from(if self.held == 0 { "\n" } else { ",\n" });
        row(&mut text, event, decoded, time, &mut self.strings);
        harmless(&mut text);
        self.held += 1;
        self.is_in_gap = false;
        self.bytes += text.len();
        out.push_str(&text);
    }

    /// Returns how many more events the page can hold.
    const fn room(&self) -> u64 {
        if self.bytes < self.max_bytes { self.max_events - self.held } else { 0 }
    }

    /// Appends the waiting events that there is room for: those near problems, and the last ones.
    fn settle(&mut self, out: &mut String) {
        let mut room = self.room();
        let mut left = u64::try_from(self.waiting.len()).unwrap_or(u64::MAX);
        while let Some((waiter, is_near)) = self.waiting.pop() {
            if room > 0 && (is_near || left <= room) {
                self.row(out, &waiter.event.as_ref(), &waiter.decoded, waiter.time, waiter.number);
                room -= 1;
            } else {
                self.leave_out(waiter.time, waiter.number);
            }
            left -= 1;
        }
    }
}

/// Appends a number, or null if there is none.
fn number_or_null(out: &mut String, number: Option<impl fmt::Display>) {
    match number {
        Some(number) => push(out, format_args!("{number}")),
        None => out.push_str("null"),
    }
}

/// The same, after a comma.
fn or_null(out: &mut String, number: Option<impl fmt::Display>) {
    out.push(',');
    number_or_null(out, number);
}

/// Returns the parts of the page before and after its data.
fn halves() -> (String, String) {
    let (before, behind) = PAGE.split_once("{{data}}").unwrap_or((PAGE, ""));
    let before = before
        .replace("{{script-hash}}", SCRIPT_HASH)
        .replace("{{style-hash}}", STYLE_HASH)
        .replace("{{style}}", STYLE);
    (before, behind.replace("{{script}}", SCRIPT))
}

/// Makes JSON safe to embed in a page: characters that could end its element or begin another occur only in strings, where they
/// can be escaped.
fn harmless(json: &mut String) {
    if json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        *json = json
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029");
    }
}

#[cfg(test)]
mod hash;
#[cfg(test)]
mod tests;
