//! What a file session costs: `cargo run --release -p etw-engine --example file_rate -- [EVENTS [THREADS [FILE]]]`.
//!
//! Writes TraceLogging events with a `u32`, a `u64` and a counted text of 16 bytes, as a provider with descriptor types
//! does, and prints nanoseconds of wall time for each, the rate, and what became of the events. The file stays where one
//! is named; `-` keeps the events in memory, which shows what writers do without waiting for a disk.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use etw_engine::{Block, Enable, Engine, EngineOptions, EventWrite, Overflow, Properties};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level};

const TRAITS: &[u8] = b"\x0b\x00MyDriver\x00";

/// Nanoseconds that the calling thread has run, where the system tells.
fn thread_time() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let events: u32 = arguments.next().map_or(Ok(2_000_000), |text| text.parse())?;
    let threads: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let kept = arguments.next().map(PathBuf::from);
    let path = kept.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("rate-{}.etl", std::process::id())));

    let in_memory = kept.as_deref() == Some(Path::new("-"));
    let properties = if in_memory { Properties::buffering("rate") } else { Properties::file("rate", &path) };
    let properties = Properties { minimum_buffers: 64, maximum_buffers: 64, overflow: Overflow::Wait, ..properties };

    let engine = Engine::with_options(EngineOptions { record_calls: false, ..EngineOptions::default() });
    let provider = Guid::from_name("MyDriver");
    let handle = engine.register(provider, None, |_| {}).map_err(|status| format!("{status:?}"))?;
    engine.set_information(handle, EventInfoClass::SetTraits, TRAITS);
    let session = engine.start(&properties).map_err(|error| format!("{error:?}"))?;
    session.enable(provider, Enable::default());

    let (mut metadata, mut payload) = ([0; 128], [0; 128]);
    let builder = EventBuilder::new(&mut metadata, &mut payload, "Read", 0);
    let (metadata, _) = builder.u32("Length", 0).u64("Offset", 0).str8("File", "sixteen bytes...").finish()?;
    let started = Instant::now();
    let busy: Option<u64> = thread::scope(|scope| {
        let writer = || {
            scope.spawn(|| {
                let before = thread_time();
                let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1));
                let event = EventWrite::new(handle, descriptor.with_channel(Channel::TraceLogging));
                for number in 0..events {
                    let (length, offset) = (number.to_le_bytes(), (u64::from(number) << 9).to_le_bytes());
                    let blocks = [
                        Block::with_kind(TRAITS, DataKind::ProviderMetadata),
                        Block::with_kind(metadata, DataKind::EventMetadata),
                        Block::data(&length),
                        Block::data(&offset),
                        Block::data(&[16, 0]),
                        Block::data(b"sixteen bytes..."),
                    ];
                    engine.write(&event, &blocks);
                }
                Some(thread_time()? - before?)
            })
        };
        let writers: Vec<_> = (0..threads).map(|_| writer()).collect();
        writers.into_iter().map(|writer| writer.join().ok().flatten()).sum()
    });
    let written = started.elapsed();
    let status = session.finish().map_err(|error| format!("{error:?}"))?;
    let finished = started.elapsed();
    let total = f64::from(events) * f64::from(threads);
    let bytes = path.metadata().map_or(0, |file| file.len());
    println!(
        "{threads} threads: {:.0} ns an event ({:.2} million a second), {:.0} ns with the end of the session, {bytes} bytes",
        written.as_secs_f64() * 1e9 / total,
        total / written.as_secs_f64() / 1e6,
        finished.as_secs_f64() * 1e9 / total,
    );
    if let Some(busy) = busy {
        println!("{} ns an event of the writers' own time", busy / (u64::from(events) * u64::from(threads)).max(1));
    }
    println!("{:?}", status.statistics);
    if kept.is_none() && !in_memory {
        std::fs::remove_file(&path)?;
    }
    Ok(())
}
