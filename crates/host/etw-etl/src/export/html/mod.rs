//! A page that shows a trace in any browser, with a timeline, a filter, a table and a field view.
//!
//! The page is one file. It makes no network requests, and its content security policy allows only the script that is built into
//! this crate: `SCRIPT_HASH` and `STYLE_HASH` identify the only script and the only style sheet that a browser accepts. The trace
//! is a block of JSON that contains no `<`, so no text of a provider can end it.
//!
//! The size is bounded: a page holds at most [`MAX_EVENTS`] events and about [`MAX_BYTES`] of event data, and states the total
//! number of events.

mod row;
mod strings;

use super::about::About;
use super::json::{push, string};
use crate::decode::Decoded;
use crate::event::EventRef;
use crate::time::FileTime;
use row::row;
use strings::Strings;

/// Maximum number of events in a page.
const MAX_EVENTS: u64 = 100_000;
/// Approximate maximum size of the events in a page, in bytes.
const MAX_BYTES: usize = 96 * 1024 * 1024;

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
const SCRIPT_HASH: &str = "sha256-sHHF0DTcas3XTxA665PR6KNa/0OevOhMc2hya9SIFmU=";
/// The hash of [`STYLE`] in the page's policy. A test checks it.
const STYLE_HASH: &str = "sha256-pfA3lQkPfj0RJz3E3XCBW6X/Xi96osyRX8pAexULh4g=";

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
        }
    }
}

impl Html {
    /// Returns the page up to its data.
    pub(super) fn start() -> String {
        let (before, _) = halves();
        format!("{before}{{\"events\":[")
    }

    pub(super) fn about(&mut self, about: About) {
        self.about = about;
    }

    pub(super) fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let first = *self.first.get_or_insert(event.header.time);
        let time = event.header.time.0.saturating_sub(first.0);
        self.last = self.last.max(time);
        self.events += 1;
        if self.held >= self.max_events || self.bytes >= self.max_bytes {
            return;
        }
        out.push_str(if self.held == 0 { "\n" } else { ",\n" });
        row(out, event, decoded, time, &mut self.strings);
        self.held += 1;
        harmless(out);
        self.bytes += out.len();
    }

    /// Returns the number of events that were received but are not in the page.
    pub(super) const fn left_out(&self) -> u64 {
        self.events - self.held
    }

    /// Appends the rest of the page.
    pub(super) fn finish(&self, out: &mut String) {
        out.push_str("\n],\n\"strings\":[");
        for (index, text) in self.strings.texts.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            string(out, text);
        }
        out.push_str("],\n\"about\":{\"title\":");
        string(out, &self.about.title);
        out.push_str(",\"start\":");
        string(out, &self.first.map(|time| time.to_string()).unwrap_or_default());
        for (key, value) in [
            ("events", self.events),
            ("duration", self.last.unsigned_abs()),
            ("lost_events", self.about.events_lost),
            ("lost_buffers", self.about.buffers_lost),
            ("unreadable", self.about.unreadable_bytes),
        ] {
            push(out, format_args!(",\"{key}\":{value}"));
        }
        out.push_str("}}");
        harmless(out);
        out.push_str(&halves().1);
    }
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
