//! Arguments of commands that read trace files.

use std::path::PathBuf;

use clap::Args;
use etw_types::Level;

use crate::select::Condition;
use crate::values::{self, LEVELS, Moment, Provider};
use command_line::Words;

const TWICE: &str = "A trace is read twice, first for the order of its buffers and for schemas, which may be at its end, then for its \
                     events; standard input is copied to a temporary file for it.";
const EVERYWHERE: &str = "Works on every system, on traces of any system.";

/// Files that describe events.
#[derive(Debug, Args)]
#[command(next_help_heading = "Schemas")]
pub(crate) struct SchemaFiles {
    /// Describe events by a manifest (.man), a binary with a `WEVT_TEMPLATE` resource (.sys, .dll, .exe), or a folder of them; repeatable
    #[arg(long = "manifest", value_name = "FILE|DIR")]
    pub(crate) manifests: Vec<PathBuf>,
    /// Describe WPP messages by a trace message format file (.tmf), or a folder of them; repeatable
    #[arg(long = "tmf", value_name = "FILE|DIR")]
    pub(crate) tmf: Vec<PathBuf>,
    /// Describe WPP messages, and name functions and lines of stacks, by a program database (.pdb), or a folder of them; repeatable
    #[arg(long = "pdb", value_name = "FILE|DIR")]
    pub(crate) pdbs: Vec<PathBuf>,
}

/// Which events are wanted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Selected {
    /// Only events of this provider, by GUID or name; repeatable
    #[arg(long = "provider", value_name = "PROVIDER")]
    pub(crate) providers: Vec<Provider>,
    /// Only events up to this level, by name or number
    #[arg(long, value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) level: Option<Level>,
    /// Only events with NAME=VALUE, !=, <, <=, >, >= or ~ (contains); repeatable
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    pub(crate) conditions: Vec<Condition>,
    /// Only events from this moment on: +2s or +150ms after the start of the trace, or a time in UTC such as 2026-11-15T13:05:00Z
    #[arg(long, value_name = "MOMENT", value_parser = values::moment)]
    pub(crate) from: Option<Moment>,
    /// Only events before this moment
    #[arg(long, value_name = "MOMENT", value_parser = values::moment)]
    pub(crate) to: Option<Moment>,
}

/// The form of events, if it is not JSON.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Form")]
#[group(multiple = false)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, and only one of them may be there"
)]
pub(crate) struct Formats {
    /// A line for each event (default, unless the output is a terminal)
    #[arg(long)]
    pub(crate) text: bool,
    /// Relative times, activities with brackets, fields in columns, fitted to the terminal (default on a terminal)
    #[arg(long)]
    pub(crate) table: bool,
    /// Comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
    /// One document for Chrome's and Perfetto's viewers
    #[arg(long)]
    pub(crate) chrome: bool,
    /// A page that shows the trace in a browser; the first 100,000 events
    #[arg(long)]
    pub(crate) html: bool,
    /// A folder of Parquet files with typed columns, one for each kind of event, for `DuckDB`, Polars or Spark
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,
    /// The packets that ndiscap (netsh trace) or `PktMon` captured, for Wireshark
    #[arg(long)]
    pub(crate) pcapng: bool,
}

/// `decode`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "A NAME is event, provider, id, level, opcode, task, keyword, pid, tid, cpu, kind or a field, with dots into structs.\n\
     With --json, events are JSON Lines.\n\
     {TWICE}\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl decode trace.etl --level warning\n  etwctl decode trace.etl --where 'Status~NOT_' --json\n  \
     etwctl decode trace.etl --from +2s --to +2500ms --table\n  etwctl decode one.etl two.etl --json\n  \
     xz -dc trace.etl.xz | etwctl decode -\n  etwctl decode trace.etl --html --output trace.html\n  \
     etwctl decode trace.etl --parquet trace && duckdb -c \"SELECT event, count(*) FROM read_parquet('trace/*.parquet', union_by_name = true) GROUP BY event\""
))]
pub(crate) struct Decode {
    /// .etl files, whose events are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Go on with what is written to the file, until Ctrl-C; events of one moment may come in another order than without
    #[arg(long)]
    pub(crate) follow: bool,
    /// Write to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) formats: Formats,
    #[command(flatten)]
    pub(crate) selected: Selected,
    /// At most so many events
    #[arg(long, value_name = "N", help_heading = "Selection")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `stats`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "An event is named if a schema is found for it, and whole if the schema accounts for every byte of its data.\n{EVERYWHERE}"
))]
pub(crate) struct Stats {
    /// An .etl file; - is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `activities`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "A start and a stop are an activity if they have one activity id, or if they nest on one thread. A start whose stop \
     is not in the trace is counted as open. Times are in microseconds; percentiles are durations that occurred.\n{EVERYWHERE}"
))]
pub(crate) struct Activities {
    /// .etl files, whose events are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Each activity below the one that it came from
    #[arg(long)]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `stacks`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "A line is a process, its frames from the outermost to the innermost, the event, and how often. Frames are named by \
     the image events of the trace, and with --pdb by functions and lines. With --json, a line is a JSON object. {EVERYWHERE}\n\n\
     Example:\n  etwctl stacks trace.etl --output folded.txt && flamegraph.pl folded.txt > flames.svg"
))]
pub(crate) struct Stacks {
    /// .etl files, whose events are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `schema`.
#[derive(Debug, Args)]
#[command(after_help = EVERYWHERE)]
pub(crate) struct Schema {
    /// A manifest (.man) or a binary (.sys, .dll, .exe)
    pub(crate) file: PathBuf,
    /// Only this provider; repeatable
    #[arg(long = "provider", value_name = "NAME")]
    pub(crate) providers: Vec<String>,
}
