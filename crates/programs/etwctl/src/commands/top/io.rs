//! Disks, files, page faults, the registry, the network, images, interrupts and heaps.

use std::collections::HashMap;

use etw_etl::decode::{Node, Scalar};
use etw_etl::format::record::Layout;
use etw_etl::{Decoded, Decoder, EventRef};
use etw_types::Guid;

use super::network::{Source, Transfer};
use super::report::{InRange, Report};
use super::tally::{Key, Number, Tally};
use super::{Analyzer, Decoders, Moment, Topic, function, hook};
use crate::values::counted;

/// The maximum number of operations whose end is awaited.
const MAX_OPEN: usize = 1_000_000;
const OPERATION_END: u16 = 0x044C;
/// The provider of the .NET runtime, and the ids of its events: those of the manifests of all versions. Their names differ.
const DOTNET: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);
const GC_RESTART_END: u16 = 3;
const GC_SUSPEND_BEGIN: u16 = 9;
const GC_ALLOCATION_TICK: u16 = 10;
/// Allocations of a heap.
const HEAP_ALLOC: u16 = 0x1021;
const HEAP_REALLOC: u16 = 0x1022;
/// Loads of images.
const IMAGE_LOAD: [u16; 2] = [0x030A, 0x140A];

/// An operation that has not ended.
#[derive(Debug)]
struct Open {
    /// Its row, or `None` if its event is not selected.
    key: Option<Vec<Key>>,
    start: i64,
}

/// Operations of one topic.
#[derive(Debug)]
pub(super) struct Operations {
    topic: Topic,
    /// Operations that have not ended, by their IRP or their process.
    open: HashMap<u64, Open>,
    /// The source of transfers that is counted.
    source: Option<Source>,
    /// Transfers of the other source, which are left out.
    repeated: u64,
}

impl Operations {
    pub(super) fn new(topic: Topic) -> Self {
        Self { topic, open: HashMap::new(), source: None, repeated: 0 }
    }

    pub(super) fn tally(topic: Topic) -> Tally {
        use Number::{Longest, Most, Sum, Time};
        const TRANSFERS: &[Number] = &[
            Time("ms"),
            Longest("longest_ms"),
            Sum("reads"),
            Sum("read_bytes"),
            Sum("writes"),
            Sum("written_bytes"),
            Sum("others"),
        ];
        match topic {
            Topic::Disk => Tally::new(&["process", "pid", "disk", "file"], TRANSFERS),
            Topic::File => Tally::new(&["process", "pid", "file"], TRANSFERS),
            Topic::Memory => Tally::new(
                &["process", "pid", "file"],
                &[Time("ms"), Longest("longest_ms"), Sum("faults"), Sum("bytes")],
            ),
            Topic::Registry => Tally::new(
                &["process", "pid", "operation", "key"],
                &[Sum("count"), Sum("failed"), Time("ms"), Longest("longest_ms")],
            ),
            Topic::Network => Tally::new(
                &["process", "pid", "protocol", "remote"],
                &[Sum("bytes"), Sum("sent_bytes"), Sum("received_bytes"), Sum("sends"), Sum("receives")],
            ),
            Topic::Images => Tally::new(&["image", "file"], &[Sum("loads"), Most("bytes"), Sum("rundowns")]),
            Topic::Dpc => Tally::new(&["kind", "routine"], &[Time("ms"), Longest("longest_ms"), Sum("count")]),
            Topic::Gc => {
                Tally::new(&["process", "pid", "reason"], &[Time("paused_ms"), Longest("longest_ms"), Sum("count")])
            }
            Topic::Heap | Topic::Cpu => Tally::new(&["process", "pid", "heap", "type"], &[Sum("bytes"), Sum("count")]),
        }
    }

    /// Remembers an operation until its end.
    fn start(&mut self, id: u64, key: Option<Vec<Key>>, start: i64) {
        if self.open.len() < MAX_OPEN {
            self.open.insert(id, Open { key, start });
        }
    }

