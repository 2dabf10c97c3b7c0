//! `providers`.

use etw_types::Guid;
use etw_types::session::TraceEnableInfo;

use crate::cli::{InfoGet, Providers};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Json, Table, object};

/// Lists providers or groups, or shows the sessions that enabled one.
pub(super) fn list(context: &Context<'_>, line: &Providers) -> Result<(), Failure> {
    match (&line.provider, line.groups) {
        (Some(named), true) => group(context, named.guid),
        (Some(named), false) => provider(context, named.guid),
        (None, true) => groups(context),
        (None, false) => providers(context, line.process),
    }
}

fn providers(context: &Context<'_>, of_this_process: bool) -> Result<(), Failure> {
    let guids =
        if of_this_process { context.machine.providers_of_this_process()? } else { context.machine.providers()? };
    let mut table = Table::new(&["provider", "registrations", "sessions"]);
    for guid in guids {
        // A provider may be unregistered between the two calls, or not be accessible. Then nothing is known about it.
        let instances = context.machine.provider(guid).ok().map(|provider| provider.0);
        let sessions = instances
            .as_ref()
            .map(|instances| instances.iter().map(|instance| instance.enabled.len()).max().unwrap_or_default());
        let registered =
            instances.as_ref().map(|instances| instances.iter().filter(|instance| instance.is_registered()).count());
        table.row(vec![guid.to_string().into(), registered.into(), sessions.into()]);
    }
    context.table(table)
}

fn groups(context: &Context<'_>) -> Result<(), Failure> {
    let mut table = Table::new(&["group", "members", "sessions"]);
    for guid in context.machine.groups()? {
        let group = context.machine.group(guid).ok();
        let members = group.as_ref().map(|group| group.members.len());
        let sessions = group.as_ref().map(|group| group.enabled.len());
        table.row(vec![guid.to_string().into(), members.into(), sessions.into()]);
    }
    context.table(table)
}

const COLUMNS: [&str; 7] = ["process", "state", "session", "level", "any", "all", "properties"];

fn provider(context: &Context<'_>, guid: Guid) -> Result<(), Failure> {
    let mut table = Table::new(&COLUMNS);
    for instance in context.machine.provider(guid)?.0 {
        let state = match (instance.is_registered(), instance.is_legacy()) {
            (false, _) => "not registered yet",
            (true, false) => "registered",
            (true, true) => "registered, classic",
        };
        let start = [Json::from(instance.process_id), state.into()];
        if instance.enabled.is_empty() {
            table.row(start.iter().cloned().chain(vec![Json::Null; 5]).collect());
        }
        for request in &instance.enabled {
            table.row(start.iter().cloned().chain(cells(request)).collect());
        }
    }
    context.table(table)
}

fn group(context: &Context<'_>, guid: Guid) -> Result<(), Failure> {
    let group = context.machine.group(guid)?;
    let requests: Vec<Json> = group
        .enabled
        .iter()
        .map(|request| {
            let names = ["session", "level", "any", "all", "properties"];
            object(names.into_iter().zip(cells(request)))
        })
        .collect();
    let members: Vec<String> = group.members.iter().map(ToString::to_string).collect();
    context.record(vec![("group", guid.to_string().into()), ("members", members.into()), ("enabled", requests.into())])
}

/// The session, level, keyword masks and properties of a request.
fn cells(request: &TraceEnableInfo) -> [Json; 5] {
    [
        request.logger_id.into(),
        request.level.into(),
        format!("{:#x}", request.match_any).into(),
        format!("{:#x}", request.match_all).into(),
        format!("{:#x}", request.enable_property).into(),
    ]
}

/// The GUID that the class needs as its input.
fn about(line: &InfoGet) -> Result<Guid, Failure> {
    line.guid
        .as_ref()
        .map(|provider| provider.guid)
        .ok_or_else(|| Failure::Usage("this class needs a provider or group: use --guid".to_owned()))
}

/// Class 1: the registrations of a provider.
pub(super) fn provider_of(context: &Context<'_>, line: &InfoGet) -> Result<(), Failure> {
    provider(context, about(line)?)
}

/// Class 13: the members and sessions of a provider group.
pub(super) fn group_of(context: &Context<'_>, line: &InfoGet) -> Result<(), Failure> {
    group(context, about(line)?)
}
