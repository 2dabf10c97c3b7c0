//! What writing an event costs: `cargo run --release -p etw-engine --example write_cost`.
//!
//! Prints nanoseconds of wall time for each event, with nobody listening, to a session in memory that overwrites its
//! oldest buffers (nothing is lost, no disk is measured), and to a session that captures for a test.

use std::thread;
use std::time::Instant;

use etw_engine::{Block, Enable, Engine, EngineOptions, EventWrite, Properties, Session, SessionOptions};
use etw_types::{EventDescriptor, Guid, Keyword, Level};

const EVENTS: u32 = 500_000;

fn measure(name: &str, threads: u32, start: impl Fn(&Engine) -> Option<Session>) {
    let engine = Engine::with_options(EngineOptions { record_calls: false, ..EngineOptions::default() });
    let provider = Guid::from_name("Write-Cost");
    let Ok(handle) = engine.register(provider, None, |_| {}) else {
        return;
    };
    if let Some(session) = start(&engine) {
        session.enable(provider, Enable::default());
    }
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let event = EventWrite::new(handle, EventDescriptor::new(Level::Informational, Keyword::from_bits(1)));
                let payload = [1; 16];
                for _ in 0..EVENTS {
                    engine.write(&event, [Block::data(&payload)].as_slice());
                }
            });
        }
    });
    let cost = started.elapsed().as_nanos() / (u128::from(threads) * u128::from(EVENTS));
    println!("{name}, {threads} threads: {cost} ns");
}

fn main() {
    for threads in [1, 2, 4] {
        measure("nobody listens", threads, |_| None);
        measure("buffers in memory", threads, |engine| {
            engine.start(&Properties { minimum_buffers: 16, ..Properties::buffering("cost") }).ok()
        });
        measure("captured for a test", threads, |engine| {
            Some(engine.start_session_with("cost", SessionOptions { capacity: 1 << 22, ..SessionOptions::default() }))
        });
    }
}