    /// Ends an operation. Returns its row and its time, if they are selected.
    fn end(&mut self, id: u64, now: i64, report: &mut Report<'_>) -> Option<(Vec<Key>, InRange)> {
        let open = self.open.remove(&id)?;
        Some((open.key?, report.part(Some(open.start), now)?))
    }
}

impl Analyzer for Operations {
    fn event(&mut self, event: &EventRef<'_>, now: &Moment<'_>, decoders: &mut Decoders<'_>, report: &mut Report<'_>) {
        if self.topic == Topic::Network {
            return self.transfer(event, now, decoders, report);
        }
        let hook = hook(event);
        let is_wanted = match (self.topic, hook) {
            (Topic::Disk, Some(hook)) => matches!(hook, 0x010A | 0x010B | 0x010E),
            (Topic::File, Some(hook)) => matches!(hook, 0x0440..=0x044D),
            (Topic::Memory, Some(hook)) => hook == 0x0220,
            (Topic::Registry, Some(hook)) => matches!(hook, 0x090A..=0x0915 | 0x091B..=0x091D),
            (Topic::Images, Some(hook)) => matches!(hook, 0x030A | 0x140A | 0x1403),
            (Topic::Dpc, Some(hook)) => matches!(hook, 0x0F32 | 0x0F42..=0x0F45),
            (Topic::Heap, Some(hook)) => matches!(hook, HEAP_ALLOC | HEAP_REALLOC),
            (Topic::Heap, None) => dotnet(event) == Some(GC_ALLOCATION_TICK),
            (Topic::Gc, None) => matches!(dotnet(event), Some(GC_SUSPEND_BEGIN | GC_RESTART_END)),
            _ => false,
        };
        if !is_wanted {
            return;
        }
        let content = decoders.layouts.decode(event);
        let mut row = Row { event, decoded: &content, now, named: decoders.named };
        match self.topic {
            Topic::Disk => row.disk(report),
            Topic::File => self.file(&mut row, report),
            Topic::Memory => {
                let start = row.start("InitialTime");
                let Some(part) = row.part(report, start) else { return };
                let numbers = [part.time, part.time, part.count(1), part.count(row.number("ByteCount"))];
                report.tally.add(row.key([row.file()]), &numbers);
            }
            Topic::Registry => row.registry(report),
            Topic::Images => row.images(report),
            Topic::Dpc => {
                let start = row.start("InitialTime");
                let Some(part) = row.part(report, start) else { return };
                let name = row.number("Routine").map_or(Key::Nothing, |routine| {
                    let name = decoders.layouts.frame(0, event.header.stamp, routine).into_iter().next();
                    name.map_or_else(|| format!("{routine:#x}"), |name| function(&name).to_owned()).into()
                });
                report.tally.add(vec![row.name(), name], &[part.time, part.time, part.count(1)]);
            }
            Topic::Heap => row.heap(report),
            Topic::Gc => self.pause(&mut row, report),
            Topic::Cpu | Topic::Network => {}
        }
    }

    fn note(&self) -> Option<String> {
        let source = self.source.filter(|_| self.repeated > 0)?;
        Some(format!(
            "the transfers are those of {}; {} of the trace's other source of transfers are left out, because they would \
             count twice",
            source.name(),
            counted(self.repeated, "event")
        ))
    }
}

impl Operations {
    fn transfer(
        &mut self,
        event: &EventRef<'_>,
        now: &Moment<'_>,
        decoders: &mut Decoders<'_>,
        report: &mut Report<'_>,
    ) {
        let Some(transfer) = Transfer::from_event(event) else { return };
        if *self.source.get_or_insert(transfer.source) != transfer.source {
            self.repeated += 1;
            return;
        }
        if report.has_time(now.time) && report.takes_event(event, decoders.named) {
            transfer.count(event, decoders.layouts, report.tally);
        }
    }

