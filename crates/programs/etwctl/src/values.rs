//! Parses values of the command line: providers, levels, masks, events, bytes, times and sizes.

mod invalid;

use std::str::FromStr;

use command_line::units;
use etw_etl::FileTime;
use etw_manifest::built_in::providers;
use etw_types::session::{ClassicEventId, enable};
use etw_types::{Guid, Level, Opcode};

pub(crate) use invalid::InvalidValue;

/// The names of the levels.
pub(crate) const LEVELS: &[&str] = &["critical", "error", "warning", "informational", "verbose", "all"];

/// A provider: its name on the command line, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) guid: Guid,
    /// Whether the id is computed from the name, as for TraceLogging providers, although no star before the name asks for it.
    pub(crate) is_guess: bool,
}

impl Provider {
    /// A note about an id that is computed from a name. It is wrong for a provider with a manifest.
    pub(crate) fn note(&self) -> Option<String> {
        let hint = hint(&self.name, providers::all().map(|(name, _)| name));
        let Self { name, guid, .. } = self;
        self.is_guess.then(|| {
            format!(
                "{guid} is computed from the name '{name}', as for a TraceLogging provider; for a provider with a manifest, pass its \
                 GUID{hint}"
            )
        })
    }
}

impl FromStr for Provider {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let is_guess = !text.starts_with(['*', '{']) && Guid::parse(text).is_err() && registered(text).is_none();
        Ok(Self { name: text.trim_start_matches('*').to_owned(), guid: provider(text)?, is_guess })
    }
}

/// The bytes of one value. A plain `Vec<u8>` would be a list of values for clap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// The end of a message about an unknown word: "did you mean …?" with the nearest known word, or nothing if none is near.
pub(crate) fn hint<S: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = S>) -> String {
    nearest(word, candidates).map_or_else(String::new, |near| format!("; did you mean '{}'?", near.as_ref()))
}

/// The nearest candidate: one that begins with the word, or one whose edit distance is at most a third of the word's length.
pub(crate) fn nearest<S: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = S>) -> Option<S> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        if length >= 3 && candidate.starts_with(&word) { 1 } else { strsim::osa_distance(&word, &candidate) }
    };
    let scored = candidates.into_iter().map(|candidate| (score(candidate.as_ref()), candidate));
    scored.filter(|(score, _)| *score <= length / 3).min_by_key(|(score, _)| *score).map(|(_, candidate)| candidate)
}

/// The id of a provider with a manifest: one that is registered on this machine, or a well-known one.
fn registered(name: &str) -> Option<Guid> {
    etw_session::registered_provider(name).or_else(|| providers::guid(name))
}

/// Parses a GUID with or without braces, or the name of a registered or well-known provider with a manifest. Otherwise computes the id of a
/// TraceLogging provider from its name; a star before the name means just that.
pub(crate) fn provider(text: &str) -> Result<Guid, InvalidValue> {
    let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    match Guid::parse(bare) {
        Ok(guid) => Ok(guid),
        Err(_) if text.is_empty() || text.starts_with('{') => Err(InvalidValue::Provider(text.to_owned())),
        Err(_) => Ok(match text.strip_prefix('*') {
            Some(name) => Guid::from_name(name),
            None => registered(text).unwrap_or_else(|| Guid::from_name(text)),
        }),
    }
}

pub(crate) fn guid(text: &str) -> Result<Guid, InvalidValue> {
    let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    Guid::parse(bare).map_err(|_| InvalidValue::Guid(text.to_owned()))
}

/// Parses a number: decimal, or hexadecimal with 0x.
pub(crate) fn number(text: &str) -> Result<u64, InvalidValue> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| InvalidValue::Number(text.to_owned()))
}

pub(crate) fn number32(text: &str) -> Result<u32, InvalidValue> {
    u32::try_from(number(text)?).map_err(|_| InvalidValue::TooLarge(text.to_owned(), u32::MAX))
}

pub(crate) fn number16(text: &str) -> Result<u16, InvalidValue> {
    u16::try_from(number(text)?).map_err(|_| InvalidValue::TooLarge(text.to_owned(), u16::MAX.into()))
}

/// Parses a level by name or number. `all` is level 0.
pub(crate) fn level(text: &str) -> Result<Level, InvalidValue> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "all" => Level::LogAlways,
        "critical" | "fatal" => Level::Critical,
        "error" => Level::Error,
        "warning" | "warn" => Level::Warning,
        "informational" | "information" | "info" => Level::Informational,
        "verbose" => Level::Verbose,
        other => {
            let Ok(Ok(level)) = number(other).map(u8::try_from) else {
                return Err(InvalidValue::Level(text.to_owned()));
            };
            Level::from_int(level)
        }
    })
}

