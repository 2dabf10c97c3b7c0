//! How fast a trace is read: `cargo run --release -p etw-etl --example read_rate -- FILE.etl`.
//!
//! Prints megabytes and events a second for four depths: walking over the events, visiting every value without keeping it,
//! decoding into names and values, and exporting JSON Lines to nowhere.

use std::io;
use std::time::Instant;

use etw_etl::{EventRef, Exporter, Format, Reader};
use etw_types::tracelogging::{Field, Value, Visitor};

/// Counts values, as the least that a consumer does with them.
#[derive(Default)]
struct Count(u64);

impl<'a> Visitor<'a> for Count {
    fn value(&mut self, _field: &Field<'a>, _value: Value<'a>) {
        self.0 += 1;
    }
}

/// Seconds that the calling thread has run, where the system tells.
fn thread_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

fn measure(file: &str, name: &str, mut each: impl FnMut(&EventRef<'_>)) -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::fs::metadata(file)?.len();
    let (started, busy) = (Instant::now(), thread_time());
    let mut reader = Reader::open(file)?;
    let mut events = 0_u32;
    while let Some(event) = reader.next_ref() {
        each(&event);
        events += 1;
    }
    let wall = started.elapsed().as_secs_f64();
    // On a busy machine the thread's own time says more.
    let own = thread_time().zip(busy).map_or(wall, |(now, before)| now - before);
    let megabytes = f64::from(u32::try_from(bytes / 1024)?) / 1024.0;
    for (which, seconds) in [("wall", wall), ("own", own)] {
        println!(
            "{name}, {which} time: {:.0} MB a second, {:.2} million events a second, {:.0} ns an event, {events} events",
            megabytes / seconds,
            f64::from(events) / seconds / 1e6,
            seconds * 1e9 / f64::from(events)
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: read_rate FILE.etl")?;
    let mut stamps = 0_u64;
    measure(&file, "walk", |event| stamps = stamps.wrapping_add(event.header.stamp))?;
    let mut count = Count::default();
    measure(&file, "visit", |event| {
        let _ = event.visit(&mut count);
    })?;
    let mut fields = 0;
    measure(&file, "decode", |event| fields += event.decode().fields.len())?;
    let mut exporter = Exporter::new(io::sink(), Format::JsonLines)?;
    let mut failed = None;
    measure(&file, "json", |event| failed = exporter.event_ref(event).err())?;
    failed.map_or(Ok(()), Err)?;
    println!("{} values, {fields} fields, checksum {stamps:x}", count.0);
    Ok(())
}
