//! The command line as types for clap.
//!
//! Parsing, help texts and completions all come from these types. Each value is checked here; combinations of values are checked
//! by the commands.

mod autologger;
mod format;
mod session;
mod storage;
mod trace;

pub(crate) use autologger::{AddAutologger, Autologger, RemoveAutologger};
pub(crate) use format::{Formats, Switch};
pub(crate) use session::{
    Capture, Disable, Doctor, Enable, InfoGet, InfoSet, Listed, Missed, Named, Providers, Record, Requested,
    SessionOptions, Start, Update,
};
pub(crate) use storage::Storage;
pub(crate) use trace::{
    Activities, Compare, Decode, Export, Flame, Per, Processes, Profile, ProfileFormat, Schema, SchemaFiles, Selected,
    Stacks, Stats, Top, Topic, Trim,
};

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use command_line::{VERSION, exit};
use etw_session::Machine;

/// Controls ETW sessions, providers and information classes, and reads traces.
#[derive(Debug, Parser)]
#[command(name = "etwctl", version = VERSION, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Global {
    /// Write JSON instead of tables
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the running sessions, or show one
    Sessions(Listed),
    /// List the registered providers, or show the sessions that enabled one
    Providers(Providers),
    /// Explain why the events of a provider are missing, in running sessions or in a trace file
    Doctor(Doctor),
    /// Start a session
    Start(Start),
    /// Add a session that Windows starts at every boot, or remove it
    #[command(subcommand)]
    Autologger(Autologger),
    /// Change a running session
    Update(Update),
    /// Enable a provider in a session
    Enable(Enable),
    /// Disable a provider in a session
    Disable(Disable),
    /// Ask a provider to log its state (rundown)
    Capture(Capture),
    /// List, get or set information classes
    #[command(subcommand)]
    Info(Info),
    /// Write out the buffers of a session
    Flush(Named),
    /// Stop a session
    Stop(Named),
    /// Start a session, record providers, and stop the session at the end
    Record(Record),
    /// Print the events of trace files
    Decode(Decode),
    /// Write a part of trace files, or several of them, to one .etl file
    Trim(Trim),
    /// Summarise a trace file: events by provider and name, and how many of them have a schema
    Stats(Stats),
    /// Show who used most of the processor, disks, files, memory, registry, network or heaps
    Top(Top),
    /// List the processes of a trace file: names, parents, times, command lines
    Processes(Processes),
    /// Show how long the activities of trace files took, the slowest first
    Activities(Activities),
    /// Write the call stacks of trace files in the folded format of flame graphs
    Stacks(Stacks),
    /// Draw the call stacks of trace files as a flame graph (SVG)
    Flame(Flame),
    /// Convert a trace file to a profile for the Firefox Profiler or pprof
    Profile(Profile),
    /// Compare two traces of the same steps: events, order, fields and statuses, without times
    Compare(Compare),
    /// Send events and activities of trace files to OpenTelemetry
    Export(Export),
    /// Show the events that a manifest or a binary describes
    Schema(Schema),
    /// Keep manifests in a store that every command uses, or list them
    #[command(subcommand)]
    Schemas(Schemas),
    /// Collect many trace files in one dataset of Parquet files
    #[cfg(feature = "parquet")]
    #[command(subcommand)]
    Dataset(Dataset),
    /// Run the commands in a file, or on standard input, in one process
    #[command(after_help = "Without Windows, sessions end with the process: use a batch for several commands.")]
    Batch(Batch),
}

impl Command {
    /// Returns whether the only result is a list or a text on standard output: no verdict, no change of the system, no file.
    pub(crate) fn is_listing(&self) -> bool {
        match self {
            Self::Sessions(_)
            | Self::Providers(_)
            | Self::Info(Info::List | Info::Get(_))
            | Self::Stats(_)
            | Self::Top(_)
            | Self::Processes(_)
            | Self::Activities(_)
            | Self::Schema(_)
            | Self::Schemas(Schemas::List) => true,
            #[cfg(feature = "parquet")]
            Self::Dataset(dataset) => matches!(dataset, Dataset::Schemas(_)),
            Self::Decode(line) => line.output.is_none() && line.formats.parquet.is_none(),
            Self::Stacks(line) => line.output.is_none(),
            Self::Flame(line) => line.output.is_none(),
            Self::Profile(line) => line.output.is_none(),
            Self::Record(line) => line.etl.is_none(),
            Self::Doctor(_)
            | Self::Compare(_)
            | Self::Trim(_)
            | Self::Export(_)
            | Self::Batch(_)
            | Self::Start(_)
            | Self::Update(_)
            | Self::Flush(_)
            | Self::Stop(_)
            | Self::Autologger(_)
            | Self::Enable(_)
            | Self::Disable(_)
            | Self::Capture(_)
            | Self::Info(Info::Set(_))
            | Self::Schemas(Schemas::Add(_)) => false,
        }
    }
}

/// What to do with information classes.
#[derive(Debug, Subcommand)]
pub(crate) enum Info {
    /// List the information classes
    List,
    /// Query or enumerate an information class
    Get(InfoGet),
    /// Set an information class
    Set(InfoSet),
}

