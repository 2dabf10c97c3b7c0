//! `EVENT_TRACE_*_MODE`: the bits of a session's `LogFileMode`.

/// No mode. If there is a file, it is sequential.
pub const NONE: u32 = 0x0000_0000;
/// A file to which nothing more is written when it is full.
pub const SEQUENTIAL: u32 = 0x0000_0001;
/// A file whose oldest buffers are overwritten when it is full.
pub const CIRCULAR: u32 = 0x0000_0002;
/// Appends to a sequential file.
pub const APPEND: u32 = 0x0000_0004;
/// Starts a new file when the current one is full.
pub const NEWFILE: u32 = 0x0000_0008;
/// The flush timer is in milliseconds.
pub const USE_MS_FLUSH_TIMER: u32 = 0x0000_0010;
/// Reserves the maximum size of the file at the start.
pub const PREALLOCATE: u32 = 0x0000_0020;
/// A session that cannot be stopped; only for autologgers.
pub const NONSTOPPABLE: u32 = 0x0000_0040;
/// Only its owner may log to the session.
pub const SECURE: u32 = 0x0000_0080;
/// Delivers to consumers in real time.
pub const REAL_TIME: u32 = 0x0000_0100;
/// Opens the file late. Not used.
pub const DELAY_OPEN_FILE: u32 = 0x0000_0200;
/// Keeps events in memory only and overwrites the oldest ones.
pub const BUFFERING: u32 = 0x0000_0400;
/// A session within a process.
pub const PRIVATE_LOGGER: u32 = 0x0000_0800;
/// Adds a header. Not used.
pub const ADD_HEADER: u32 = 0x0000_1000;
/// File sizes are in KiB.
pub const USE_KBYTES_FOR_SIZE: u32 = 0x0000_2000;
/// Sequence numbers that all sessions share.
pub const USE_GLOBAL_SEQUENCE: u32 = 0x0000_4000;
/// Sequence numbers that only this session uses.
pub const USE_LOCAL_SEQUENCE: u32 = 0x0000_8000;
/// For relogging. Not used.
pub const RELOG: u32 = 0x0001_0000;
/// A private session of its own process; only with [`PRIVATE_LOGGER`].
pub const PRIVATE_IN_PROC: u32 = 0x0002_0000;
/// Stops at a hybrid shutdown.
pub const STOP_ON_HYBRID_SHUTDOWN: u32 = 0x0040_0000;
/// Continues through a hybrid shutdown.
pub const PERSIST_ON_HYBRID_SHUTDOWN: u32 = 0x0080_0000;
/// Buffers in paged memory.
pub const USE_PAGED_MEMORY: u32 = 0x0100_0000;
/// Collects events of the system providers.
pub const SYSTEM_LOGGER: u32 = 0x0200_0000;
/// Compressed buffers. Declared in the header file, but not documented.
pub const COMPRESSED: u32 = 0x0400_0000;
/// One set of buffers for all processors.
pub const NO_PER_PROCESSOR_BUFFERING: u32 = 0x1000_0000;
/// The session is not affected by the failures of other sessions.
pub const INDEPENDENT_SESSION: u32 = 0x0800_0000;

/// The modes that need a log file.
pub const FILE_MODES: u32 = SEQUENTIAL | CIRCULAR | APPEND | NEWFILE | PREALLOCATE;

/// Modes that a session cannot have together.
struct Conflict {
    modes: u32,
    /// No session has one of these bits and one of `modes`.
    excluded: u32,
    rule: &'static str,
}

/// Modes that exclude each other, and modes that `StartTrace` rejects, which exclude everything (Microsoft's page
/// "Logging Mode Constants").
const CONFLICTS: &[Conflict] = &[
    Conflict {
        modes: SEQUENTIAL,
        excluded: CIRCULAR | NEWFILE,
        rule: "a sequential file cannot be circular or numbered",
    },
    Conflict { modes: CIRCULAR, excluded: APPEND | NEWFILE, rule: "a circular file cannot be appended to or numbered" },
    Conflict {
        modes: APPEND,
        excluded: REAL_TIME | NEWFILE | PRIVATE_LOGGER,
        rule: "appending excludes real time, numbered files and private sessions",
    },
    Conflict { modes: BUFFERING, excluded: FILE_MODES | REAL_TIME, rule: "buffering excludes files and real time" },
    Conflict {
        modes: PRIVATE_LOGGER,
        excluded: REAL_TIME | INDEPENDENT_SESSION | PREALLOCATE,
        rule: "a private session excludes real time, independence and preallocation",
    },
    Conflict {
        modes: USE_GLOBAL_SEQUENCE,
        excluded: USE_LOCAL_SEQUENCE,
        rule: "sequence numbers cannot be both global and local",
    },
    Conflict { modes: NONSTOPPABLE, excluded: u32::MAX, rule: "only an autologger can be unstoppable" },
    Conflict {
        modes: DELAY_OPEN_FILE | ADD_HEADER | RELOG,
        excluded: u32::MAX,
        rule: "the modes for delayed opening, added headers and relogging cannot be used to start a session",
    },
];

/// Returns the rule that `modes` violate, as a sentence, or `None`.
#[must_use]
pub fn conflict(modes: u32) -> Option<&'static str> {
    let broken = CONFLICTS.iter().find(|conflict| modes & conflict.modes != 0 && modes & conflict.excluded != 0);
    broken.map(|conflict| conflict.rule)
}

/// The names that this project's tools give to the modes.
pub const NAMES: &[(&str, u32)] = &[
    ("sequential", SEQUENTIAL),
    ("circular", CIRCULAR),
    ("append", APPEND),
    ("numbered", NEWFILE),
    ("ms-flush-timer", USE_MS_FLUSH_TIMER),
    ("preallocate", PREALLOCATE),
    ("nonstoppable", NONSTOPPABLE),
    ("secure", SECURE),
    ("real-time", REAL_TIME),
    ("buffering", BUFFERING),
    ("private", PRIVATE_LOGGER),
    ("kbytes", USE_KBYTES_FOR_SIZE),
    ("global-sequence", USE_GLOBAL_SEQUENCE),
    ("local-sequence", USE_LOCAL_SEQUENCE),
    ("in-process", PRIVATE_IN_PROC),
    ("stop-on-hybrid-shutdown", STOP_ON_HYBRID_SHUTDOWN),
    ("persist-on-hybrid-shutdown", PERSIST_ON_HYBRID_SHUTDOWN),
    ("paged-memory", USE_PAGED_MEMORY),
    ("system", SYSTEM_LOGGER),
    ("compressed", COMPRESSED),
    ("independent", INDEPENDENT_SESSION),
    ("no-per-processor-buffers", NO_PER_PROCESSOR_BUFFERING),
];
