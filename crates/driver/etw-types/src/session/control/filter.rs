//! The filters of `EnableTraceEx2`: their types, their encoding and their limits.

use std::borrow::ToOwned;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::session::Limit;
use crate::session::filter::{
    CONTAINER, EVENT_ID, EVENT_NAME, EXECUTABLE_NAME, EventIdHeader, EventNameHeader, LevelKeyword, MAX_DATA,
    MAX_EVENT_IDS, MAX_NAMES, MAX_PAYLOAD, MAX_PIDS, PACKAGE_APP_ID, PACKAGE_ID, PAYLOAD, PID, SCHEMATIZED, STACKWALK,
    STACKWALK_LEVEL_KW, STACKWALK_NAME, SYSTEM_FLAGS, TRACEHANDLE,
};

/// Which events a list selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listed {
    /// The events on the list.
    #[default]
    Pass,
    /// All events that are not on the list.
    Blocked,
}

/// Level and keyword of the events that a filter applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The most verbose level. 0 means every level.
    pub level: u8,
    /// An event's keyword must have at least one of these bits. 0 means every keyword.
    pub any: u64,
    /// An event's keyword must have all of these bits.
    pub all: u64,
}

/// A filter. A request can have one of each kind. A later request replaces all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// Processes by id, at most 8. Kernel-mode registrations and processes that start later are skipped.
    ProcessIds(Vec<u32>),
    /// Processes by the file names of their images.
    Executables(Vec<String>),
    /// Processes by the full name of their package.
    PackageIds(Vec<String>),
    /// Processes by the application id within their package.
    PackageAppIds(Vec<String>),
    /// Events by id, at most 64.
    EventIds(Listed, Vec<u16>),
    /// TraceLogging events by name.
    EventNames(Listed, Selection, Vec<String>),
    /// Which events get a stack, by id, at most 64.
    StackEventIds(Listed, Vec<u16>),
    /// Which events get a stack, by name.
    StackEventNames(Listed, Selection, Vec<String>),
    /// Which events get a stack, by level and keyword.
    StackSelection(Listed, Selection),
    /// Conditions on the fields of events, as `TdhAggregatePayloadFilters` compiles them.
    Payload(Vec<u8>),
    /// Data whose format the session and the provider agreed on.
    Schematized(Vec<u8>),
    /// Flags of the system providers.
    SystemFlags(Vec<u8>),
    /// The session for which a rundown is requested.
    TraceHandle(u64),
    /// Containers by their GUIDs as text, separated by `;`.
    Container(String),
    /// Any other kind.
    Other(u32, Vec<u8>),
}

impl Filter {
    /// Returns the type of the filter, `EVENT_FILTER_TYPE_*`.
    #[must_use]
    pub const fn kind(&self) -> u32 {
        match self {
            Self::ProcessIds(_) => PID,
            Self::Executables(_) => EXECUTABLE_NAME,
            Self::PackageIds(_) => PACKAGE_ID,
            Self::PackageAppIds(_) => PACKAGE_APP_ID,
            Self::EventIds(..) => EVENT_ID,
            Self::EventNames(..) => EVENT_NAME,
            Self::StackEventIds(..) => STACKWALK,
            Self::StackEventNames(..) => STACKWALK_NAME,
            Self::StackSelection(..) => STACKWALK_LEVEL_KW,
            Self::Payload(_) => PAYLOAD,
            Self::Schematized(_) => SCHEMATIZED,
            Self::SystemFlags(_) => SYSTEM_FLAGS,
            Self::TraceHandle(_) => TRACEHANDLE,
            Self::Container(_) => CONTAINER,
            Self::Other(kind, _) => *kind,
        }
    }

    /// Returns whether the filter selects events for stacks. Such a filter needs the property `STACK_TRACE`.
    #[must_use]
    pub const fn is_about_stacks(&self) -> bool {
        matches!(self, Self::StackEventIds(..) | Self::StackEventNames(..) | Self::StackSelection(..))
    }

