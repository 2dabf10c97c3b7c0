//! Disks, files, page faults, the registry, the network, images, interrupts and heaps.

use std::collections::HashMap;

use etw_etl::decode::{Node, Scalar};
use etw_etl::{Decoded, Decoder, EventRef};

use super::network::{Source, Transfer};
use super::tally::{Key, Number, Tally};
use super::{Analyzer, Moment, Topic, function, hook};
use crate::values::counted;

/// The maximum number of operations whose end is awaited.
const MOST_OPEN: usize = 1_000_000;
const OPERATION_END: u16 = 0x044C;
/// The provider of the .NET runtime.
const DOTNET: &str = "Microsoft-Windows-DotNETRuntime";

/// Operations of one topic.
#[derive(Debug)]
pub(super) struct Operations {
    topic: Topic,
    /// Operations that have not ended: their IRP or their process, with the row and the start.
    open: HashMap<u64, (Vec<Key>, i64)>,
    /// Decodes transfers with the built-in schemas. Other schemas of Microsoft-Windows-Kernel-Network declare addresses and ports as plain numbers.
    transfers: Decoder,
    /// The source of transfers that is counted.
    source: Option<Source>,
    /// Transfers of the other source, which are left out.
    repeated: u64,
}

impl Operations {
    pub(super) fn new(topic: Topic) -> Self {
        Self { topic, open: HashMap::new(), transfers: Decoder::default(), source: None, repeated: 0 }
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
    fn start(&mut self, id: u64, key: Vec<Key>, now: i64) {
        if self.open.len() < MOST_OPEN {
            self.open.insert(id, (key, now));
        }
    }
}

impl Analyzer for Operations {
    fn event(&mut self, event: &EventRef<'_>, now: Moment<'_>, decoder: &mut Decoder, tally: &mut Tally) {
        if self.topic == Topic::Network {
            return self.transfer(event, decoder, tally);
        }
        let hook = hook(event);
        let is_wanted = match (self.topic, hook) {
            (Topic::Disk, Some(hook)) => matches!(hook, 0x010A | 0x010B | 0x010E),
            (Topic::File, Some(hook)) => matches!(hook, 0x0440..=0x044D),
            (Topic::Memory, Some(hook)) => hook == 0x0220,
            (Topic::Registry, Some(hook)) => matches!(hook, 0x090A..=0x0915 | 0x091B..=0x091D),
            (Topic::Images, Some(hook)) => matches!(hook, 0x030A | 0x140A | 0x1403),
            (Topic::Dpc, Some(hook)) => matches!(hook, 0x0F32 | 0x0F42..=0x0F45),
            (Topic::Heap, Some(hook)) => matches!(hook, 0x1021 | 0x1022),
            (Topic::Heap | Topic::Gc, None) => true,
            _ => false,
        };
        if !is_wanted || (hook.is_none() && decoder.identify(event).provider.as_deref() != Some(DOTNET)) {
            return;
        }
        let content = decoder.decode(event);
        let row = Row { event, decoded: &content, now };
        match self.topic {
            Topic::Disk => row.disk(tally),
            Topic::File => self.file(&row, tally),
            Topic::Memory => {
                let bytes = row.number("ByteCount").unwrap_or_default();
                let time = row.since("InitialTime");
                tally.add(row.key([row.file()]), &[time, time, 1, bytes]);
            }
            Topic::Registry => row.registry(tally),
            Topic::Images => row.images(tally),
            Topic::Dpc => {
                let time = row.since("InitialTime");
                let routine = row.number("Routine").unwrap_or_default();
                let name = decoder.frame(0, event.header.stamp, routine).into_iter().next();
                let name = name.map_or_else(|| format!("{routine:#x}"), |name| function(&name).to_owned());
                tally.add(vec![row.name(), name.into()], &[time, time, 1]);
            }
            Topic::Heap => row.heap(tally),
            Topic::Gc => self.pause(&row, tally),
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
    fn transfer(&mut self, event: &EventRef<'_>, decoder: &mut Decoder, tally: &mut Tally) {
        let Some(transfer) = Transfer::from_event(event) else { return };
        if *self.source.get_or_insert(transfer.source) != transfer.source {
            self.repeated += 1;
            return;
        }
        transfer.count(event, &self.transfers.decode(event), decoder, tally);
    }

    /// File operations end with an event of their own, which has the same IRP.
    fn file(&mut self, row: &Row<'_>, tally: &mut Tally) {
        let irp = row.number("IrpPtr").unwrap_or_default();
        if hook(row.event) == Some(OPERATION_END) {
            if let Some((key, start)) = self.open.remove(&irp) {
                let time = u64::try_from(row.now.time.saturating_sub(start)).unwrap_or_default();
                tally.add(key, &[time, time, 0, 0, 0, 0, 0]);
            }
            return;
        }
        let key = row.key([row.file()]);
        let bytes = row.number("IoSize").unwrap_or_default();
        let numbers = match hook(row.event) {
            Some(0x0443) => [0, 0, 1, bytes, 0, 0, 0],
            Some(0x0444) => [0, 0, 0, 0, 1, bytes, 0],
            _ => [0, 0, 0, 0, 0, 0, 1],
        };
        tally.add(key.clone(), &numbers);
        self.start(irp, key, row.now.time);
    }

    /// The threads of a process stand still from the beginning of their suspension to the end of their restart.
    fn pause(&mut self, row: &Row<'_>, tally: &mut Tally) {
        let process = row.event.header.process_id.unwrap_or_default().into();
        match row.decoded.event.as_deref() {
            Some("GarbageCollection/GCSuspendEEBegin") => {
                self.start(process, row.key([row.text("Reason")]), row.now.time);
            }
            Some("GarbageCollection/GCRestartEEEnd") => {
                if let Some((key, start)) = self.open.remove(&process) {
                    let time = u64::try_from(row.now.time.saturating_sub(start)).unwrap_or_default();
                    tally.add(key, &[time, time, 1]);
                }
            }
            _ => {}
        }
    }
}

/// A decoded event and its time.
struct Row<'a> {
    event: &'a EventRef<'a>,
    decoded: &'a Decoded,
    now: Moment<'a>,
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

    /// The time since a time stamp that the event has, in units of 100 ns.
    fn since(&self, name: &str) -> u64 {
        let start = self.number(name).map(|stamp| self.now.clock.time(stamp).0);
        start.and_then(|start| u64::try_from(self.now.time.saturating_sub(start)).ok()).unwrap_or_default()
    }

    fn key<const N: usize>(&self, more: [Key; N]) -> Vec<Key> {
        let process = self.decoded.names.process.as_ref().map(|process| process.name.clone());
        [process.into(), self.event.header.process_id.into()].into_iter().chain(more).collect()
    }

    fn file(&self) -> Key {
        self.decoded.names.file.clone().into()
    }

    fn name(&self) -> Key {
        Key::Text(self.decoded.event.as_deref().unwrap_or_default().into())
    }

    fn disk(&self, tally: &mut Tally) {
        let disk = self.number("DiskNumber").and_then(|number| u32::try_from(number).ok());
        let bytes = self.number("TransferSize").unwrap_or_default();
        let ticks = self.number("HighResResponseTime").unwrap_or_default();
        let start = self.event.header.stamp.saturating_sub(ticks);
        let time = u64::try_from(self.now.time.saturating_sub(self.now.clock.time(start).0)).unwrap_or_default();
        let numbers = match hook(self.event) {
            Some(0x010A) => [time, time, 1, bytes, 0, 0, 0],
            Some(0x010B) => [time, time, 0, 0, 1, bytes, 0],
            _ => [time, time, 0, 0, 0, 0, 1],
        };
        tally.add(self.key([disk.into(), self.file()]), &numbers);
    }

    fn registry(&self, tally: &mut Tally) {
        let is_failed = self.number("Status").is_some_and(|status| status & 0x8000_0000 != 0);
        let time = self.since("InitialTime");
        let name = || match self.text("KeyName") {
            Key::Text(name) if name.is_empty() => Key::Nothing,
            name => name,
        };
        let key = self.decoded.names.key.clone().map_or_else(name, Key::Text);
        tally.add(self.key([self.name(), key]), &[1, is_failed.into(), time, time]);
    }

    /// Allocations of heaps and of the .NET runtime.
    fn heap(&self, tally: &mut Tally) {
        let (heap, kind, bytes) = match self.decoded.event.as_deref() {
            Some("Alloc") => ("native", Key::Nothing, self.number("AllocSize")),
            Some("ReAlloc") => ("native", Key::Nothing, self.number("NewAllocSize")),
            Some("GarbageCollection/GCAllocationTick") => {
                let bytes = self.number("AllocationAmount64").or_else(|| self.number("AllocationAmount"));
                ("managed", self.text("TypeName"), bytes)
            }
            _ => return,
        };
        tally.add(self.key([Key::Text(heap.into()), kind]), &[bytes.unwrap_or_default(), 1]);
    }

    fn images(&self, tally: &mut Tally) {
        let path = self.decoded.names.file.as_deref().map(str::to_owned);
        let path = path.or_else(|| match self.text("FileName") {
            Key::Text(path) => Some(path.to_string()),
            _ => None,
        });
        let Some(path) = path else { return };
        let name = path.rsplit(['\\', '/']).next().unwrap_or_default().to_owned();
        let is_load = self.decoded.event.as_deref() == Some("Load");
        let bytes = self.number("ImageSize").unwrap_or_default();
        tally.add(vec![name.into(), path.into()], &[is_load.into(), bytes, (!is_load).into()]);
    }
}
