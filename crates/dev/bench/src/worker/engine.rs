//! Writes E2 events to a file session of the engine.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use etw_engine::{Block, Enable, Engine, EngineOptions, EventWrite, Overflow, Properties, Session};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level};
use serde_json::{Value, json};

use crate::part::{BUFFER_KIB, BUFFERS};
use crate::step::program::mark;

const NAME: &str = "WdkEtw.Bench";
const TRAITS: &[u8] = b"\x0f\x00WdkEtw.Bench\x00";
const TEXT: &[u8; 16] = b"sixteen letters.";

/// A session that writes a file, and a provider that it has enabled.
struct Writer {
    engine: Engine,
    session: Session,
    handle: u64,
    metadata: Vec<u8>,
}

impl Writer {
    fn new(file: &Path, overflow: Overflow) -> Result<Self, String> {
        let engine = Engine::with_options(EngineOptions { record_calls: false, ..EngineOptions::default() });
        let provider = Guid::from_name(NAME);
        let handle = engine.register(provider, None, |_| {}).map_err(|status| status.to_string())?;
        engine.set_information(handle, EventInfoClass::SetTraits, TRAITS);
        let processors = thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        let buffers = BUFFERS * processors;
        let properties = Properties {
            buffer_kib: BUFFER_KIB,
            minimum_buffers: buffers,
            maximum_buffers: buffers,
            ..Properties::to_file("bench", file)
        };
        let session = engine.start_with(&properties, overflow).map_err(|error| error.to_string())?;
        session.enable(provider, Enable::default());
        let mut metadata = [0; 64];
        let mut payload = [0; 64];
        let event =
            EventBuilder::new(&mut metadata, &mut payload, "Event2", 0).u32("id", 0).u64("offset", 0).str8("text", "");
        let (metadata, _) = event.finish().map_err(|error| format!("{error:?}"))?;
        let metadata = metadata.to_vec();
        Ok(Self { engine, session, handle, metadata })
    }

    /// Starts a session that enables the provider for a keyword that the events do not have.
    fn uninterested(&self, number: u64) -> Result<Session, String> {
        let properties = Properties::in_memory(&format!("other {number}"));
        let session = self.engine.start(&properties).map_err(|error| error.to_string())?;
        session.enable(Guid::from_name(NAME), Enable { any: 2, ..Enable::default() });
        Ok(session)
    }

    /// Writes this many events in the same way as a driver with our macros: two descriptors for metadata, one for the
    /// fixed-size fields and the length, one for the text.
    fn write(&self, events: u64) {
        let descriptor =
            EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
        let event = EventWrite::new(self.handle, descriptor);
        let mut fixed = [0; 14];
        fixed[0] = 7;
        fixed[12] = 16;
        for index in 0..events {
            fixed[4..12].copy_from_slice(&index.to_le_bytes());
            let blocks = [
                Block::with_kind(TRAITS, DataKind::ProviderMetadata),
                Block::with_kind(&self.metadata, DataKind::EventMetadata),
                Block::data(&fixed),
                Block::data(TEXT),
            ];
            self.engine.write(&event, &blocks);
        }
    }

    /// Stops the session. Returns its statistics.
    fn finish(&self, file: &Path) -> Result<Value, String> {
        self.session.stop();
        let statistics = self.session.statistics();
        let bytes = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len();
        Ok(json!({ "recorded": statistics.recorded, "lost": statistics.lost, "bytes": bytes }))
    }
}

/// Writes this many events from each of several threads.
#[expect(clippy::indexing_slicing, reason = "assigning to a key of a JSON object adds it")]
pub(super) fn write(events: u64, threads: u64, file: &Path) -> Result<Value, String> {
    let writer = Writer::new(file, Overflow::Lose)?;
    writer.write(100);
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| writer.write(events));
        }
        writer.write(events);
    });
    let writing = started.elapsed();
    let mut result = writer.finish(file)?;
    result["writing_ns"] = json!(u64::try_from(writing.as_nanos()).unwrap_or(u64::MAX));
    result["total_ns"] = json!(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    Ok(result)
}

/// Writes events between two marks. `others` more sessions have enabled the provider, but for another keyword.
pub(super) fn stepped(events: u64, others: u64, file: &Path) -> Result<Value, String> {
    let writer = Writer::new(file, Overflow::Lose)?;
    let others: Result<Vec<Session>, String> = (0..others).map(|number| writer.uninterested(number)).collect();
    let _others = others?;
    stay()?;
    writer.write(1);
    mark();
    writer.write(events);
    mark();
    writer.finish(file)
}

/// Keeps this thread on its processor: the first event on another one takes a buffer, which is counted.
fn stay() -> Result<(), String> {
    let failed = || format!("cannot stay on a processor: {}", std::io::Error::last_os_error());
    // SAFETY: the function has no arguments.
    let processor = unsafe { libc::sched_getcpu() };
    let processor = usize::try_from(processor).map_err(|_| failed())?;
    // SAFETY: all bytes are zero, which is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the function does nothing if the set has no room for the number.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the set is valid and has this size.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    if result == 0 { Ok(()) } else { Err(failed()) }
}

/// Creates a file of about this many bytes.
#[expect(clippy::indexing_slicing, reason = "assigning to a key of a JSON object adds it")]
pub(super) fn generate(bytes: u64, file: &Path) -> Result<Value, String> {
    const AT_ONCE: u64 = 10_000;
    let writer = Writer::new(file, Overflow::Wait)?;
    let mut written = 0;
    while u64::from(writer.session.status().status.buffers_written) * u64::from(BUFFER_KIB) * 1024 < bytes {
        writer.write(AT_ONCE);
        written += AT_ONCE;
    }
    let mut result = writer.finish(file)?;
    result["written"] = json!(written);
    Ok(result)
}
