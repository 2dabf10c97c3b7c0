//! `info list` and `info get`.

use etw_session::info::{self, Cell, Facts, View};
use etw_types::Guid;
use etw_types::session::TraceInfoClass;

use super::providers;
use crate::cli::InfoGet;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Json, Table, object};
use crate::values;

/// Lists the information classes.
pub(super) fn list(context: &Context<'_>) -> Result<(), Failure> {
    let mut table = Table::new(&["class", "name", "about", "directions", "handle", "since", "limit"]);
    for facts in info::all() {
        table.row(vec![
            facts.class.as_int().into(),
            facts.short_name().into(),
            facts.purpose.into(),
            facts.directions().join(" ").into(),
            facts.handle_name().into(),
            facts.since.name.into(),
            facts.limit.into(),
        ]);
    }
    context.table(table)
}

/// The handle of the named session, or 0 if there is none and the class does not belong to a session.
pub(super) fn handle(context: &Context<'_>, session: Option<&str>, facts: &Facts) -> Result<u64, Failure> {
    match session {
        Some(name) => Ok(context.attach(name)?.handle()),
        None if facts.is_of_session() => Err(Failure::Usage(format!(
            "class {}, {}, belongs to a session: name it with --session",
            facts.class.as_int(),
            facts.short_name()
        ))),
        None => Ok(0),
    }
}

/// Queries or enumerates an information class.
pub(super) fn get(context: &Context<'_>, line: &InfoGet) -> Result<(), Failure> {
    let facts = line.class.0;
    if line.raw || facts.is_reserved() {
        let bytes = result(context, line, facts, line.session.as_deref())?;
        return context.record(vec![("length", bytes.len().into()), ("bytes", values::hex(&bytes).into())]);
    }
    // The result does not have the group itself.
    if facts.class == TraceInfoClass::GroupQueryInfo {
        return providers::group(context, guid(line)?);
    }
    let session = line.session.as_deref().filter(|_| facts.is_of_session());
    let bytes = result(context, line, facts, session)?;
    show(context, (facts.view)(&bytes).map_err(etw_session::Error::from)?)
}

/// The bytes of the result. A class that cannot be queried is queried nevertheless: the system's error code says so.
fn result(context: &Context<'_>, line: &InfoGet, facts: &Facts, session: Option<&str>) -> Result<Vec<u8>, Failure> {
    let enumerate = |takes_guid: bool| -> Result<Vec<u8>, Failure> {
        let input = if takes_guid { guid(line)?.to_bytes_le().to_vec() } else { Vec::new() };
        Ok(context.machine.enumerate_raw(facts.class, &input)?)
    };
    match (facts.query, facts.enumerate) {
        (None, Some(enumeration)) => enumerate(enumeration.takes_guid),
        (query, enumeration) => {
            let buffer = query.map_or_else(Vec::new, |query| (query.buffer)(line.of));
            let handle = handle(context, session, facts)?;
            let queried = context.machine.query_raw(handle, facts.class, &buffer);
            // Documents disagree about the function of a class that both accept.
            match (queried, enumeration) {
                (Err(error), Some(enumeration)) => enumerate(enumeration.takes_guid).map_err(|_| error.into()),
                (queried, _) => Ok(queried?),
            }
        }
    }
}

/// The GUID that the class needs as its input.
fn guid(line: &InfoGet) -> Result<Guid, Failure> {
    line.guid
        .as_ref()
        .map(|provider| provider.guid)
        .ok_or_else(|| Failure::Usage("this class needs a provider or group: use --guid".to_owned()))
}

/// Shows a value: a table, or names and values.
pub(super) fn show(context: &Context<'_>, view: View) -> Result<(), Failure> {
    match view {
        View::Record(members) => context.record(members.into_iter().map(|(name, cell)| (name, json(cell))).collect()),
        View::List { columns, rows } => {
            let mut table = Table::new(columns);
            for row in rows {
                table.row(row.into_iter().map(json).collect());
            }
            context.table(table)
        }
    }
}

fn json(cell: Cell) -> Json {
    match cell {
        Cell::Missing => Json::Null,
        Cell::Number(number) => number.into(),
        Cell::Text(text) => text.into(),
        Cell::List(cells) => cells.into_iter().map(json).collect(),
        Cell::Record(members) => object(members.into_iter().map(|(name, cell)| (name, json(cell)))),
    }
}