/// The opcodes of every provider, with the names of Windows' winmeta.xml.
pub(crate) const OPCODES: &[(&str, Opcode)] = &[
    ("info", Opcode::Info),
    ("start", Opcode::Start),
    ("stop", Opcode::Stop),
    ("dc_start", Opcode::DC_Start),
    ("dc_stop", Opcode::DC_Stop),
    ("extension", Opcode::Extension),
    ("reply", Opcode::Reply),
    ("resume", Opcode::Resume),
    ("suspend", Opcode::Suspend),
    ("send", Opcode::Send),
    ("receive", Opcode::Receive),
];

/// Parses an opcode by its name or number. Other names are a provider's own, and are part of the names of its events.
pub(crate) fn opcode(text: &str) -> Result<Opcode, InvalidValue> {
    if let Some((_, opcode)) = OPCODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Ok(*opcode);
    }
    if let Ok(Ok(opcode)) = number(text).map(u8::try_from) {
        return Ok(Opcode::from_int(opcode));
    }
    Err(InvalidValue::Opcode(text.to_owned()))
}

/// Parses a bit by its name in a table, or a number.
pub(crate) fn bit(text: &str, names: &[(&'static str, u32)]) -> Result<u32, InvalidValue> {
    match names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        Some((_, bit)) => Ok(*bit),
        None => number32(text)
            .map_err(|_| InvalidValue::Name(text.to_owned(), names.iter().map(|(name, _)| *name).collect())),
    }
}

/// The names of `EVENT_ENABLE_PROPERTY_*`.
pub(crate) const PROPERTIES: &[(&str, u32)] = &[
    ("sid", enable::SID),
    ("terminal-session", enable::TS_ID),
    ("stacks", enable::STACK_TRACE),
    ("psm-key", enable::PSM_KEY),
    ("ignore-keyword-0", enable::IGNORE_KEYWORD_0),
    ("group", enable::PROVIDER_GROUP),
    ("enable-keyword-0", enable::ENABLE_KEYWORD_0),
    ("process-start-key", enable::PROCESS_START_KEY),
    ("event-key", enable::EVENT_KEY),
    ("exclude-inprivate", enable::EXCLUDE_INPRIVATE),
    ("silos", enable::ENABLE_SILOS),
    ("container", enable::SOURCE_CONTAINER_TRACKING),
];

/// Parses the id of a kernel event: `GUID/TYPE`.
pub(crate) fn classic_event(text: &str) -> Result<ClassicEventId, InvalidValue> {
    let (class, kind) = text.split_once('/').ok_or_else(|| InvalidValue::Event(text.to_owned()))?;
    let event_type = u8::try_from(number(kind)?).map_err(|_| InvalidValue::EventType(kind.to_owned()))?;
    Ok(ClassicEventId { guid: guid(class)?, event_type, ..ClassicEventId::default() })
}

/// Parses bytes in hexadecimal.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, InvalidValue> {
    let bad = || InvalidValue::Hexadecimal(text.to_owned());
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let (pairs, rest) = digits.as_deref().ok_or_else(bad)?.as_chunks::<2>();
    if rest.is_empty() { Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()) } else { Err(bad()) }
}

/// Parses one value: bytes in hexadecimal.
pub(crate) fn hexadecimal(text: &str) -> Result<Bytes, InvalidValue> {
    bytes(text).map(Bytes)
}

/// Parses a filter: its type, a colon, and its bytes.
pub(crate) fn filter(text: &str) -> Result<(u32, Vec<u8>), InvalidValue> {
    let (kind, data) = text.split_once(':').ok_or(InvalidValue::Filter)?;
    Ok((number32(kind)?, bytes(data)?))
}

/// Parses a device control request: its code in hexadecimal, and optionally a colon and its input.
pub(crate) fn control_request(text: &str) -> Result<(u32, Vec<u8>), InvalidValue> {
    let (code, input) = text.split_once(':').unwrap_or((text, ""));
    let digits = code.strip_prefix("0x").or_else(|| code.strip_prefix("0X")).unwrap_or(code);
    let code = u32::from_str_radix(digits, 16).map_err(|_| InvalidValue::ControlCode(code.to_owned()))?;
    Ok((code, bytes(input)?))
}

/// Formats bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xF)]).collect()
}

/// Parses on or off.
pub(crate) fn switch(text: &str) -> Result<bool, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => Ok(true),
        "off" | "no" | "false" | "0" => Ok(false),
        _ => Err(InvalidValue::Switch(text.to_owned())),
    }
}

/// A count with its noun; the plural of the noun ends with `s`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// This long after the start of the trace.
    After(std::time::Duration),
    /// At this time.
    At(FileTime),
}

impl Moment {
    /// The absolute time, in a trace that starts at `origin`.
    pub(crate) fn in_trace(self, origin: FileTime) -> FileTime {
        match self {
            Self::At(time) => time,
            Self::After(time) => {
                let ticks = i64::try_from(time.as_nanos() / 100).unwrap_or(i64::MAX);
                FileTime(origin.0.saturating_add(ticks))
            }
        }
    }
}

