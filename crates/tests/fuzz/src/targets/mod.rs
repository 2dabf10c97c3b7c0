//! The targets: functions that do everything that can be done with some bytes.
//!
//! A target returns for every input. It panics where a promise is broken, and each file names the promises it holds to.

mod broken;
mod etl;
mod guid;
mod inf;
mod loader;
mod manifest;
mod map;
mod pdb;
mod pe;
mod record;
mod schema;
mod tracelogging;
mod traits;
mod unwind;

/// Something to be fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line, and that of its folder in the corpus.
    pub name: &'static str,
    /// What is exercised, in a few words.
    pub summary: &'static str,
    /// Folders with seeds besides its own, relative to this crate's.
    pub seeds: &'static [&'static str],
    /// Longest input that is worth trying.
    pub max_len: usize,
    /// Takes any bytes; panics when a promise is broken.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 13] = [
    Target {
        name: "etl",
        summary: "trace files: reader, decoder and all exports",
        seeds: &["../../host/etw-etl/tests/corpus"],
        max_len: 64 * 1024,
        run: etl::run,
    },
    Target {
        name: "record",
        summary: "records of a running session: events, items, stacks and all exports",
        seeds: &[],
        max_len: 4096,
        run: record::run,
    },
    Target {
        name: "manifest",
        summary: "descriptions of events: manifests, WEVT_TEMPLATE resources, binaries",
        seeds: &["corpus/pe"],
        max_len: 16 * 1024,
        run: manifest::run,
    },
    Target {
        name: "schema",
        summary: "TRACE_EVENT_INFO and payloads: schemas, decoding by them and by the kernel's classes",
        seeds: &[],
        max_len: 4096,
        run: schema::run,
    },
    Target {
        name: "tracelogging",
        summary: "event metadata and payload: decoder, and encoding anew",
        seeds: &[],
        max_len: 4096,
        run: tracelogging::run,
    },
    Target {
        name: "traits",
        summary: "provider traits: validation, records, builder",
        seeds: &[],
        max_len: 1024,
        run: traits::run,
    },
    Target { name: "guid", summary: "GUIDs: text, bytes and names", seeds: &[], max_len: 256, run: guid::run },
    Target {
        name: "pe",
        summary: "driver images: model, verdict and reports",
        seeds: &[],
        max_len: 16 * 1024,
        run: pe::run,
    },
    Target {
        name: "loader",
        summary: "driver images: the plan by which nt-host maps one",
        seeds: &["corpus/pe"],
        max_len: 16 * 1024,
        run: loader::run,
    },
    Target {
        name: "unwind",
        summary: "unwind tables: callers, epilogs, chains",
        seeds: &[],
        max_len: 2048,
        run: unwind::run,
    },
    Target {
        name: "pdb",
        summary: "PDBs: streams, functions, lines and inlined calls",
        seeds: &[],
        max_len: 16 * 1024,
        run: pdb::run,
    },
    Target { name: "map", summary: "linkers' maps: the entry point", seeds: &[], max_len: 4096, run: map::run },
    Target {
        name: "inf",
        summary: "INF files: text, sections, rules, devices",
        seeds: &[],
        max_len: 4096,
        run: inf::run,
    },
];

/// Targets that break on purpose, to see what becomes of a finding; no list shows them.
pub const BROKEN: [Target; 2] = [
    Target { name: "broken-panic", summary: "panics", seeds: &[], max_len: 64, run: broken::panic },
    Target { name: "broken-abort", summary: "dies", seeds: &[], max_len: 64, run: broken::abort },
];

impl Target {
    /// The target of that name, one of [`BROKEN`] included.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        const ALL: [&[Target]; 2] = [&TARGETS, &BROKEN];
        ALL.into_iter().flatten().find(|target| target.name == name)
    }
}
