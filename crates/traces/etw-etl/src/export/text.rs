//! One line per event, for people: time, origin, content.

use std::borrow::Cow;

use super::json::push;
use super::paint;
use super::writer::FormatWriter;
use crate::decode::{Decoded, Scalar, escaped};
use crate::digits::hex;
use crate::event::{EventRef, Kind};
use crate::format::logfile::LogfileHeader;

/// The hook id of the first record of a file.
const HEADER_HOOK: u16 = 0;
/// Maximum number of bytes of undecoded data in a line.
const MAX_RAW: usize = 64;

/// Lines of text.
#[derive(Debug, Default)]
pub(super) struct Text {
    has_colours: bool,
}

impl FormatWriter for Text {
    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let start = out.len();
        line(out, event, decoded);
        // Names may contain any character.
        let safe = out.get(start..).map_or(Cow::Borrowed(""), escaped);
        let colour = if self.has_colours { paint::of_level(event.header.descriptor.level) } else { None };
        if let (None, Cow::Borrowed(_)) = (colour, &safe) {
            out.push('\n');
            return;
        }
        let end = if colour.is_some() { paint::PLAIN } else { "" };
        let safe = format!("{}{safe}{end}\n", colour.unwrap_or_default());
        out.truncate(start);
        out.push_str(&safe);
    }

    fn colour(&mut self) {
        self.has_colours = true;
    }
}

/// Appends the line of an event without its end.
fn line(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
    let header = &event.header;
    let descriptor = &header.descriptor;
    let id = |value: Option<u32>| value.map_or_else(|| "-".into(), |value| value.to_string());
    let process = match &decoded.names.process {
        Some(process) => format!("{}({})", Scalar::Text(process.name.to_string()), process.id),
        None => id(header.process_id),
    };
    push(out, format_args!("{} {process}:{} cpu{} ", header.time, id(header.thread_id), header.cpu));
    if event.kind() == Kind::System
        && descriptor.id == HEADER_HOOK
        && let Some(about) = LogfileHeader::parse(event.payload())
    {
        return session(out, &about);
    }
    if decoded.event.is_some() {
        push(out, format_args!("{decoded}"));
    } else {
        match (&decoded.provider, event.class()) {
            (Some(name), _) => push(out, format_args!("{}/", escaped(name))),
            (None, Some(provider)) => push(out, format_args!("{provider}/")),
            (None, None) => {}
        }
        push(out, format_args!("{} id={} version={}", event.label(), descriptor.id, descriptor.version));
        decoded.fields.iter().for_each(|field| push(out, format_args!(" {field}")));
    }
    // The content of a WPP message is its text.
    if event.kind() == Kind::Wpp
        && let Some(message) = decoded.message()
    {
        push(out, format_args!(" message={}", Scalar::Text(message)));
    }
    for (what, name) in decoded.names.others() {
        push(out, format_args!(" {what}={}", Scalar::Text(name.to_owned())));
    }
    push(out, format_args!(" level={}", descriptor.level.as_int()));
    if descriptor.opcode.as_int() != 0 {
        push(out, format_args!(" opcode={}", descriptor.opcode.as_int()));
    }
    if descriptor.task != 0 {
        push(out, format_args!(" task={}", descriptor.task));
    }
    if descriptor.keyword.bits() != 0 {
        push(out, format_args!(" keyword={:#x}", descriptor.keyword.bits()));
    }
    if let Some(activity) = header.activity {
        push(out, format_args!(" activity={activity}"));
    }
    if let Some(related) = event.related() {
        push(out, format_args!(" related={related}"));
    }
    if let Some(sequence) = header.sequence {
        push(out, format_args!(" sequence={sequence}"));
    }
    if !decoded.frames.is_empty() {
        push(out, format_args!(" stack={}", Scalar::Text(decoded.frames.join(" <- "))));
    } else if let Some(frames) = event.stack() {
        out.push_str(" stack=");
        let separators = std::iter::once("").chain(std::iter::repeat("<-"));
        frames.iter().zip(separators).for_each(|(frame, before)| push(out, format_args!("{before}{frame:#x}")));
    } else if let Some(key) = event.stack_key() {
        push(out, format_args!(" stack_key={key:#x}"));
    }
    if let Some(raw) = decoded.raw.as_deref().filter(|raw| !raw.is_empty()) {
        let shown = raw.get(..MAX_RAW).unwrap_or(raw);
        let more = raw.len() - shown.len();
        push(out, format_args!(" raw={}", hex(shown)));
        if more > 0 {
            push(out, format_args!("…(+{more} bytes)"));
        }
    }
}

/// Writes the first record of a file, which describes the session. Its raw bytes would mean little to a reader.
fn session(out: &mut String, about: &LogfileHeader) {
    let [major, minor, ..] = about.version;
    // Quote these like any other text of a file.
    let text = |text: &String| Scalar::Text(text.clone());
    push(out, format_args!("session {} file={}", text(&about.logger_name), text(&about.file_name)));
    push(out, format_args!(" system={major}.{minor}.{} processors={}", about.provider_version, about.processors));
    // Windows writes both numbers when it closes the file.
    let told = |number: u32| if about.is_closed() { number.to_string() } else { "-".to_owned() };
    push(out, format_args!(" buffers={} lost={}", told(about.buffers_written), told(about.events_lost)));
}
