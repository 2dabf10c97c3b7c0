//! `enable`, `disable` and `capture`.

use command_line::{escaped, note};
use etw_session::{Enable, Filter, Listed, Provider, Selection, Session};
use etw_types::{Guid, Level};

use crate::cli::{Capture, Disable, Enable as Line, Requested};
use crate::context::Context;
use crate::failure::Failure;

fn on(session: &Session, guid: Guid, is_group: bool) -> Provider<'_> {
    if is_group { session.group(guid) } else { session.provider(guid) }
}

/// Enables a provider in a session.
pub(super) fn enable(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let mut request = request(&line.requested);
    for property in &line.properties {
        request = request.property(*property);
    }
    if let Some(time) = line.timeout {
        request = request.timeout(time);
    }
    for filter in filters(line) {
        request = request.filter(filter);
    }
    request.check()?;
    if let Some(text) = line.provider.note().filter(|_| !line.requested.group) {
        note(&text);
    }
    let session = context.attach(&line.session)?;
    let guid = line.provider.guid;
    on(&session, guid, line.requested.group).enable(&request)?;
    context.done(&format!("enabled {guid} on {}", escaped(session.name())))
}

/// Disables a provider in a session.
pub(super) fn disable(context: &Context<'_>, line: &Disable) -> Result<(), Failure> {
    let session = context.attach(&line.session)?;
    let guid = line.provider.guid;
    on(&session, guid, line.group).disable()?;
    context.done(&format!("disabled {guid} on {}", escaped(session.name())))
}

/// Asks a provider to log its state.
pub(super) fn capture(context: &Context<'_>, line: &Capture) -> Result<(), Failure> {
    let session = context.attach(&line.session)?;
    let guid = line.provider.guid;
    on(&session, guid, line.requested.group).capture_with(&request(&line.requested))?;
    context.done(&format!("asked {guid} to log its state"))
}

/// The request with the level, the keyword masks and stacks.
pub(super) fn request(requested: &Requested) -> Enable {
    let enable = Enable {
        level: requested.level.unwrap_or(Level::LogAlways),
        any: requested.any,
        all: requested.all,
        ..Enable::default()
    };
    if requested.stacks { enable.stacks() } else { enable }
}

fn filters(line: &Line) -> Vec<Filter> {
    let mut filters = Vec::new();
    let mut add = |is_there: bool, filter: Filter| {
        if is_there {
            filters.push(filter);
        }
    };
    add(!line.pids.is_empty(), Filter::ProcessIds(line.pids.clone()));
    add(!line.executables.is_empty(), Filter::Executables(line.executables.clone()));
    add(!line.packages.is_empty(), Filter::PackageIds(line.packages.clone()));
    add(!line.event_ids.is_empty(), Filter::EventIds(Listed::Pass, line.event_ids.clone()));
    add(!line.not_event_ids.is_empty(), Filter::EventIds(Listed::Blocked, line.not_event_ids.clone()));
    let names = Filter::EventNames(Listed::Pass, Selection::default(), line.event_names.clone());
    add(!line.event_names.is_empty(), names);
    add(!line.stack_ids.is_empty(), Filter::StackEventIds(Listed::Pass, line.stack_ids.clone()));
    if let Some(level) = line.stack_level {
        let selection = Selection { level: level.as_int(), ..Selection::default() };
        add(true, Filter::StackSelection(Listed::Pass, selection));
    }
    for (kind, data) in &line.filters {
        add(true, Filter::Other(*kind, data.clone()));
    }
    filters
}
