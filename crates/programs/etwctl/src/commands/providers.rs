//! `providers`.

use etw_session::info::{Information, View};
use etw_types::Guid;

use super::info_get;
use crate::cli::Providers;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Table;

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

fn provider(context: &Context<'_>, guid: Guid) -> Result<(), Failure> {
    info_get::show(context, context.machine.provider(guid)?.view())
}

/// Shows the members and sessions of a provider group.
pub(super) fn group(context: &Context<'_>, guid: Guid) -> Result<(), Failure> {
    let view = match context.machine.group(guid)?.view() {
        View::Record(members) => View::Record([("group", guid.into())].into_iter().chain(members).collect()),
        list @ View::List { .. } => list,
    };
    info_get::show(context, view)
}
