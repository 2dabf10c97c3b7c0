//! `enable`, `disable` and `capture`.

use etw_session::{Enable, Filter, Listed, Provider, Selection, Session};
use etw_types::{Guid, Level};

use crate::cli::Line;
use crate::context::{Context, Failure};
use crate::values;

fn on<'a>(session: &'a Session, guid: Guid, line: &Line) -> Provider<'a> {
    if line.has("group") { session.group(guid) } else { session.provider(guid) }
}

/// Session and provider of a command.
fn target(context: &Context<'_>, line: &Line) -> Result<(Session, Guid), Failure> {
    let guid = values::provider(line.argument(1).unwrap_or_default())?;
    Ok((context.attach(line.argument(0).unwrap_or_default())?, guid))
}

/// Asks a provider for events.
pub(super) fn enable(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let request = request(line)?;
    request.check()?;
    let (session, guid) = target(context, line)?;
    on(&session, guid, line).enable(&request)?;
    context.done(&format!("enabled {guid} on {}", session.name()))
}

/// Takes a request back.
pub(super) fn disable(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let (session, guid) = target(context, line)?;
    on(&session, guid, line).disable()?;
    context.done(&format!("disabled {guid} on {}", session.name()))
}

/// Asks a provider for its state.
pub(super) fn capture(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let (session, guid) = target(context, line)?;
    on(&session, guid, line).capture_with(&request(line)?)?;
    context.done(&format!("asked {guid} for its state"))
}

/// Level, masks, properties and filters of a command line.
pub(super) fn request(line: &Line) -> Result<Enable, String> {
    let mut enable = Enable {
        level: line.value("level").map_or(Ok(Level::LogAlways), values::level)?,
        any: line.value("any").map_or(Ok(0), values::number)?,
        all: line.value("all").map_or(Ok(0), values::number)?,
        ..Enable::default()
    };
    if line.has("stacks") {
        enable = enable.stacks();
    }
    for property in line.values("property") {
        enable = enable.property(values::bit(property, values::PROPERTIES)?);
    }
    if let Some(time) = line.value("timeout") {
        enable = enable.timeout(values::seconds(time)?);
    }
    for filter in filters(line)? {
        enable = enable.filter(filter);
    }
    Ok(enable)
}

fn filters(line: &Line) -> Result<Vec<Filter>, String> {
    let texts = |name| line.values(name).map(str::to_owned).collect::<Vec<String>>();
    let ids = |name| line.values(name).map(values::number16).collect::<Result<Vec<u16>, _>>();
    let pids = line.values("pid").map(values::number32).collect::<Result<Vec<u32>, _>>()?;
    let mut filters = Vec::new();
    let mut add = |is_there: bool, filter: Filter| {
        if is_there {
            filters.push(filter);
        }
    };
    add(line.has("pid"), Filter::ProcessIds(pids));
    add(line.has("exe"), Filter::Executables(texts("exe")));
    add(line.has("package"), Filter::PackageIds(texts("package")));
    add(line.has("event-id"), Filter::EventIds(Listed::Pass, ids("event-id")?));
    add(line.has("not-event-id"), Filter::EventIds(Listed::Blocked, ids("not-event-id")?));
    add(line.has("event-name"), Filter::EventNames(Listed::Pass, Selection::default(), texts("event-name")));
    add(line.has("stack-id"), Filter::StackEventIds(Listed::Pass, ids("stack-id")?));
    if let Some(level) = line.value("stack-level") {
        let selection = Selection { level: values::level(level)?.as_int(), ..Selection::default() };
        add(true, Filter::StackSelection(Listed::Pass, selection));
    }
    for filter in line.values("filter") {
        let (kind, data) = filter.split_once(':').ok_or_else(|| format!("'{filter}' is not KIND:HEX"))?;
        add(true, Filter::Other(values::number32(kind)?, values::bytes(data)?));
    }
    Ok(filters)
}