    /// File operations end with an event of their own, which has the same IRP.
    fn file(&mut self, row: &mut Row<'_>, report: &mut Report<'_>) {
        let irp = row.number("IrpPtr");
        if hook(row.event) == Some(OPERATION_END) {
            if let Some((key, part)) = irp.and_then(|irp| self.end(irp, row.now.time, report)) {
                let none = Some(0);
                report.tally.add(key, &[part.time, part.time, none, none, none, none, none]);
            }
            return;
        }
        let key = row.takes(report).then(|| row.key([row.file()]));
        if let Some(key) = key.clone().filter(|_| report.has_time(row.now.time)) {
            let kind = match hook(row.event) {
                Some(0x0443) => Direction::Read,
                Some(0x0444) => Direction::Write,
                _ => Direction::None,
            };
            let [reads, read_bytes, writes, written_bytes, others] = kind.numbers(Some(1), row.number("IoSize"));
            // Only the end of the operation tells how long it took.
            report.tally.add(key, &[None, None, reads, read_bytes, writes, written_bytes, others]);
        }
        // Nothing tells the end of an operation without an IRP.
        if let Some(irp) = irp {
            self.start(irp, key, row.now.time);
        }
    }

    /// The threads of a process stand still from the beginning of their suspension to the end of their restart.
    fn pause(&mut self, row: &mut Row<'_>, report: &mut Report<'_>) {
        let Some(process) = row.event.header.process_id.map(u64::from) else { return };
        match dotnet(row.event) {
            Some(GC_SUSPEND_BEGIN) => {
                let key = row.takes(report).then(|| row.key([row.text("Reason")]));
                self.start(process, key, row.now.time);
            }
            Some(GC_RESTART_END) => {
                if let Some((key, part)) = self.end(process, row.now.time, report) {
                    report.tally.add(key, &[part.time, part.time, part.count(1)]);
                }
            }
            _ => {}
        }
    }
}

/// The id of an event of the .NET runtime.
fn dotnet(event: &EventRef<'_>) -> Option<u16> {
    let is_manifest = event.header.layout == Layout::Event && event.header.provider == Some(DOTNET);
    is_manifest.then_some(event.header.descriptor.id)
}

/// A decoded event and its time.
struct Row<'a> {
    event: &'a EventRef<'a>,
    /// With the built-in layout.
    decoded: &'a Decoded,
    now: &'a Moment<'a>,
    /// Decodes the event as conditions name it.
    named: &'a mut Decoder,
}

