//! The targets: functions that call the code under test with the given bytes.
//!
//! A target returns for every input, or panics if a guarantee is broken. The documentation of each file lists its
//! guarantees.

mod compressed;
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

/// A name and a function that takes any bytes. libFuzzer's entry point and the folder of the corpus have the same
/// name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 14] = [
    // Trace files: reader, decoder and all exports.
    ("etl", etl::run),
    // Compressed buffers: three formats, kept and read again.
    ("compressed", compressed::run),
    // Records of a running session: events, items, stacks and all exports.
    ("record", record::run),
    // Descriptions of events: manifests, WEVT_TEMPLATE resources, binaries.
    ("manifest", manifest::run),
    // TRACE_EVENT_INFO and payloads: schemas, decoding by them and by the kernel's classes.
    ("schema", schema::run),
    // Event metadata and payload: decoder and encoder.
    ("tracelogging", tracelogging::run),
    // Provider traits: validation, records, builder.
    ("traits", traits::run),
    // GUIDs: text, bytes and names.
    ("guid", guid::run),
    // Driver images: parser, load rules and reports.
    ("pe", pe::run),
    // Driver images: the layout with which nt-host maps one.
    ("loader", loader::run),
    // Unwind tables: callers, epilogs, chains.
    ("unwind", unwind::run),
    // PDBs: streams, functions, lines and inlined calls.
    ("pdb", pdb::run),
    // Linker maps: the entry point.
    ("map", map::run),
    // INF files: text, sections, rules, devices.
    ("inf", inf::run),
];
