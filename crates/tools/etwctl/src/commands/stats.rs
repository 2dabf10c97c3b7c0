//! `stats`.

use std::collections::BTreeMap;

use etw_etl::{FileTime, Kind, Reader};

use crate::cli::Line;
use crate::context::{Context, Failure};
use crate::output::{Json, Table};

/// The hook id of the record behind the header, named after `PartitionInfoExtension` of the MOF class `EventTrace`.
const PARTITION: u16 = 0x50;

/// What is counted for one kind of event.
#[derive(Default)]
struct Count {
    events: u64,
    bytes: u64,
    first: Option<FileTime>,
    last: Option<FileTime>,
}

/// Summarises a file: what it is, what is in it, what is lost.
pub(super) fn stats(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let mut reader = Reader::open(line.argument(0).unwrap_or_default())?;
    let mut counts: BTreeMap<(String, String), Count> = BTreeMap::new();
    let mut whole = Count::default();
    for event in reader.by_ref() {
        let decoded = event.decode();
        let provider = decoded.provider.or_else(|| event.header.provider.map(|guid| guid.to_string()));
        let id = event.header.descriptor.id;
        let (unnamed, other) = match (event.kind(), id) {
            // What a session writes about itself: the header of the file, and what follows it.
            (Kind::System, 0) => ("session", "header".to_owned()),
            (Kind::System, PARTITION) => ("session", "partition".to_owned()),
            (kind, _) => ("-", format!("{} {id}", kind.as_str())),
        };
        let name = decoded.event.unwrap_or(other);
        let count = counts.entry((provider.unwrap_or_else(|| unnamed.to_owned()), name)).or_default();
        for count in [count, &mut whole] {
            count.events += 1;
            count.bytes += u64::try_from(event.record().len()).unwrap_or_default();
            count.first = count.first.or(Some(event.header.time));
            count.last = Some(event.header.time);
        }
    }
    let (header, report) = (reader.header(), reader.report());
    let time = |time: Option<FileTime>| Json::from(time.map(|time| time.to_string()));
    let [major, minor, ..] = header.version;
    let members = vec![
        ("session", header.logger_name.as_str().into()),
        ("system", format!("{major}.{minor} build {}", header.provider_version).into()),
        ("processors", header.processors.into()),
        ("buffer_size", header.buffer_size.into()),
        ("first", time(whole.first)),
        ("last", time(whole.last)),
        ("events", whole.events.into()),
        ("bytes", whole.bytes.into()),
        ("buffers", report.buffers.into()),
        ("events_lost", report.events_lost.into()),
        ("buffers_lost", report.buffers_lost.into()),
        ("unreadable_bytes", report.lost_bytes.into()),
    ];
    let mut table = Table::new(&["provider", "event", "events", "bytes", "first", "last"]);
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.events));
    for ((provider, event), count) in rows {
        let cells = vec![count.events.into(), count.bytes.into(), time(count.first), time(count.last)];
        table.row([Json::from(provider), event.into()].into_iter().chain(cells).collect());
    }
    if context.is_json {
        context.record(members.into_iter().chain([("by_event", table.json())]).collect())?;
    } else {
        context.record(members)?;
        context.done("")?;
        context.table(table)?;
    }
    if report.is_whole() { Ok(()) } else { Err(Failure::Damaged(report.to_string())) }
}