    /// Encodes the filter's data.
    ///
    /// # Errors
    ///
    /// Returns the limit that the filter exceeds.
    pub fn encode(&self) -> Result<Vec<u8>, Limit> {
        let data = match self {
            Self::ProcessIds(ids) => {
                Limit::at_least("process ids of a filter", ids.len(), 1)?;
                Limit::at_most("process ids of a filter", ids.len(), MAX_PIDS)?;
                ids.iter().flat_map(|id| id.to_le_bytes()).collect()
            }
            Self::Executables(names) => text_list("executables of a filter", names)?,
            Self::PackageIds(names) => text_list("packages of a filter", names)?,
            Self::PackageAppIds(names) => text_list("package applications of a filter", names)?,
            Self::EventIds(listed, ids) | Self::StackEventIds(listed, ids) => event_ids(*listed, ids)?,
            Self::EventNames(listed, selection, names) | Self::StackEventNames(listed, selection, names) => {
                event_names(*listed, *selection, names)?
            }
            Self::StackSelection(listed, selection) => LevelKeyword {
                match_any: selection.any,
                match_all: selection.all,
                level: selection.level,
                filter_in: listed.as_byte(),
                ..LevelKeyword::default()
            }
            .to_bytes()
            .to_vec(),
            Self::Payload(data) | Self::Schematized(data) | Self::SystemFlags(data) | Self::Other(_, data) => {
                data.clone()
            }
            Self::TraceHandle(handle) => handle.to_le_bytes().to_vec(),
            Self::Container(text) => utf16(text),
        };
        check_size(self.kind(), &data)?;
        Ok(data)
    }

    /// Decodes a filter from its `EVENT_FILTER_TYPE_*` and its data.
    ///
    /// # Errors
    ///
    /// Returns an error if the data exceeds a limit or does not have the layout of its type.
    pub fn decode(kind: u32, data: &[u8]) -> Result<Self, Limit> {
        check_size(kind, data)?;
        let filter = match kind {
            PID => exact(data).map(|ids| Self::ProcessIds(ids.iter().map(|id| u32::from_le_bytes(*id)).collect())),
            EXECUTABLE_NAME => read_list(data).map(Self::Executables),
            PACKAGE_ID => read_list(data).map(Self::PackageIds),
            PACKAGE_APP_ID => read_list(data).map(Self::PackageAppIds),
            EVENT_ID => read_ids(data).map(|(listed, ids)| Self::EventIds(listed, ids)),
            STACKWALK => read_ids(data).map(|(listed, ids)| Self::StackEventIds(listed, ids)),
            EVENT_NAME => read_names(data, Self::EventNames),
            STACKWALK_NAME => read_names(data, Self::StackEventNames),
            STACKWALK_LEVEL_KW => read_selection(data).map(|(listed, which)| Self::StackSelection(listed, which)),
            PAYLOAD => Some(Self::Payload(data.to_vec())),
            SCHEMATIZED => Some(Self::Schematized(data.to_vec())),
            SYSTEM_FLAGS => Some(Self::SystemFlags(data.to_vec())),
            TRACEHANDLE => data.try_into().ok().map(|handle| Self::TraceHandle(u64::from_le_bytes(handle))),
            CONTAINER => read_text(data).map(Self::Container),
            _ => Some(Self::Other(kind, data.to_vec())),
        };
        let filter = filter.ok_or(MALFORMED)?;
        filter.encode()?;
        Ok(filter)
    }
}

const MALFORMED: Limit = Limit::Conflict {
    rule: "the data of a filter must have the layout of its kind",
    code: crate::Win32Error::InvalidParameter,
};

/// The maximum size of a type of filter, with its description.
fn max_size(kind: u32) -> MaxSize {
    match kind {
        PAYLOAD => MaxSize { what: "bytes of a payload filter", bytes: MAX_PAYLOAD },
        EVENT_NAME | STACKWALK_NAME => MaxSize { what: "bytes of a filter of event names", bytes: MAX_NAMES },
        _ => MaxSize { what: "bytes of a filter", bytes: MAX_DATA },
    }
}

struct MaxSize {
    what: &'static str,
    bytes: usize,
}

fn check_size(kind: u32, data: &[u8]) -> Result<(), Limit> {
    let max = max_size(kind);
    Limit::at_most(max.what, data.len(), max.bytes)
}

impl Listed {
    const fn as_byte(self) -> u8 {
        match self {
            Self::Pass => 1,
            Self::Blocked => 0,
        }
    }

