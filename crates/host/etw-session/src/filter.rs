//! The filters of `EnableTraceEx2`: what they are, their bytes, and their limits.

use etw_types::session::filter::{
    CONTAINER, EVENT_ID, EVENT_NAME, EXECUTABLE_NAME, EventIdHeader, EventNameHeader, LevelKeyword, MAX_DATA,
    MAX_EVENT_IDS, MAX_NAMES, MAX_PAYLOAD, MAX_PIDS, PACKAGE_APP_ID, PACKAGE_ID, PAYLOAD, PID, SCHEMATIZED, STACKWALK,
    STACKWALK_LEVEL_KW, STACKWALK_NAME, SYSTEM_FLAGS, TRACEHANDLE,
};

use crate::Limit;

/// Which events a list lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listed {
    /// Those of the list.
    #[default]
    Pass,
    /// All but those of the list.
    Blocked,
}

/// Level and keyword of the events that a filter is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The most verbose level; 0 for every level.
    pub level: u8,
    /// An event's keyword needs one of these bits; 0 for every keyword.
    pub any: u64,
    /// An event's keyword needs all of these bits.
    pub all: u64,
}

/// A filter. One of each kind can be given; a later request replaces all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// Processes by number, at most 8. Skips registrations in the kernel and processes that start later.
    ProcessIds(Vec<u32>),
    /// Processes by the file names of their images.
    Executables(Vec<String>),
    /// Processes by the full name of their package.
    PackageIds(Vec<String>),
    /// Processes by the application within their package.
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
    /// Fields of events, as `TdhAggregatePayloadFilters` compiles them.
    Payload(Vec<u8>),
    /// Data that session and provider agreed on.
    Schematized(Vec<u8>),
    /// Flags of the system providers.
    SystemFlags(Vec<u8>),
    /// The session whose rundown is asked for.
    TraceHandle(u64),
    /// Containers by their GUIDs in text, separated by `;`.
    Container(String),
    /// Any other kind.
    Other(u32, Vec<u8>),
}

impl Filter {
    /// `EVENT_FILTER_TYPE_*`.
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

    /// Whether the filter is about stacks, which then have to be asked for.
    #[must_use]
    pub const fn is_about_stacks(&self) -> bool {
        matches!(self, Self::StackEventIds(..) | Self::StackEventNames(..) | Self::StackSelection(..))
    }

    /// The filter's data.
    ///
    /// # Errors
    ///
    /// The limit that it exceeds.
    pub fn encode(&self) -> Result<Vec<u8>, Limit> {
        let (what, most) = match self {
            Self::Payload(_) => ("bytes of a payload filter", MAX_PAYLOAD),
            Self::EventNames(..) | Self::StackEventNames(..) => ("bytes of a filter of event names", MAX_NAMES),
            _ => ("bytes of a filter", MAX_DATA),
        };
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
        Limit::at_most(what, data.len(), most)?;
        Ok(data)
    }
}

impl Listed {
    const fn as_byte(self) -> u8 {
        match self {
            Self::Pass => 1,
            Self::Blocked => 0,
        }
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Names between semicolons, as one UTF-16 text.
fn text_list(what: &'static str, names: &[String]) -> Result<Vec<u8>, Limit> {
    Limit::at_least(what, names.len(), 1)?;
    let fits = |name: &String| !name.is_empty() && !name.contains([';', '\0']);
    Limit::rule(names.iter().all(fits), "a name of a filter cannot be empty or contain ';' or NUL")?;
    Ok(utf16(&names.join(";")))
}

/// The size follows from the count exactly: the system refuses anything else.
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

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
