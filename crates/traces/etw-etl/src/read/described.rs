//! What several traces of one machine say about each other's events.
//!
//! The events of one session can name what another session's events refer to: a kernel session has the processes of a user-mode
//! session, and only the first and the last of numbered files have rundowns.

use std::io::{Read, Seek};
use std::sync::Arc;

use super::Reader;
use super::owners::{RecentThreads, Threads};
use crate::images::Images;
use crate::methods::Methods;
use crate::names::TraceNames;
use crate::time::Clock;

/// Names, images, methods and threads, with time stamps of one clock.
#[derive(Debug, Default)]
struct Described {
    names: TraceNames,
    images: Images,
    methods: Methods,
    threads: Threads,
}

impl Described {
    fn add<R>(&mut self, reader: &Reader<R>, to: &Clock) {
        let same = |stamp| stamp;
        let converted = |stamp| to.stamp(reader.clock.time(stamp));
        let stamp: &dyn Fn(u64) -> u64 = if to.counts_as(&reader.clock) { &same } else { &converted };
        self.names.absorb(&reader.names, stamp);
        self.images.absorb(&reader.images, stamp);
        self.methods.absorb(&reader.methods, stamp);
        self.threads.absorb(&reader.threads.all, stamp);
    }

    fn sort(&mut self) {
        self.names.sort();
        self.images.sort();
        self.methods.sort();
        self.threads.sort();
    }
}

/// Shares names, images, methods and threads among the traces of each machine that were recorded since the same start of it, as
/// [`is_same_boot`](crate::format::logfile::LogfileHeader::is_same_boot) tells. Call this once, before any event is read.
///
/// ```
/// use etw_etl::{Clock, EventData, Reader, Writer, WriterOptions, share};
///
/// let paths = ["kernel", "user"].map(|name| std::env::temp_dir().join(format!("etw-etl-{name}-{}.etl", std::process::id())));
/// let options = || WriterOptions { boot_time: Clock::default().start, ..WriterOptions::default() };
/// for path in &paths {
///     Writer::create(path, options())?.close()?;
/// }
/// let mut readers = paths.iter().map(Reader::open).collect::<Result<Vec<_>, _>>()?;
/// share(readers.iter_mut());
/// # paths.iter().try_for_each(std::fs::remove_file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn share<'a, R: Read + Seek + 'a>(readers: impl IntoIterator<Item = &'a mut Reader<R>>) {
    let mut readers: Vec<_> = readers.into_iter().collect();
    let mut shared: Vec<Option<Parts>> = readers.iter().map(|_| None).collect();
    for place in 0..readers.len() {
        let Some(reader) = readers.get(place) else { continue };
        let others = || readers.iter().filter(|other| other.header.is_same_boot(&reader.header));
        if others().count() < 2 || shared.get(place).is_none_or(Option::is_some) {
            continue;
        }
        let mut all = Described::default();
        others().for_each(|other| all.add(other, &reader.clock));
        all.sort();
        let parts = Parts::from(all);
        for (place, other) in shared.iter_mut().zip(&readers) {
            if other.header.is_same_boot(&reader.header) && other.clock.counts_as(&reader.clock) {
                *place = Some(parts.clone());
            }
        }
    }
    for (reader, parts) in readers.iter_mut().zip(shared) {
        let Some(parts) = parts else { continue };
        reader.names = parts.names;
        reader.images = parts.images;
        reader.methods = parts.methods;
        reader.threads = RecentThreads::new(parts.threads);
    }
}

/// What the readers of one clock share.
#[derive(Clone, Debug)]
struct Parts {
    names: Arc<TraceNames>,
    images: Arc<Images>,
    methods: Arc<Methods>,
    threads: Arc<Threads>,
}

impl From<Described> for Parts {
    fn from(all: Described) -> Self {
        Self {
            names: Arc::new(all.names),
            images: Arc::new(all.images),
            methods: Arc::new(all.methods),
            threads: Arc::new(all.threads),
        }
    }
}