/// Parses `+2s`, `+20ms`, or a date and a time in UTC.
pub(crate) fn moment(text: &str) -> Result<Moment, InvalidValue> {
    match text.strip_prefix('+') {
        Some(time) => humantime::parse_duration(time).map(Moment::After).map_err(InvalidValue::After),
        None => humantime::parse_rfc3339_weak(text).map(|time| Moment::At(time.into())).map_err(InvalidValue::Utc),
    }
}

/// Parses a duration of whole seconds and returns their number.
pub(crate) fn whole_seconds(text: &str) -> Result<u32, InvalidValue> {
    let time = units::duration(text).map_err(InvalidValue::Unit)?;
    if time.subsec_nanos() != 0 {
        return Err(InvalidValue::FractionOfSeconds);
    }
    u32::try_from(time.as_secs()).map_err(|_| InvalidValue::LongDuration(text.to_owned()))
}

/// Parses a size of whole KiB and returns their number.
pub(crate) fn kibibytes(text: &str) -> Result<u32, InvalidValue> {
    whole(text, 1 << 10, "KiB")
}

/// Parses a size of whole MiB and returns their number.
pub(crate) fn mebibytes(text: &str) -> Result<u32, InvalidValue> {
    whole(text, 1 << 20, "MiB")
}

fn whole(text: &str, unit: u64, name: &'static str) -> Result<u32, InvalidValue> {
    let size = units::size(text).map_err(InvalidValue::Unit)?;
    if !size.is_multiple_of(unit) {
        return Err(InvalidValue::FractionOf(name));
    }
    u32::try_from(size / unit).map_err(|_| InvalidValue::LargeSize(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{
        bit, bytes, classic_event, control_request, hex, hint, kibibytes, level, mebibytes, moment, nearest, number,
        provider, whole_seconds,
    };

    #[test]
    fn providers_are_guids_or_names() {
        let id = provider("MyProvider").unwrap();
        assert_eq!(provider("*MyProvider"), Ok(id));
        assert_eq!(provider("{b3864c38-4273-58c5-545b-8b3608343471}"), Ok(id));
        assert!(provider("{nonsense}").is_err());
        assert!(provider("").is_err());
    }

    #[test]
    fn a_misspelled_word_gets_a_suggestion_and_an_unrelated_one_none() {
        let words = ["sessions", "start", "stop", "stack-tracing"];
        for (word, near) in [
            ("sesions", Some("sessions")),
            ("satrt", Some("start")),
            ("STOP", Some("stop")),
            ("stack-trac", Some("stack-tracing")),
            ("st", None),
            ("frobnicate", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), near, "{word}");
        }
        assert_eq!(hint("stpo", words).as_str(), "; did you mean 'stop'?");
        assert_eq!(hint("frobnicate", words).as_str(), "");
    }

    #[test]
    fn moments_are_relative_or_absolute() {
        let origin = etw_etl::FileTime(1000);
        let ticks = |text: &str| moment(text).map(|moment| moment.in_trace(origin).0);
        assert_eq!(ticks("+2s"), Ok(20_001_000));
        assert_eq!(ticks("+1m 500ms"), Ok(605_001_000));
        assert_eq!(ticks("1970-01-01T00:00:01Z"), Ok(116_444_736_010_000_000));
        assert_eq!(ticks("1970-01-01 00:00:01.5"), Ok(116_444_736_015_000_000));
        assert!(moment("2s").is_err());
        assert!(moment("+2").is_err());
        assert!(moment("tomorrow").is_err());
    }

    #[test]
    fn numbers_levels_bits_bytes_and_events() {
        assert_eq!(number("0x1F"), Ok(31));
        assert_eq!(number("31"), Ok(31));
        assert_eq!(level("Warning").unwrap().as_int(), 3);
        assert_eq!(level("9").unwrap().as_int(), 9);
        assert!(level("loud").is_err());
        assert!(level("256").is_err());
        assert_eq!(bit("B", &[("a", 1), ("b", 2)]), Ok(2));
        assert_eq!(bit("c", &[("a", 1)]).unwrap_err().to_string(), "'c' is neither a number nor one of a");
        assert_eq!(bytes("0aFf"), Ok(vec![10, 255]));
        assert_eq!(hex(&[10, 255]), "0aff");
        assert_eq!(control_request("0x22E000:68"), Ok((0x0022_E000, vec![0x68])));
        assert_eq!(control_request("226004"), Ok((0x0022_6004, Vec::new())));
        assert!(control_request("me").is_err());
        assert!(control_request("1:2").is_err());
        assert!(bytes("0a0").is_err());
        assert!(bytes("zz").is_err());
        let event = classic_event("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c/1").unwrap();
        assert_eq!(event.event_type, 1);
        assert_eq!(kibibytes("1MiB"), Ok(1024));
        assert_eq!(mebibytes("64MiB"), Ok(64));
        assert_eq!(whole_seconds("2m"), Ok(120));
        assert!(kibibytes("512B").is_err());
        assert!(mebibytes("64KiB").is_err());
        assert!(whole_seconds("0.5s").is_err());
    }
}