/// What to do with a dataset.
#[cfg(feature = "parquet")]
#[derive(Debug, Subcommand)]
pub(crate) enum Dataset {
    /// Add trace files, and skip those that were added before
    #[command(
        after_help = "Files are DIR/provider_key=PROVIDER/event_key=EVENT/day=DAY/TRACE.parquet. A query with DuckDB:\n  \
                            SELECT machine, process, count(*) FROM read_parquet('DIR/provider_key=*/*/*/*.parquet', union_by_name = true, \
                            hive_partitioning = true) GROUP BY ALL\nAn interrupted run is continued by the same command."
    )]
    Add(AddTraces),
    /// Show the columns of each event, their types, and in how many traces they are
    Schemas(DatasetSchemas),
}

/// A dataset that exists.
#[cfg(feature = "parquet")]
#[derive(Debug, Args)]
pub(crate) struct DatasetSchemas {
    /// The folder of the dataset
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Trace files for a dataset.
#[cfg(feature = "parquet")]
#[derive(Debug, Args)]
pub(crate) struct AddTraces {
    /// The folder of the dataset
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// .etl files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The machine that the traces are from (default: what each trace says)
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Number of traces to read at the same time (default: the number of processors)
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) schemas: SchemaFiles,
}

/// What to do with the store of manifests.
#[derive(Debug, Subcommand)]
pub(crate) enum Schemas {
    /// Add manifests (.man, .xml) and binaries with a `WEVT_TEMPLATE` resource, from files or folders
    #[command(
        after_help = "On Windows, `wevtutil gp PROVIDER /ge /gm:true` shows which binary (.dll, .sys) has the manifest of a provider; a folder \
                            such as C:\\Windows\\System32\\drivers can be added as a whole.\nThe environment variable ETWCTL_SCHEMAS names \
                            the store's folder."
    )]
    Add(AddSchemas),
    /// List the providers in the store
    List,
}

/// Files for the store of manifests.
#[derive(Debug, Args)]
pub(crate) struct AddSchemas {
    /// Files or folders
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// Commands in a file.
#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// A file with one command per line, without `etwctl`; # begins a comment (default: standard input)
    pub(crate) file: Option<PathBuf>,
    /// Go on after a command fails
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// Parses a line of a batch, without the program's name. The text for `--help` is an error, as in clap.
pub(crate) fn parse(machine: &Machine, words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let name = OsString::from("etwctl");
    let mut command = command(machine);
    let matches = command.try_get_matches_from_mut([name].into_iter().chain(words))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The description of the command line, with notes about sessions on this system.
pub(crate) fn command(machine: &Machine) -> clap::Command {
    let mut notes = format!("{}\n\nSessions are those of {}.", exit::HELP, machine.description());
    if let Some(caveat) = machine.caveat() {
        notes.extend(["\n", caveat, "\nUse `batch` for several commands in one process. "]);
        notes.push_str("Traces of any system can be read everywhere.");
    }
    Cli::command().after_help(notes)
}

#[cfg(test)]
mod tests {
    use etw_session::Machine;
    use etw_types::Level;

    use super::{Cli, Command, Info, parse};

    fn parsed(line: &str) -> Result<Cli, clap::Error> {
        parse(&Machine::local(), line.split_whitespace().map(Into::into))
    }

    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        super::command(&Machine::local()).debug_assert();
    }

    #[test]
    fn options_can_be_anywhere_and_take_values_in_both_forms() {
        let line = parsed("enable S --any=0x2 P --level 4 --pid 1 --pid 2 --json").unwrap();
        let Command::Enable(enable) = line.command else { panic!("a command") };
        assert_eq!(enable.session.as_str(), "S");
        assert_eq!(enable.provider.name.as_str(), "P");
        assert_eq!(enable.requested.any, 0x2);
        assert_eq!(enable.requested.level.map(Level::as_int), Some(4));
        assert_eq!(enable.pids, [1, 2]);
        assert!(line.global.json);
        assert!(!enable.requested.group);
    }

    #[test]
    fn words_after_two_dashes_are_arguments() {
        let line = parsed("info set 3 -- --odd").unwrap();
        let Command::Info(Info::Set(set)) = line.command else { panic!("a command") };
        assert_eq!(set.class.0.class.as_int(), 3);
        assert_eq!(set.values, vec!["--odd".to_owned()]);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, message) in [
            ("info gte 3", "unrecognized subcommand 'gte'"),
            ("help stopp", "unrecognized subcommand 'stopp'"),
            ("sessions --jso", "a similar argument exists: '--json'"),
            ("stopp S", "some similar subcommands exist: 'top', 'stop'"),
            ("stop", "<SESSION>"),
            ("stop A B", "unexpected argument 'B' found"),
            ("start A --etl", "a value is required for '--etl <FILE>' but none was supplied"),
            ("start A --buffer abc", "invalid value 'abc' for '--buffer <SIZE>'"),
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(message), "{line}: {error}");
        }
    }
}
