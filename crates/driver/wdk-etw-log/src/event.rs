//! Writes a message as the event `Log` with the fields `message`, `target`, `module`, `file`, `line`, and one field for
//! each key-value.

use log::Record;
use wdk_etw::__private::Formatting;
use wdk_etw::{EventDataDescriptor, EventDescriptor, FixedText, Keyword, Level, Mode, Provider};

/// Maximum size of a formatted message in bytes. Longer text is truncated. A message without arguments can be longer.
///
/// ```
/// const { assert!(wdk_etw_log::MESSAGE_SIZE >= 256, "longer messages are expected") };
/// ```
pub const MESSAGE_SIZE: usize = 512;

/// Replaces a message that was not formatted.
const CUT: &str = "\u{2026}";

/// The metadata of an event without key-values: size, tag, the name, and five fields.
static METADATA: &[u8] = b"\x30\0\0Log\0message\0\x97\x23target\0\x97\x23module\0\x97\x23file\0\x97\x23line\0\x08";

const _: () = assert!(METADATA.len() == 0x30);

/// Writes `record`. The caller has checked that a session enabled it.
#[cold]
pub(crate) fn write<M: Mode>(provider: &Provider<M>, level: Level, keyword: Keyword, record: &Record<'_>) -> M::Status {
    let descriptor = EventDescriptor::new(level, keyword);
    let constant = record.args().as_str();
    // A constant message needs no formatting and therefore no permit.
    let permit = if constant.is_none() || has_key_values(record) { Formatting::<M>::enter() } else { None };
    let mut text = FixedText::<MESSAGE_SIZE>::new();
    let message = match (constant, &permit) {
        (Some(message), _) => message,
        (None, Some(_)) => text.format(*record.args()),
        (None, None) => CUT,
    };
    let texts = [message, record.target(), record.module_path().unwrap_or_default(), record.file().unwrap_or_default()];
    let fields = Fields::new(texts, record.line().unwrap_or_default());
    #[cfg(feature = "kv")]
    if has_key_values(record) {
        return with_key_values(provider, &descriptor, &fields, record, permit.is_some());
    }
    fields.write(provider, &descriptor, METADATA, &[])
}

#[cfg(feature = "kv")]
fn has_key_values(record: &Record<'_>) -> bool {
    record.key_values().count() != 0
}

#[cfg(not(feature = "kv"))]
fn has_key_values(_: &Record<'_>) -> bool {
    false
}

/// Writes a message that has key-values.
#[cfg(feature = "kv")]
fn with_key_values<M: Mode>(
    provider: &Provider<M>,
    descriptor: &EventDescriptor,
    fields: &Fields<'_>,
    record: &Record<'_>,
    may_format: bool,
) -> M::Status {
    use crate::key_values::{KEY_VALUE_SIZE, KeyValues};

    let mut metadata = [0; KeyValues::METADATA_SIZE];
    let mut payload = [0; KEY_VALUE_SIZE];
    let builder = KeyValues::new(&mut metadata, &mut payload).add(record.key_values(), may_format);
    match builder.finish() {
        Ok((metadata, payload)) => fields.write(provider, descriptor, metadata, payload),
        // This does not happen, because key-values are added only if they fit. If it did, the message would be written
        // without them.
        Err(_) => fields.write(provider, descriptor, METADATA, &[]),
    }
}

/// The fields that every message has.
struct Fields<'a> {
    texts: [&'a str; 4],
    lengths: [[u8; 2]; 4],
    line: [u8; 4],
}

impl<'a> Fields<'a> {
    fn new(texts: [&'a str; 4], line: u32) -> Self {
        let texts = texts.map(bounded);
        let lengths = texts.map(|text| u16::try_from(text.len()).unwrap_or_default().to_le_bytes());
        Self { texts, lengths, line: line.to_le_bytes() }
    }

    fn write<M: Mode>(
        &self,
        provider: &Provider<M>,
        descriptor: &EventDescriptor,
        metadata: &[u8],
        key_values: &[u8],
    ) -> M::Status {
        let [message, target, module, file] = self.texts.map(|text| EventDataDescriptor::new(text.as_bytes()));
        let [a, b, c, d] = &self.lengths;
        let length = |bytes| EventDataDescriptor::new(bytes);
        let traits = provider.traits_descriptor();
        provider.write_wanted(
            descriptor,
            None,
            None,
            &[
                traits,
                EventDataDescriptor::event_metadata(metadata),
                length(a),
                message,
                length(b),
                target,
                length(c),
                module,
                length(d),
                file,
                EventDataDescriptor::new(&self.line),
                EventDataDescriptor::new(key_values),
            ],
        )
    }
}

/// Truncates a text, so that its length fits into 16 bits and an event can hold all four texts.
fn bounded(text: &str) -> &str {
    /// Four texts of this length and the rest of the event are smaller than 64 KiB.
    const LONGEST: usize = 15_000;
    if text.len() <= LONGEST { text } else { text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default() }
}
