//! Arguments of commands that read trace files.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use etw_types::Level;

use super::Formats;
use crate::select::Expression;
use crate::values::{self, LEVELS, Moment, Provider};
use command_line::{OutputPath, Words};

const TWICE: &str = "A trace is read twice: first for the order of its buffers and for schemas, which can be at its end, then for its \
                     events. Standard input is copied to a temporary file for this.";
const EVERYWHERE: &str = "This works on every system, for traces of any system.";

/// Files that describe events.
#[derive(Debug, Args)]
#[command(next_help_heading = "Schemas")]
pub(crate) struct SchemaFiles {
    /// Decode events with a manifest (.man), a binary with a `WEVT_TEMPLATE` resource (.sys, .dll, .exe), or a folder of them; repeatable
    #[arg(long = "manifest", value_name = "FILE|DIR")]
    pub(crate) manifests: Vec<PathBuf>,
    /// Decode WPP messages with a trace message format file (.tmf), or a folder of them; repeatable
    #[arg(long = "tmf", value_name = "FILE|DIR")]
    pub(crate) tmf: Vec<PathBuf>,
    /// Decode WPP messages, and show functions and lines in stacks, with a program database (.pdb), or a folder of them; repeatable
    #[arg(long = "pdb", value_name = "FILE|DIR")]
    pub(crate) pdbs: Vec<PathBuf>,
    /// Show functions and lines in stacks, with a symbol store or a symbol path (default: the folders of `_NT_SYMBOL_PATH`); repeatable
    #[arg(long = "symbols", value_name = "DIR|PATH")]
    pub(crate) symbols: Vec<PathBuf>,
}

/// Which events to select.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Selected {
    /// Only events of this provider, by GUID or name; repeatable
    #[arg(long = "provider", value_name = "PROVIDER")]
    pub(crate) providers: Vec<Provider>,
    /// Only events up to this level, by name or number
    #[arg(long, value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) level: Option<Level>,
    /// Only events with this name; repeatable
    #[arg(long = "event", value_name = "NAME")]
    pub(crate) events: Vec<String>,
    /// Only events for which this holds: NAME=VALUE, also with !=, <, <=, >, >=, ~ (contains) or !~, joined by and, or, not and parentheses; repeatable, all must hold
    #[arg(long = "where", value_name = "EXPRESSION", value_parser = Expression::parse)]
    pub(crate) conditions: Vec<Expression>,
    /// Only events from this time on: after the start of the trace, such as +2s or +150ms, or in UTC, such as 2026-11-15T13:05:00Z
    #[arg(long, value_name = "MOMENT", value_parser = values::moment)]
    pub(crate) from: Option<Moment>,
    /// Only events before this time
    #[arg(long, value_name = "MOMENT", value_parser = values::moment)]
    pub(crate) to: Option<Moment>,
}

