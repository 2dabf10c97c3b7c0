//! `stats`.

use std::collections::HashMap;
use std::sync::Arc;

use etw_etl::format::logfile::LogfileHeader;
use etw_etl::{About, Decoder, EventRef, FileTime, Identity, Report};
use etw_manifest::Source;

use super::schemas;
use super::unnamed::Unnamed;
use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::{Json, Table};

/// The maximum number of rows. Events of further kinds are counted together.
const MAX_ROWS: usize = 10_000;

/// The counts for one kind of event.
#[derive(Default)]
struct Count {
    events: u64,
    bytes: u64,
    named: u64,
    whole: u64,
    schema: &'static str,
    first: Option<FileTime>,
    last: Option<FileTime>,
}

impl Count {
    fn add(&mut self, event: &EventRef<'_>, identity: &Identity) {
        self.events += 1;
        self.bytes += u64::try_from(event.record().len()).unwrap_or_default();
        self.named += u64::from(identity.has_schema);
        self.whole += u64::from(identity.has_schema && identity.is_whole);
        self.first = self.first.or(Some(event.header.time));
        self.last = Some(event.header.time);
    }

    /// Events per second, between the first and the last one.
    fn rate(&self) -> Option<u64> {
        let ticks = self.last?.0.checked_sub(self.first?.0).filter(|ticks| *ticks > 0)?;
        u64::try_from(u128::from(self.events) * 10_000_000 / u128::try_from(ticks).ok()?).ok()
    }
}

/// A kind of event: provider and name.
type Row = (Arc<str>, Arc<str>);

/// All counts, and the events without a schema.
#[derive(Default)]
struct Stats {
    rows: HashMap<Row, Count>,
    all: Count,
    unnamed: Unnamed,
}

impl Stats {
    fn add(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) {
        let identity = decoder.identify(event);
        self.unnamed.look_at(event);
        if !identity.has_schema {
            self.unnamed.add(event, identity.provider.as_deref());
        }
        let row = name(event, &identity);
        let is_new = self.rows.len() < MAX_ROWS || self.rows.contains_key(&row);
        let row = if is_new { row } else { ("(more kinds)".into(), "(more kinds)".into()) };
        let count = self.rows.entry(row).or_default();
        if count.events == 0 {
            count.schema = source(event, &identity, decoder);
        }
        count.add(event, &identity);
        self.all.add(event, &identity);
    }
}

/// The names of the provider and the event, or ids if a name is not known.
fn name(event: &EventRef<'_>, identity: &Identity) -> Row {
    let provider = identity.provider.clone();
    let provider =
        provider.or_else(|| event.class().map(|class| class.to_string().into())).unwrap_or_else(|| "-".into());
    let event = identity.event.clone().unwrap_or_else(|| event.label().into());
    (provider, event)
}

/// The source of an event's schema.
fn source(event: &EventRef<'_>, identity: &Identity, decoder: &mut Decoder) -> &'static str {
    match decoder.schema(event).map(|schema| schema.source) {
        Some(Source::Trace) => "trace",
        Some(Source::File) => "file",
        Some(_) => "built-in",
        None if identity.has_schema => "event",
        None => "none",
    }
}

/// The value that all files have, or the different ones as an array.
fn distinct(values: impl Iterator<Item = Json>) -> Json {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    match found.len() {
        1 => found.swap_remove(0),
        _ => Json::Array(found),
    }
}

/// A number of a header, which has 0 for what its recorder did not write.
fn told(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

/// What the files do not have and what they should not have, or null.
fn damage(traces: &Traces) -> Json {
    let damaged = traces.reports().filter_map(|(path, report)| Some((path, report.damage()?)));
    let texts: Vec<String> = match traces.reports().count() {
        1 => damaged.map(|(_, damage)| damage).collect(),
        _ => damaged.map(|(path, damage)| format!("{}: {damage}", path.display())).collect(),
    };
    if texts.is_empty() { Json::Null } else { texts.join("; ").into() }
}

/// Summarises files: their sessions, their events, their losses.
pub(super) fn stats(context: &Context<'_>, line: &cli::Stats) -> Result<(), Failure> {
    let files = schemas::files(&line.schemas)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(false), false)?;
    let mut stats = Stats::default();
    while let Some((event, decoder)) = traces.next() {
        stats.add(&event, decoder);
    }
    traces.done();
    let header = |value: fn(&LogfileHeader) -> Json| distinct(traces.headers().map(|(header, _)| value(header)));
    let sum = |number: fn(&Report) -> u64| Json::from(traces.reports().map(|(_, report)| number(report)).sum::<u64>());
    let about = traces.reports().map(|(_, report)| About::from(report)).reduce(|one, other| one.and(&other));
    let about = about.unwrap_or_default();
    let time = |time: Option<FileTime>| Json::from(time.map(|time| time.to_string()));
    let share = |part: u64| {
        let tenths = (u128::from(part) * 1000).checked_div(stats.all.events.into())?;
        Some(format!("{}.{}", tenths / 10, tenths % 10))
    };
    let system = |header: &LogfileHeader| {
        let [major, minor, ..] = header.version;
        let text = format!("{major}.{minor} build {}", header.provider_version);
        Json::from((major > 0 || header.provider_version > 0).then_some(text))
    };
    let members = vec![
        ("session", header(|header| header.logger_name.as_str().into())),
        ("system", header(system)),
        ("processors", header(|header| told(header.processors).into())),
        ("buffer_size", header(|header| told(header.buffer_size).into())),
        ("first", time(stats.all.first)),
        ("last", time(stats.all.last)),
        ("events", stats.all.events.into()),
        ("named", stats.all.named.into()),
        ("named_percent", share(stats.all.named).into()),
        ("whole", stats.all.whole.into()),
        ("whole_percent", share(stats.all.whole).into()),
        ("bytes", stats.all.bytes.into()),
        ("buffers", sum(|report| report.buffers)),
        ("events_lost", about.events_lost.into()),
        ("buffers_lost", about.buffers_lost.into()),
        ("unreadable_bytes", sum(|report| report.lost_bytes)),
        ("damage", damage(&traces)),
        ("closed", traces.reports().all(|(_, report)| !report.is_unclosed).into()),
    ];
    let mut table = Table::new(&["provider", "event", "schema", "events", "whole", "bytes", "rate", "first", "last"]);
    let mut rows: Vec<_> = stats.rows.into_iter().collect();
    rows.sort_by(|(one, a), (other, b)| b.events.cmp(&a.events).then_with(|| one.cmp(other)));
    for ((provider, event), count) in rows {
        let cells = [count.events.into(), count.whole.into(), count.bytes.into(), Json::from(count.rate())];
        let times = [time(count.first), time(count.last)];
        let names = [Json::from(&*provider), Json::from(&*event), count.schema.into()];
        table.row(names.into_iter().chain(cells).chain(times).collect());
    }
    if context.is_json {
        context.record(members.into_iter().chain([("by_event", table.json())]).collect())?;
    } else {
        context.record(members)?;
        context.done("")?;
        context.table(table)?;
    }
    stats.unnamed.print_notes();
    traces.check()
}
