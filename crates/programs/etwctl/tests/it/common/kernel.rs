//! Builds traces of the kernel whose truth is known.

use std::path::PathBuf;

use etw_etl::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use etw_etl::format::event::EVENT_HEADER_FLAG_CLASSIC_HEADER;
use etw_etl::{Buffer, Clock, ClockKind, EventData, FileTime, Writer, WriterOptions};
use etw_types::{EventDescriptor, Guid, Level, Opcode};

use super::scratch;

/// The time stamp at the start of a trace. One unit is 100 ns.
pub(crate) const START: u64 = 1_000_000;

/// When a trace starts.
const START_TIME: FileTime = FileTime(133_594_528_890_000_000);
const BUFFER: u32 = 0x8000;

/// The records of a trace, each with its processor and its time stamp.
pub(crate) struct KernelTrace {
    clock: Clock,
    /// When the machine started.
    pub(crate) boot_time: FileTime,
    processors: u16,
    records: Vec<(u16, u64, Vec<u8>)>,
}

impl KernelTrace {
    /// A trace of this many processors, with a clock of 10 MHz.
    pub(crate) fn new(processors: u16) -> Self {
        let clock =
            Clock { kind: ClockKind::PerformanceCounter, frequency: 10_000_000, start: START_TIME, start_stamp: START };
        Self { clock, boot_time: FileTime(START_TIME.0 - 10_000_000), processors, records: Vec::new() }
    }

    /// A trace of the same machine and time, whose time stamps are points in time.
    pub(crate) fn of_system_time(processors: u16) -> Self {
        let trace = Self::new(processors);
        let clock = Clock { kind: ClockKind::SystemTime, start_stamp: START_TIME.0.unsigned_abs(), ..trace.clock };
        Self { clock, ..trace }
    }

    /// The time stamp of an event this many units of 100 ns after the start.
    pub(crate) fn at(&self, after: u64) -> u64 {
        self.clock.start_stamp + after
    }

    /// Adds an event of a kernel class.
    pub(crate) fn event(
        &mut self,
        cpu: u16,
        hook_id: u16,
        version: u16,
        timestamp: u64,
        owner: (u32, u32),
        payload: &[u8],
    ) {
        let header = SystemHeader {
            version,
            header_type: TYPE_SYSTEM_64,
            size: u16::try_from(SYSTEM_SIZE + payload.len()).unwrap(),
            hook_id,
            timestamp,
            process_id: Some(owner.0),
            thread_id: Some(owner.1),
            ..SystemHeader::default()
        };
        self.records.push((cpu, timestamp, [&header.to_bytes(), payload].concat()));
    }

    /// Adds an event of a manifest provider.
    pub(crate) fn manifest(&mut self, stamp: u64, provider: Guid, id: u16, owner: (u32, u32), payload: &[u8]) {
        let descriptor = EventDescriptor { id, level: Level::Informational, ..EventDescriptor::default() };
        self.described(stamp, provider, descriptor, owner, payload);
    }

    /// Adds an event of a manifest provider with all of its descriptor.
    pub(crate) fn described(
        &mut self,
        timestamp: u64,
        provider: Guid,
        descriptor: EventDescriptor,
        owner: (u32, u32),
        payload: &[u8],
    ) {
        let data = EventData {
            provider,
            descriptor,
            process_id: owner.0,
            thread_id: owner.1,
            timestamp,
            payload,
            ..EventData::default()
        };
        let mut record = vec![0; data.encoded_len()];
        data.encode(&mut record).unwrap();
        self.records.push((0, timestamp, record));
    }

    /// Adds a classic event of a class.
    pub(crate) fn classic(&mut self, timestamp: u64, class: Guid, opcode: u8, payload: &[u8]) {
        let descriptor = EventDescriptor { opcode: Opcode::from_int(opcode), ..EventDescriptor::default() };
        let flags = EVENT_HEADER_FLAG_CLASSIC_HEADER;
        let data = EventData { provider: class, descriptor, flags, timestamp, payload, ..EventData::default() };
        let mut record = vec![0; data.encoded_len()];
        data.encode(&mut record).unwrap();
        self.records.push((0, timestamp, record));
    }

    /// A process that was there before the trace; its parent is 4.
    pub(crate) fn process(&mut self, stamp: u64, id: u32, name: &str) {
        let payload = [words(&[1, 0, id, 4, 1, 0, 0, 0, 0]), name.as_bytes().to_vec(), vec![0], wide("a -x")].concat();
        self.event(0, 0x0303, 3, stamp, (0, 0), &payload);
    }

    /// A thread that was there before the trace.
    pub(crate) fn thread(&mut self, stamp: u64, process: u32, thread: u32) {
        self.event(0, 0x0503, 3, stamp, (process, thread), &words(&[process, thread]));
    }

    /// A switch to a thread from another one, which waits (5) or could run (1).
    pub(crate) fn switch(&mut self, cpu: u16, stamp: u64, new: (u32, u32), old: u32, state: u8) {
        let payload = [words(&[new.1, old]), vec![0, 0, 0, 0, 0, 0, state, 0], words(&[0, 0])].concat();
        self.event(cpu, 0x0524, 4, stamp, new, &payload);
    }

    /// A sample of the processor.
    pub(crate) fn sample(&mut self, cpu: u16, stamp: u64, owner: (u32, u32), address: u32) {
        self.event(cpu, 0x0F2E, 2, stamp, owner, &words(&[address, 0, owner.1, 1]));
    }

    /// The stack of the event with this time stamp.
    pub(crate) fn stack(&mut self, cpu: u16, stamp: u64, owner: (u32, u32), frames: &[u32]) {
        let low = u32::try_from(stamp).unwrap();
        let frames: Vec<u32> = frames.iter().flat_map(|frame| [*frame, 0]).collect();
        let payload = [words(&[low, 0, owner.0, owner.1]), words(&frames)].concat();
        self.event(cpu, 0x1820, 2, stamp + 1, owner, &payload);
    }

    /// Writes the trace to a temporary file.
    pub(crate) fn write(&self, name: &str) -> PathBuf {
        let path = scratch(name);
        let options = WriterOptions {
            clock: self.clock,
            buffer_size: BUFFER,
            processors: self.processors,
            boot_time: self.boot_time,
            ..WriterOptions::default()
        };
        let mut writer = Writer::create(&path, options).unwrap();
        for cpu in 0..self.processors {
            let mut buffer = Buffer::new(BUFFER, cpu);
            for (_, stamp, record) in self.records.iter().filter(|(of, ..)| *of == cpu) {
                buffer.push_record(record, *stamp).unwrap();
            }
            writer.write_buffer(&mut buffer, 2 * START).unwrap();
        }
        writer.close().unwrap();
        path
    }
}

pub(crate) fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
