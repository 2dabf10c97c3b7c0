//! One line per event, for people: time, origin, content.

use super::json::push;
use crate::decode::{Decoded, Scalar, escaped};
use crate::digits::hex;
use crate::event::{EventRef, Kind};
use crate::format::logfile::LogfileHeader;

/// The hook id of the first record of a file.
const HEADER_HOOK: u16 = 0;
/// Maximum number of bytes of undecoded data in a line.
const MAX_RAW: usize = 64;

pub(super) fn line(out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
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
    out.push('\n');
}

/// Writes the first record of a file, which describes the session. Its raw bytes would mean little to a reader.
fn session(out: &mut String, about: &LogfileHeader) {
    let [major, minor, ..] = about.version;
    // Quote these like any other text of a file.
    let text = |text: &String| Scalar::Text(text.clone());
    push(out, format_args!("session {} file={}", text(&about.logger_name), text(&about.file_name)));
    push(out, format_args!(" system={major}.{minor}.{} processors={}", about.provider_version, about.processors));
    push(out, format_args!(" buffers={} lost={}\n", about.buffers_written, about.events_lost));
}
