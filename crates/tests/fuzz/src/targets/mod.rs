//! The targets: functions that do everything that can be done with some bytes.
//!
//! A target returns for every input. It panics where a promise is broken, and each file names the promises it holds to.

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

/// A name, which libFuzzer's entry and the folder of the corpus share, and the function: takes any bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 13] = [
    // Trace files: reader, decoder and all exports.
    ("etl", etl::run),
    // Records of a running session: events, items, stacks and all exports.
    ("record", record::run),
    // Descriptions of events: manifests, WEVT_TEMPLATE resources, binaries.
    ("manifest", manifest::run),
    // TRACE_EVENT_INFO and payloads: schemas, decoding by them and by the kernel's classes.
    ("schema", schema::run),
    // Event metadata and payload: decoder, and encoding anew.
    ("tracelogging", tracelogging::run),
    // Provider traits: validation, records, builder.
    ("traits", traits::run),
    // GUIDs: text, bytes and names.
    ("guid", guid::run),
    // Driver images: model, verdict and reports.
    ("pe", pe::run),
    // Driver images: the plan by which nt-host maps one.
    ("loader", loader::run),
    // Unwind tables: callers, epilogs, chains.
    ("unwind", unwind::run),
    // PDBs: streams, functions, lines and inlined calls.
    ("pdb", pdb::run),
    // Linkers' maps: the entry point.
    ("map", map::run),
    // INF files: text, sections, rules, devices.
    ("inf", inf::run),
];
