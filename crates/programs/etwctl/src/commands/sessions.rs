//! `sessions`, `flush` and `stop`.

use command_line::{escaped, shown};
use etw_session::SessionStatus;

use super::losses;
use crate::cli::{Listed, Named};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Json, Table};
use crate::values::counted;

/// Lists the sessions, or shows one.
pub(super) fn list(context: &Context<'_>, line: &Listed) -> Result<(), Failure> {
    if let Some(name) = &line.session {
        let status = context.attach(name)?.query()?;
        return context.record(members(&status));
    }
    let sessions = context.machine.sessions()?;
    let mut table =
        Table::new(&["name", "handle", "buffers", "free", "written", "events_lost", "buffers_lost", "modes", "file"]);
    for session in &sessions {
        table.row(vec![
            session.properties.name.as_str().into(),
            session.handle.into(),
            session.number_of_buffers.into(),
            session.free_buffers.into(),
            session.buffers_written.into(),
            session.events_lost.into(),
            session.log_buffers_lost.saturating_add(session.real_time_buffers_lost).into(),
            session.mode_names().into(),
            file(session),
        ]);
    }
    context.table(table)?;
    if !context.is_json {
        let most =
            context.machine.max_sessions().map_or_else(|_| "an unknown number of".to_owned(), |most| most.to_string());
        context.done(&format!("\n{} of {most} sessions", sessions.len()))?;
    }
    Ok(())
}

/// Flushes a session.
pub(super) fn flush(context: &Context<'_>, line: &Named) -> Result<(), Failure> {
    let session = context.attach(&line.session)?;
    let status = session.flush()?;
    report(context, "flushed", &status)?;
    losses::check(context.machine, &status)
}

/// Stops a session.
pub(super) fn stop(context: &Context<'_>, line: &Named) -> Result<(), Failure> {
    let session = context.attach(&line.session)?;
    let status = session.stop()?;
    report(context, "stopped", &status)?;
    losses::check(context.machine, &status)
}

/// Prints the result of a command on a session: the counts, or with `--json` everything.
pub(super) fn report(context: &Context<'_>, what: &str, status: &SessionStatus) -> Result<(), Failure> {
    if context.is_json {
        return context.record(members(status));
    }
    let file = status.properties.log_file.as_ref().map_or_else(String::new, |file| format!(", {}", shown(file)));
    context.done(&format!("{what} {}: {}{file}", escaped(&status.properties.name), counts(status)))
}

/// The numbers of written and lost buffers and events, as text.
pub(super) fn counts(status: &SessionStatus) -> String {
    let lost = u64::from(status.log_buffers_lost) + u64::from(status.real_time_buffers_lost);
    format!(
        "{} written, {} and {} lost",
        counted(status.buffers_written.into(), "buffer"),
        counted(status.events_lost.into(), "event"),
        counted(lost, "buffer")
    )
}

fn file(status: &SessionStatus) -> Json {
    status.properties.log_file.as_ref().map(|file| file.display().to_string()).into()
}

/// Everything about a session.
pub(super) fn members(status: &SessionStatus) -> Vec<(&'static str, Json)> {
    vec![
        ("name", status.properties.name.as_str().into()),
        ("handle", status.handle.into()),
        ("guid", status.properties.guid.to_string().into()),
        ("file", file(status)),
        ("modes", status.mode_names().into()),
        ("mode_bits", format!("{:#x}", status.properties.mode).into()),
        ("clock", status.properties.clock.as_int().into()),
        ("buffer_kib", status.properties.buffer_kib.into()),
        ("minimum_buffers", status.properties.minimum_buffers.into()),
        ("maximum_buffers", status.properties.maximum_buffers.into()),
        ("number_of_buffers", status.number_of_buffers.into()),
        ("free_buffers", status.free_buffers.into()),
        ("flush_timer", status.properties.flush_timer.into()),
        ("maximum_file_size", status.properties.maximum_file_size.into()),
        ("enable_flags", format!("{:#x}", status.properties.enable_flags).into()),
        ("buffers_written", status.buffers_written.into()),
        ("events_lost", status.events_lost.into()),
        ("log_buffers_lost", status.log_buffers_lost.into()),
        ("real_time_buffers_lost", status.real_time_buffers_lost.into()),
    ]
}
