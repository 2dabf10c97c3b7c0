//! The format of pprof: a `Profile` message of `profile.proto`, not compressed.
//!
//! Numbers in comments are those of the fields in the public definition of the message.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use etw_etl::{Decoder, EventRef, FileTime};

use super::{Sample, UNKNOWN_PROCESS};

/// 100 ns units between 1601 and 1970.
const TO_1970: i64 = 116_444_736_000_000_000;
/// The time between two samples of the kernel, in nanoseconds.
const PERIOD: u64 = 1_000_000;

/// Where samples were taken.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SampleKey {
    /// The locations, the innermost first.
    stack: Vec<u64>,
    /// The string with the name of the process.
    process: u64,
    /// The id of the process, if the trace tells it.
    pid: Option<u32>,
}

/// A profile.
pub(super) struct Pprof {
    origin: FileTime,
    last: FileTime,
    strings: HashMap<String, u64>,
    texts: Vec<String>,
    /// Locations by the index of their function's name; each function has one location with the same id.
    locations: HashMap<u64, u64>,
    functions: Vec<u64>,
    samples: BTreeMap<SampleKey, u64>,
}

impl Pprof {
    pub(super) fn new(origin: FileTime) -> Self {
        let mut new = Self {
            origin,
            last: origin,
            strings: HashMap::new(),
            texts: Vec::new(),
            locations: HashMap::new(),
            functions: Vec::new(),
            samples: BTreeMap::new(),
        };
        // The first string must be empty.
        new.string("");
        new
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(index) = self.strings.get(text) {
            return *index;
        }
        let index = u64::try_from(self.texts.len()).unwrap_or(u64::MAX);
        self.texts.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn location(&mut self, frame: &str) -> u64 {
        let name = self.string(frame);
        let next = u64::try_from(self.functions.len()).unwrap_or(u64::MAX).saturating_add(1);
        let id = *self.locations.entry(name).or_insert(next);
        if id == next {
            self.functions.push(name);
        }
        id
    }

    pub(super) fn sample(&mut self, event: &EventRef<'_>, decoder: &Decoder, sample: &Sample) {
        let header = &event.header;
        let pid = header.process_id;
        let process = match (pid.and_then(|pid| decoder.process(pid, header.stamp)), pid) {
            (Some(known), _) => known.name.to_string(),
            (None, Some(pid)) => format!("process {pid}"),
            (None, None) => UNKNOWN_PROCESS.to_owned(),
        };
        // The innermost frame comes first.
        let stack: Vec<u64> = sample.frames.iter().rev().map(|frame| self.location(frame)).collect();
        let process = self.string(&process);
        *self.samples.entry(SampleKey { stack, process, pid }).or_default() += sample.count;
        self.last = self.last.max(header.time);
    }

    pub(super) fn write(mut self, out: &mut impl Write) -> io::Result<()> {
        let [samples, count, cpu, nanoseconds, process, pid] =
            ["samples", "count", "cpu", "nanoseconds", "process", "pid"].map(|text| self.string(text));
        let mut all = Message::default();
        let kind = |kind, unit| Message::default().number(1, kind).number(2, unit);
        // 1 sample_type
        all = all.message(1, &kind(samples, count)).message(1, &kind(cpu, nanoseconds));
        for (place, number) in self.samples {
            // 2 sample: 1 location_id, 2 value, 3 label (1 key, 2 str, 3 num)
            let mut sample = Message::default()
                .packed(1, &place.stack)
                .packed(2, &[number, number.saturating_mul(PERIOD)])
                .message(3, &Message::default().number(1, process).number(2, place.process));
            if let Some(id) = place.pid {
                sample = sample.message(3, &Message::default().number(1, pid).number(3, id.into()));
            }
            all = all.message(2, &sample);
        }
        for (id, name) in (1..).zip(&self.functions) {
            // 4 location: 1 id, 4 line (1 function_id); 5 function: 1 id, 2 name
            let line = Message::default().number(1, id);
            all = all.message(4, &Message::default().number(1, id).message(4, &line));
            all = all.message(5, &Message::default().number(1, id).number(2, *name));
        }
        for text in &self.texts {
            // 6 string_table
            all = all.bytes(6, text.as_bytes());
        }
        let nanos = |ticks: i64| u64::try_from(ticks).unwrap_or_default().saturating_mul(100);
        // 9 time_nanos, 10 duration_nanos, 11 period_type, 12 period
        all = all
            .number(9, nanos(self.origin.0.saturating_sub(TO_1970)))
            .number(10, nanos(self.last.0.saturating_sub(self.origin.0)))
            .message(11, &kind(cpu, nanoseconds))
            .number(12, PERIOD);
        out.write_all(&all.0)
    }
}

/// A message in the encoding of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    /// Adds a number.
    fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    /// Adds bytes with their length.
    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn packed(self, field: u64, numbers: &[u64]) -> Self {
        let mut packed = Self::default();
        for number in numbers {
            packed.varint(*number);
        }
        self.bytes(field, &packed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn numbers_and_texts_are_encoded_as_protocol_buffers() {
        // The examples of the encoding's documentation: 150 in field 1, "testing" in field 2, and a packed list in field 6.
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, b"testing").0, b"\x12\x07testing");
        assert_eq!(Message::default().packed(6, &[3, 270, 86_942]).0, [0x32, 6, 3, 0x8E, 2, 0x9E, 0xA7, 5]);
    }
}