/// `decode`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "A NAME is event, provider, id, level, opcode, task, keyword, pid, tid, cpu, kind, process, command_line, thread, file, key, \
     message or the name of a field; a dot leads to a member of a struct. field.NAME is a field whose name one of these has, too. level and \
     opcode have names: level <= warning, opcode = start. Numbers may have a size's unit, such as 64KiB.\n\
     With --csv and one --event, each field of the event has a column.\n\
     With --json, events are JSON Lines.\n\
     {TWICE}\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl decode trace.etl --level warning\n  etwctl decode trace.etl --where 'Status~NOT_' --json\n  \
     etwctl decode trace.etl --where 'pid = 4 and (TransferSize > 64KiB or not file ~ pagefile)'\n  \
     etwctl decode trace.etl --from +2s --to +2500ms --table\n  etwctl decode one.etl two.etl --json\n  \
     xz -dc trace.etl.xz | etwctl decode -\n  etwctl decode trace.etl --html --output trace.html\n  \
     etwctl decode trace.etl --parquet trace && duckdb -c \"SELECT event, count(*) FROM read_parquet('trace/*.parquet', union_by_name = true) GROUP BY event\""
))]
pub(crate) struct Decode {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Wait for more events at the end of the file, until Ctrl-C; the order of events at about the same time can differ
    #[arg(long)]
    pub(crate) follow: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<OutputPath>,
    #[command(flatten)]
    pub(crate) formats: Formats,
    #[command(flatten)]
    pub(crate) selected: Selected,
    /// At most this many events
    #[arg(long, value_name = "N", help_heading = "Selection")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `trim`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "Events that describe others are always kept: processes, threads, images, names, schemas, definitions of stacks. Several traces must be \
     of one machine, without a restart between them.\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl trim trace.etl --from +2s --to +2500ms --output part.etl\n  etwctl trim kernel.etl user.etl --output all.etl"
))]
pub(crate) struct Trim {
    /// .etl files; the events of several files are merged by time
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The new .etl file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: OutputPath,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `stats`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "An event is named if there is a schema for it, and whole if the schema describes every byte of its data.\n{EVERYWHERE}"
))]
pub(crate) struct Stats {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `top`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "Times are in milliseconds; - means that the trace cannot tell. percent is the share of the first column of numbers. With --json, all \
     rows are written.\n\
     A selection chooses what is shown and never changes how it is measured: every event is read. An operation is selected by the event \
     that it begins with, a disk transfer by its only event. A time of a thread has the names process, pid, tid, thread, command_line and cpu. With \
     --from and --to, events in the range count, and times with their part in the range.\n\
     Run times of all threads, of Idle, and of (unknown), where the trace does not tell who ran, are the number of processors times the \
     duration from the first event to the last one, without rundowns. A thread waits until its next run or the end of the trace.\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl top trace.etl --by cpu\n  etwctl top trace.etl --by cpu --per function --pdb symbols\n  \
     etwctl top trace.etl --by disk --where 'process = MyService.exe'"
))]
pub(crate) struct Top {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What to summarise
    #[arg(long, value_enum, default_value_t = Topic::Cpu)]
    pub(crate) by: Topic,
    /// The rows of --by cpu
    #[arg(long, value_enum, default_value_t)]
    pub(crate) per: Per,
    /// At most this many rows (default: 25)
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `processes`.
#[derive(Debug, Args)]
#[command(after_help = format!("The trace must have process events of the kernel. A process without a start was there before.\n{EVERYWHERE}"))]
pub(crate) struct Processes {
    /// .etl files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// `activities`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "A start and a stop event form an activity if they have the same activity id, or if they nest on one thread. A start without \
     a stop in the trace is counted as open; with --tree its duration is -. A selection chooses activities by their start. Times are in \
     milliseconds. A percentile is one of the measured durations.\n{EVERYWHERE}"
))]
pub(crate) struct Activities {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Show a tree: each activity below its related activity
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
    "Each line has a process, the frames from the outermost to the innermost, the event, and a count. Frames are shown as image \
     and offset if the trace has image events, and with --pdb as functions and lines. With --json, each line is a JSON object. \
     {EVERYWHERE}\n\n\
     Example:\n  etwctl stacks trace.etl --output folded.txt && flamegraph.pl folded.txt > flames.svg"
))]
pub(crate) struct Stacks {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<OutputPath>,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `flame`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "The samples of the processor are drawn, or all stacks if the trace has no stack of a sample. --where, --from and --to choose among \
     them. --event and --provider draw the stacks of other events. Managed functions are named by the method events of the .NET runtime, others with --pdb.\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl flame trace.etl --output cpu.svg\n  etwctl flame trace.etl --where 'process = a.exe' --output a.svg\n  \
     etwctl flame trace.etl --event CSwitch --output switches.svg"
))]
pub(crate) struct Flame {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write folded stacks instead of a picture
    #[arg(long)]
    pub(crate) folded: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<OutputPath>,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `profile`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "{EVERYWHERE}\n\nExamples:\n  etwctl profile trace.etl --output trace.json      # open it at https://profiler.firefox.com\n  \
     etwctl profile trace.etl --format pprof --output trace.pb && pprof -http : trace.pb"
))]
pub(crate) struct Profile {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ProfileFormat,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<OutputPath>,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `compare`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "Ignores times, processes, threads, processors and stacks, fields that hold a time, a process, a thread or a code address, \
     addresses in events of the kernel, and records of the session itself. Compares activity ids by the events that share them.\n\
     The exit code is 3 if the traces differ, and 4 if there was nothing to compare.\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl compare windows.etl nt-host.etl --provider MyDriver\n  \
     etwctl compare windows.etl nt-host.etl --where 'event!=Tick' --ignore RegistryPath --json"
))]
pub(crate) struct Compare {
    /// The first .etl file; - is standard input
    #[arg(value_name = "FIRST")]
    pub(crate) first: PathBuf,
    /// The second .etl file
    #[arg(value_name = "SECOND")]
    pub(crate) second: PathBuf,
    /// Leave out fields of this name; Outer.Inner is a member of a struct; repeatable
    #[arg(long = "ignore", value_name = "FIELD")]
    pub(crate) ignored: Vec<String>,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `export`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "Events are logs, and activities with a start and a stop are spans. A file has one request per line, as the file receiver of the \
     OpenTelemetry collector reads it.\n{EVERYWHERE}\n\n\
     Examples:\n  etwctl export trace.etl --otlp trace.jsonl\n  etwctl export trace.etl --level warning --otlp http://localhost:4318"
))]
pub(crate) struct Export {
    /// .etl files; the events of several files are merged by time; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A file, or the address of a collector that takes HTTP, such as `http://localhost:4318`
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) otlp: String,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// `schema`.
#[derive(Debug, Args)]
#[command(after_help = EVERYWHERE)]
pub(crate) struct Schema {
    /// A manifest (.man) or a binary with a `WEVT_TEMPLATE` resource (.sys, .dll, .exe)
    pub(crate) file: PathBuf,
    /// Only events of the provider with this name; repeatable
    #[arg(long = "provider", value_name = "NAME")]
    pub(crate) providers: Vec<String>,
}

/// The format of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// For <https://profiler.firefox.com>: samples, events as markers, processes and threads
    #[default]
    Firefox,
    /// For pprof and Speedscope: samples only
    Pprof,
}

/// What to summarise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topic {
    /// Processor time, from samples and context switches
    Cpu,
    /// Transfers of disks
    Disk,
    /// Operations on files
    File,
    /// Hard page faults
    Memory,
    /// Operations on registry keys
    Registry,
    /// TCP and UDP
    Network,
    /// Loaded images
    Images,
    /// Interrupts and deferred procedure calls
    Dpc,
    /// Allocations of heaps and of the .NET runtime
    Heap,
    /// Pauses of garbage collections
    Gc,
}

/// The rows of processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Per {
    /// One row per process
    #[default]
    Process,
    /// One row per thread
    Thread,
    /// One row per module, from samples
    Module,
    /// One row per function, from samples; functions need --pdb
    Function,
}
