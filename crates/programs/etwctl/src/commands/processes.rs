//! `processes`.

use etw_etl::{Clock, Process};

use crate::cli::Processes;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Schemas, Traces};
use crate::output::{Json, Table};

/// Lists the processes of one or more traces. A process that several traces of a machine describe is listed once.
pub(super) fn processes(context: &Context<'_>, line: &Processes) -> Result<(), Failure> {
    let traces = Traces::open(&line.files, &Schemas::default(), Progress::new(false), false)?;
    traces.done();
    let mut table = Table::new(&["pid", "name", "parent", "session", "start", "end", "services", "command_line"]);
    for (names, clock) in traces.names() {
        for process in names.processes() {
            let services: Vec<&str> = names.services(process.id).collect();
            table.row(row(process, &clock, &services));
        }
    }
    context.table(table)?;
    traces.check()
}

fn row(process: &Process, clock: &Clock, services: &[&str]) -> Vec<Json> {
    let time = |stamp: Option<u64>| Json::from(stamp.map(|stamp| clock.time(stamp).to_string()));
    vec![
        process.id.into(),
        (*process.name).into(),
        process.parent.into(),
        process.session.into(),
        time(process.start),
        time(process.end),
        Json::from((!services.is_empty()).then(|| services.join(" "))),
        process.command_line.as_deref().into(),
    ]
}
