//! From the bytes of `EVENT_FILTER_DESCRIPTOR`s to [`Filters`]. `None` stands for any mistake.

use std::collections::BTreeSet;

use etw_types::session::filter::{
    CONTAINER, EVENT_ID, EVENT_NAME, EXECUTABLE_NAME, EventIdHeader, EventNameHeader, LevelKeyword as RawLevelKeyword,
    MAX_DATA, MAX_EVENT_IDS, MAX_FILTERS, MAX_NAMES, MAX_PAYLOAD, MAX_PIDS, NONE, PACKAGE_APP_ID, PACKAGE_ID, PAYLOAD,
    PID, SCHEMATIZED, STACKWALK, STACKWALK_LEVEL_KW, STACKWALK_NAME, SYSTEM_FLAGS, TRACEHANDLE,
};

use super::{Filters, Ids, LevelKeyword, Names};
use crate::enable::Filter;

/// At most thirteen filters, each kind once.
pub(super) fn parse(filters: &[Filter]) -> Option<Filters> {
    let mut parsed = Filters::default();
    let mut kinds = BTreeSet::new();
    if filters.len() > MAX_FILTERS {
        return None;
    }
    for filter in filters {
        let data = filter.data.as_slice();
        let most = match filter.kind {
            PAYLOAD => MAX_PAYLOAD,
            EVENT_NAME | STACKWALK_NAME => MAX_NAMES,
            _ => MAX_DATA,
        };
        if data.len() > most || !kinds.insert(filter.kind) {
            return None;
        }
        match filter.kind {
            PID => parsed.processes = Some(pids(data)?),
            EXECUTABLE_NAME => parsed.images = Some(list(data)?),
            PACKAGE_ID => parsed.packages = Some(list(data)?),
            PACKAGE_APP_ID => parsed.package_apps = Some(list(data)?),
            EVENT_ID => parsed.ids = Some(ids(data)?),
            STACKWALK => parsed.stack_ids = Some(ids(data)?),
            EVENT_NAME => parsed.names = Some(names(data)?),
            STACKWALK_NAME => parsed.stack_names = Some(names(data)?),
            STACKWALK_LEVEL_KW => parsed.stack_levels = Some(level_keyword(data)?),
            // The provider looks at its own data; payload filters are compiled for it by the trace helper library.
            SCHEMATIZED | PAYLOAD => parsed.passed_on = Some(filter.clone()),
            // There are no containers, and system flags and handles mean something to the system providers only.
            NONE | CONTAINER | SYSTEM_FLAGS | TRACEHANDLE => {}
            // A kind of the provider's own, as EventFilter data was in Windows 7.
            kind if kind & SCHEMATIZED == 0 => parsed.passed_on = Some(filter.clone()),
            _ => return None,
        }
    }
    Some(parsed)
}

/// Process ids of four bytes, at most eight.
fn pids(data: &[u8]) -> Option<Vec<u32>> {
    let (ids, rest) = data.as_chunks::<4>();
    (rest.is_empty() && (1..=MAX_PIDS).contains(&ids.len()))
        .then(|| ids.iter().map(|id| u32::from_le_bytes(*id)).collect())
}

/// Names between semicolons in UTF-16, with or without a terminator.
fn list(data: &[u8]) -> Option<Vec<String>> {
    let (units, rest) = data.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0).collect();
    let text = String::from_utf16(&units).ok()?;
    let names: Vec<String> = text.split(';').map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect();
    (rest.is_empty() && !names.is_empty()).then_some(names)
}

/// A header and exactly as many ids as it says, at most 64.
fn ids(data: &[u8]) -> Option<Ids> {
    let header = EventIdHeader::parse(data)?;
    let (ids, rest) = data.get(EventIdHeader::SIZE..)?.as_chunks::<2>();
    let count = usize::from(header.count);
    if !rest.is_empty() || ids.len() != count || count > MAX_EVENT_IDS {
        return None;
    }
    let mut ids: Vec<u16> = ids.iter().map(|id| u16::from_le_bytes(*id)).collect();
    ids.sort_unstable();
    Some(Ids { includes: header.filter_in != 0, ids })
}

/// A header and exactly as many terminated names as it says.
fn names(data: &[u8]) -> Option<Names> {
    let header = EventNameHeader::parse(data)?;
    let mut rest = data.get(EventNameHeader::SIZE..)?;
    let mut names = Vec::new();
    for _ in 0..header.count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, behind) = rest.split_at_checked(end)?;
        names.push(name.to_vec());
        rest = behind.get(1..)?;
    }
    let which = LevelKeyword {
        includes: header.filter_in != 0,
        level: header.level,
        any: header.match_any,
        all: header.match_all,
    };
    rest.is_empty().then_some(Names { which, names })
}

fn level_keyword(data: &[u8]) -> Option<LevelKeyword> {
    let raw = RawLevelKeyword::parse(data)?;
    (data.len() == RawLevelKeyword::SIZE).then_some(LevelKeyword {
        includes: raw.filter_in != 0,
        level: raw.level,
        any: raw.match_any,
        all: raw.match_all,
    })
}