    const fn from_byte(byte: u8) -> Self {
        if byte == 0 { Self::Blocked } else { Self::Pass }
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Encodes names, separated by semicolons, as UTF-16 text.
fn text_list(what: &'static str, names: &[String]) -> Result<Vec<u8>, Limit> {
    Limit::at_least(what, names.len(), 1)?;
    let fits = |name: &String| !name.is_empty() && !name.contains([';', '\0']);
    Limit::rule(names.iter().all(fits), "a name of a filter cannot be empty or contain ';' or NUL")?;
    Ok(utf16(&names.join(";")))
}

/// Encodes event ids. The system requires a size that matches the count exactly.
fn event_ids(listed: Listed, ids: &[u16]) -> Result<Vec<u8>, Limit> {
    Limit::at_most("event ids of a filter", ids.len(), MAX_EVENT_IDS)?;
    let count = u16::try_from(ids.len()).unwrap_or(u16::MAX);
    let header = EventIdHeader { filter_in: listed.as_byte(), reserved: 0, count };
    Ok(header.to_bytes().into_iter().chain(ids.iter().flat_map(|id| id.to_le_bytes())).collect())
}

fn event_names(listed: Listed, selection: Selection, names: &[String]) -> Result<Vec<u8>, Limit> {
    Limit::at_least("event names of a filter", names.len(), 1)?;
    Limit::at_most("event names of a filter", names.len(), usize::from(u16::MAX))?;
    Limit::rule(names.iter().all(|name| !name.contains('\0')), "a name of a filter cannot contain NUL")?;
    let header = EventNameHeader {
        match_any: selection.any,
        match_all: selection.all,
        level: selection.level,
        filter_in: listed.as_byte(),
        count: u16::try_from(names.len()).unwrap_or(u16::MAX),
    };
    let names = names.iter().flat_map(|name| name.bytes().chain([0]));
    Ok(header.to_bytes().into_iter().chain(names).collect())
}

/// Splits the data into items of `N` bytes. Returns `None` if bytes are left over.
fn exact<const N: usize>(data: &[u8]) -> Option<&[[u8; N]]> {
    let (items, rest) = data.as_chunks();
    rest.is_empty().then_some(items)
}

/// Reads UTF-16 text, with or without a terminator.
fn read_text(data: &[u8]) -> Option<String> {
    let units = exact(data)?.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0);
    String::from_utf16(&units.collect::<Vec<_>>()).ok()
}

/// Reads names that are separated by semicolons. Skips empty names and removes surrounding spaces.
fn read_list(data: &[u8]) -> Option<Vec<String>> {
    let text = read_text(data)?;
    Some(text.split(';').map(str::trim).filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect())
}

/// Reads a header and exactly as many ids as it states.
fn read_ids(data: &[u8]) -> Option<(Listed, Vec<u16>)> {
    let header = EventIdHeader::parse(data)?;
    let ids = exact(data.get(EventIdHeader::SIZE..)?)?;
    let listed = Listed::from_byte(header.filter_in);
    (ids.len() == usize::from(header.count)).then(|| (listed, ids.iter().map(|id| u16::from_le_bytes(*id)).collect()))
}

/// Reads a header and exactly as many NUL-terminated names as it states.
fn read_names(data: &[u8], filter: fn(Listed, Selection, Vec<String>) -> Filter) -> Option<Filter> {
    let header = EventNameHeader::parse(data)?;
    let text = str::from_utf8(data.get(EventNameHeader::SIZE..)?).ok()?;
    let names: Vec<String> = text.split_terminator('\0').map(ToString::to_string).collect();
    let selection = Selection { level: header.level, any: header.match_any, all: header.match_all };
    let is_whole = text.is_empty() || text.ends_with('\0');
    (is_whole && names.len() == usize::from(header.count))
        .then(|| filter(Listed::from_byte(header.filter_in), selection, names))
}

fn read_selection(data: &[u8]) -> Option<(Listed, Selection)> {
    let raw = LevelKeyword::parse(data).filter(|_| data.len() == LevelKeyword::SIZE)?;
    let selection = Selection { level: raw.level, any: raw.match_any, all: raw.match_all };
    Some((Listed::from_byte(raw.filter_in), selection))
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