impl Row<'_> {
    fn value(&self, name: &str) -> Option<&Scalar> {
        match self.decoded.field(name)? {
            Node::Value(value) => Some(value),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Scalar::Integer(number) => u64::try_from(*number).ok(),
            Scalar::Word(word) => u64::from_str_radix(word.split(' ').next()?.strip_prefix("0x")?, 16).ok(),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Key {
        match self.value(name) {
            Some(Scalar::Text(text) | Scalar::Word(text)) => Key::Text(text.as_str().into()),
            Some(value) => value.to_string().into(),
            None => Key::Nothing,
        }
    }

    /// The time of a time stamp that the event has.
    fn start(&self, name: &str) -> Option<i64> {
        self.number(name).map(|stamp| self.now.clock.time(stamp).0)
    }

    /// The selected part of the operation that the event reports.
    fn part(&mut self, report: &mut Report<'_>, start: Option<i64>) -> Option<InRange> {
        report.part(start, self.now.time).filter(|_| self.takes(report))
    }

    /// Whether the event is selected, apart from its time.
    fn takes(&mut self, report: &mut Report<'_>) -> bool {
        report.takes_event(self.event, self.named)
    }

    /// Whether the event is selected.
    fn is_selected(&mut self, report: &mut Report<'_>) -> bool {
        report.has_time(self.now.time) && self.takes(report)
    }

    fn key<const N: usize>(&self, more: [Key; N]) -> Vec<Key> {
        let process = self.decoded.names.process.as_ref().map(|process| process.name.clone());
        [process.into(), self.event.header.process_id.into()].into_iter().chain(more).collect()
    }

    fn file(&self) -> Key {
        self.decoded.names.file.clone().into()
    }

    fn name(&self) -> Key {
        self.decoded.event.as_deref().map_or(Key::Nothing, |name| Key::Text(name.into()))
    }

    fn disk(&mut self, report: &mut Report<'_>) {
        let ticks = self.number("HighResResponseTime");
        let start = ticks.map(|ticks| self.now.clock.time(self.event.header.stamp.saturating_sub(ticks)).0);
        let Some(part) = self.part(report, start) else { return };
        let disk = self.number("DiskNumber").and_then(|number| u32::try_from(number).ok());
        let kind = match hook(self.event) {
            Some(0x010A) => Direction::Read,
            Some(0x010B) => Direction::Write,
            _ => Direction::None,
        };
        let bytes = part.count(self.number("TransferSize"));
        let [reads, read_bytes, writes, written_bytes, others] = kind.numbers(part.count(1), bytes);
        let numbers = [part.time, part.time, reads, read_bytes, writes, written_bytes, others];
        report.tally.add(self.key([disk.into(), self.file()]), &numbers);
    }

    fn registry(&mut self, report: &mut Report<'_>) {
        let start = self.start("InitialTime");
        let Some(part) = self.part(report, start) else { return };
        let is_failed = self.number("Status").is_some_and(|status| status & 0x8000_0000 != 0);
        let name = || match self.text("KeyName") {
            Key::Text(name) if name.is_empty() => Key::Nothing,
            name => name,
        };
        let key = self.decoded.names.key.clone().map_or_else(name, Key::Text);
        let numbers = [part.count(1), part.count(u64::from(is_failed)), part.time, part.time];
        report.tally.add(self.key([self.name(), key]), &numbers);
    }

    /// Allocations of heaps and of the .NET runtime.
    fn heap(&mut self, report: &mut Report<'_>) {
        let (heap, kind, bytes) = match hook(self.event) {
            Some(HEAP_ALLOC) => ("native", Key::Nothing, self.number("AllocSize")),
            Some(_) => ("native", Key::Nothing, self.number("NewAllocSize")),
            None => {
                let bytes = self.number("AllocationAmount64").or_else(|| self.number("AllocationAmount"));
                ("managed", self.text("TypeName"), bytes)
            }
        };
        if self.is_selected(report) {
            report.tally.add(self.key([Key::Text(heap.into()), kind]), &[bytes, Some(1)]);
        }
    }

    fn images(&mut self, report: &mut Report<'_>) {
        if !self.is_selected(report) {
            return;
        }
        let path = self.decoded.names.file.as_deref().map(str::to_owned);
        let path = path.or_else(|| match self.text("FileName") {
            Key::Text(path) => Some(path.to_string()),
            _ => None,
        });
        let Some(path) = path else { return };
        let name = path.rsplit(['\\', '/']).next().unwrap_or_default().to_owned();
        let is_load = hook(self.event).is_some_and(|hook| IMAGE_LOAD.contains(&hook));
        let numbers = [Some(is_load.into()), self.number("ImageSize"), Some((!is_load).into())];
        report.tally.add(vec![name.into(), path.into()], &numbers);
    }
}

/// Where a transfer moves data.
#[derive(Clone, Copy, Debug)]
enum Direction {
    Read,
    Write,
    /// Another operation, which moves none.
    None,
}

impl Direction {
    /// The numbers of reads, of bytes that were read, of writes, of bytes that were written, and of other operations.
    const fn numbers(self, count: Option<u64>, bytes: Option<u64>) -> [Option<u64>; 5] {
        let none = Some(0);
        match self {
            Self::Read => [count, bytes, none, none, none],
            Self::Write => [none, none, count, bytes, none],
            Self::None => [none, none, none, none, count],
        }
    }
}
