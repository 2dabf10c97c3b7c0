//! `info list` and `info get`.

use etw_session::info::OfSession;
use etw_session::info::{
    self, DisallowedProviders, Facts, MaxPmcCounters, PeriodicCaptureLimits, PmcOwners, PmcSessions, ProcessingVersion,
    ProfileSources, Queryable, SampleInterval, StackTracing, StreamCount, SystemFlags,
};
use etw_types::session::{HandleKind, PmcCounterOwner};

use super::providers;
use crate::cli::InfoGet;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Table;
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
            facts.handle().into(),
            facts.since.into(),
            facts.limit.into(),
        ]);
    }
    context.table(table)
}

/// The handle of the session, or 0 for a class that does not belong to a session.
pub(super) fn handle(context: &Context<'_>, session: Option<&str>, facts: &Facts) -> Result<u64, Failure> {
    let needs =
        facts.of_class().is_some_and(|facts| matches!(facts.handle, HandleKind::Session | HandleKind::SystemSession));
    match session {
        Some(name) => Ok(context.attach(name)?.handle()),
        None if needs => Err(Failure::Usage(needs_session(facts))),
        None => Ok(0),
    }
}

pub(super) fn needs_session(facts: &Facts) -> String {
    format!("class {}, {}, belongs to a session: name it with --session", facts.class.as_int(), facts.short_name())
}

fn of_session<T: Queryable<Scope = OfSession, Input = ()>>(
    context: &Context<'_>,
    line: &InfoGet,
) -> Result<T, Failure> {
    let name = line.session.as_deref().ok_or_else(|| needs_session(line.class.0))?;
    Ok(context.attach(name)?.get::<T>()?)
}

/// Queries or enumerates an information class.
pub(super) fn get(context: &Context<'_>, line: &InfoGet) -> Result<(), Failure> {
    let facts = line.class.0;
    if line.raw {
        return raw(context, line, facts);
    }
    let machine = context.machine;
    match facts.class.as_int() {
        0 => guids(context, machine.providers()?),
        1 => providers::provider_of(context, line),
        2 => guids(context, machine.providers_of_this_process()?),
        3 => {
            let mut table = Table::new(&["class", "type"]);
            for event in of_session::<StackTracing>(context, line)?.0 {
                table.row(vec![event.guid.to_string().into(), u32::from(event.event_type).into()]);
            }
            context.table(table)
        }
        4 => {
            let flags: SystemFlags = of_session(context, line)?;
            let masks = flags.0.masks.iter().map(|mask| format!("{mask:#x}")).collect::<Vec<_>>();
            context.record(vec![("groups", flags.names().into()), ("masks", masks.into())])
        }
        5 => {
            let interval: SampleInterval = machine.query_for(&line.of)?;
            context.record(vec![("source", interval.source.into()), ("interval", interval.interval.into())])
        }
        7 => {
            let mut table = Table::new(&["source", "name", "min_interval", "max_interval"]);
            for source in machine.query::<ProfileSources>()?.0 {
                let cells = [source.min_interval.into(), source.max_interval.into()];
                table.row([source.source.into(), source.description.into()].into_iter().chain(cells).collect());
            }
            context.table(table)
        }
        11 => number(context, machine.query::<ProcessingVersion>()?.0),
        12 => guids(context, machine.groups()?),
        13 => providers::group_of(context, line),
        14 => guids(context, of_session::<DisallowedProviders>(context, line)?.0),
        17 => {
            let limits: PeriodicCaptureLimits = machine.query()?;
            let seconds = limits.least_seconds;
            let most = limits.most_providers;
            context.record(vec![("least_seconds", seconds.into()), ("most_providers", most.into())])
        }
        19 => number(context, machine.max_sessions()?),
        22 => number(context, machine.query::<MaxPmcCounters>()?.0),
        23 => number(context, of_session::<StreamCount>(context, line)?.0),
        25 => owners(context, &machine.query_for::<PmcOwners>(&line.of)?.counters),
        27 => {
            let mut table = Table::new(&["session", "sources", "hook_ids"]);
            for session in machine.query::<PmcSessions>()?.0 {
                table.row(vec![session.logger_id.into(), session.sources.into(), session.hook_ids.into()]);
            }
            context.table(table)
        }
        // The class cannot be queried; the system's error code says so.
        _ => raw(context, line, facts),
    }
}

fn raw(context: &Context<'_>, line: &InfoGet, facts: &Facts) -> Result<(), Failure> {
    let enumerates = facts.of_class().is_some_and(|facts| facts.enumerate && !facts.query);
    let bytes = if enumerates {
        let input = line.guid.as_ref().map(|provider| provider.guid);
        context
            .machine
            .enumerate_raw(facts.class, &input.map(|guid| guid.to_bytes_le().to_vec()).unwrap_or_default())?
    } else {
        // Two classes read their input from the buffer; the others only write to it.
        let start =
            if matches!(facts.class.as_int(), 5 | 25) { [line.of.to_le_bytes(), [0; 4]].concat() } else { Vec::new() };
        context.machine.query_raw(handle(context, line.session.as_deref(), facts)?, facts.class, &start)?
    };
    context.record(vec![("length", bytes.len().into()), ("bytes", values::hex(&bytes).into())])
}

fn guids(context: &Context<'_>, guids: Vec<etw_types::Guid>) -> Result<(), Failure> {
    let mut table = Table::new(&["guid"]);
    for guid in guids {
        table.row(vec![guid.to_string().into()]);
    }
    context.table(table)
}

fn number(context: &Context<'_>, number: u32) -> Result<(), Failure> {
    context.record(vec![("value", number.into())])
}

fn owners(context: &Context<'_>, counters: &[PmcCounterOwner]) -> Result<(), Failure> {
    let mut table = Table::new(&["counter", "owner", "source", "tag"]);
    for (index, counter) in (0_u32..).zip(counters) {
        let owner = match counter.owner_type {
            0 => "free",
            1 => "untagged",
            2 => "tagged",
            3 => "tagged with source",
            _ => "unknown",
        };
        let tag: String = counter
            .owner_tag
            .to_le_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .filter(char::is_ascii_graphic)
            .collect();
        table.row(vec![index.into(), owner.into(), counter.profile_source.into(), tag.into()]);
    }
    context.table(table)
}
