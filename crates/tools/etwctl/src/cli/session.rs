//! Arguments of commands on sessions, providers and information classes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use command_line::Words;
use command_line::units::duration;
use etw_session::ClockType;
use etw_session::info::{self, Facts, GROUPS};
use etw_types::{Guid, Level};
use windows_releases::Release;

use crate::values::{self, LEVELS, PROPERTIES, Provider};

/// A session that must be named.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The session's name
    pub(crate) session: String,
}

/// A session, or all of them.
#[derive(Debug, Args)]
pub(crate) struct Listed {
    /// The session to show
    pub(crate) session: Option<String>,
}

/// `providers`.
#[derive(Debug, Args)]
pub(crate) struct Providers {
    /// A GUID, or a `TraceLogging` provider's name
    pub(crate) provider: Option<Provider>,
    /// Provider groups instead
    #[arg(long)]
    pub(crate) groups: bool,
    /// Those of this process only
    #[arg(long)]
    pub(crate) process: bool,
}

/// The event that is missed.
#[derive(Debug, Default, Args)]
pub(crate) struct Missed {
    /// The level of the event that is missed
    #[arg(long, value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) level: Option<Level>,
    /// The keyword of the event that is missed; 0 is none
    #[arg(long, value_name = "MASK", value_parser = values::number)]
    pub(crate) keyword: Option<u64>,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "A problem keeps events away; a possible one keeps some of them away. Unknown is what ETW does not tell.\n\n\
                        Examples:\n  etwctl doctor WdkEtw.DriverSample\n  \
                        etwctl doctor WdkEtw.DriverSample --session mine --level verbose --keyword 0x2\n  \
                        etwctl doctor WdkEtw.DriverSample trace.etl"
)]
pub(crate) struct Doctor {
    /// A GUID, or a `TraceLogging` provider's name
    pub(crate) provider: Provider,
    /// A trace in which it is missed; - is standard input
    #[arg(conflicts_with = "session")]
    pub(crate) file: Option<PathBuf>,
    /// The session in which it is missed (default: those that enabled it)
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) missed: Missed,
}

/// What time stamps count.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Clock {
    /// The performance counter
    Qpc,
    /// The system's time
    System,
    /// The processor's cycles
    Cycles,
}

impl From<Clock> for Option<ClockType> {
    /// The performance counter is what a session counts unless told otherwise.
    fn from(clock: Clock) -> Self {
        match clock {
            Clock::Qpc => None,
            Clock::System => Some(ClockType::SystemTime),
            Clock::Cycles => Some(ClockType::Cycles),
        }
    }
}

/// `start`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  etwctl start mine --etl trace.etl --real-time\n  \
                        etwctl start ring --etl trace.etl --circular 64MiB --buffer 64KiB")]
pub(crate) struct Start {
    /// The session's name
    pub(crate) session: String,
    /// Write a file
    #[arg(long, value_name = "FILE")]
    pub(crate) etl: Option<PathBuf>,
    /// Deliver to consumers
    #[arg(long)]
    pub(crate) real_time: bool,
    /// Keep the newest events in memory
    #[arg(long)]
    pub(crate) buffering: bool,
    /// End the file at this size
    #[arg(long, value_name = "SIZE", value_parser = values::mebibytes)]
    pub(crate) sequential: Option<u32>,
    /// Overwrite the oldest events at this size
    #[arg(long, value_name = "SIZE", value_parser = values::mebibytes)]
    pub(crate) circular: Option<u32>,
    /// Begin another file at this size; the name needs a %d
    #[arg(long, value_name = "SIZE", value_parser = values::mebibytes)]
    pub(crate) numbered: Option<u32>,
    /// Size of a buffer, 4KiB to 16MiB
    #[arg(long = "buffer", value_name = "SIZE", value_parser = values::kibibytes, default_value = "0", hide_default_value = true)]
    pub(crate) buffer_kib: u32,
    /// Buffers at the start
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) min_buffers: u32,
    /// Most buffers
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) max_buffers: u32,
    /// Flush this often
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) flush: Option<Duration>,
    /// What time stamps count
    #[arg(long, default_value = "qpc")]
    pub(crate) clock: Clock,
    /// Take events of the system providers, as names or numbers with commas
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = group)]
    pub(crate) system: Option<Vec<u32>>,
    /// The session's GUID
    #[arg(long, value_parser = values::guid)]
    pub(crate) guid: Option<Guid>,
    /// Another logging mode by name or number; repeatable
    #[arg(long = "mode", value_name = "MODE", value_parser = mode)]
    pub(crate) modes: Vec<u32>,
    /// Check, and show what would be asked for
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn group(text: &str) -> Result<u32, String> {
    values::bit(text, GROUPS)
}

fn mode(text: &str) -> Result<u32, String> {
    values::bit(text, etw_session::MODES)
}

fn property(text: &str) -> Result<u32, String> {
    values::bit(text, PROPERTIES)
}

/// `update`.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The session's name
    pub(crate) session: String,
    /// Go on with another file
    #[arg(long, value_name = "FILE")]
    pub(crate) etl: Option<PathBuf>,
    /// Flush this often
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) flush: Option<Duration>,
    /// Most buffers
    #[arg(long, value_name = "N")]
    pub(crate) max_buffers: Option<u32>,
    /// `EVENT_TRACE_FLAG_*` of the system providers; 0 disables them
    #[arg(long, value_name = "MASK", value_parser = values::number32)]
    pub(crate) flags: Option<u32>,
    /// Deliver to consumers
    #[arg(long, value_name = "SWITCH", value_parser = Words::new(["on", "off"], values::switch))]
    pub(crate) real_time: Option<bool>,
    /// Go on with the next of numbered files
    #[arg(long)]
    pub(crate) next_file: bool,
    /// Finish the file, and go on in real time only
    #[arg(long)]
    pub(crate) finish_file: bool,
}

/// What is asked of a provider.
#[derive(Debug, Args)]
pub(crate) struct Requested {
    /// The most verbose level, or a number
    #[arg(long, value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) level: Option<Level>,
    /// An event needs at least one of these keywords (default: all events)
    #[arg(long, value_name = "MASK", value_parser = values::number, default_value = "0", hide_default_value = true)]
    pub(crate) any: u64,
    /// An event needs all of these keywords
    #[arg(long, value_name = "MASK", value_parser = values::number, default_value = "0", hide_default_value = true)]
    pub(crate) all: u64,
    /// The GUID is a provider group's
    #[arg(long)]
    pub(crate) group: bool,
    /// Add a call stack to every event
    #[arg(long)]
    pub(crate) stacks: bool,
}

/// `enable`.
#[derive(Debug, Args)]
#[command(after_help = "A second request replaces the first, filters included.\n\n\
                        Example:\n  etwctl enable mine WdkEtw.DriverSample --level verbose --any 0x5")]
pub(crate) struct Enable {
    /// The session's name
    pub(crate) session: String,
    /// A GUID, or a `TraceLogging` provider's name
    pub(crate) provider: Provider,
    #[command(flatten)]
    pub(crate) requested: Requested,
    /// Another property by name or number; repeatable
    #[arg(long = "property", value_name = "NAME", value_parser = Words::new(PROPERTIES.iter().map(|(name, _)| *name), property))]
    pub(crate) properties: Vec<u32>,
    /// Only this process; repeatable, at most 8
    #[arg(long = "pid", value_name = "N", value_parser = values::number32)]
    pub(crate) pids: Vec<u32>,
    /// Only processes of this executable; repeatable
    #[arg(long = "exe", value_name = "NAME")]
    pub(crate) executables: Vec<String>,
    /// Only processes of this package; repeatable
    #[arg(long = "package", value_name = "ID")]
    pub(crate) packages: Vec<String>,
    /// Only events of this id; repeatable, at most 64
    #[arg(long = "event-id", value_name = "N", value_parser = values::number16)]
    pub(crate) event_ids: Vec<u16>,
    /// All but events of this id; repeatable
    #[arg(long = "not-event-id", value_name = "N", value_parser = values::number16)]
    pub(crate) not_event_ids: Vec<u16>,
    /// Only `TraceLogging` events of this name; repeatable
    #[arg(long = "event-name", value_name = "NAME")]
    pub(crate) event_names: Vec<String>,
    /// Stacks for events of this id only; repeatable
    #[arg(long = "stack-id", value_name = "N", value_parser = values::number16)]
    pub(crate) stack_ids: Vec<u16>,
    /// Stacks for events up to this level only
    #[arg(long, value_name = "LEVEL", value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) stack_level: Option<Level>,
    /// Any other filter; repeatable
    #[arg(long = "filter", value_name = "KIND:HEX", value_parser = values::filter)]
    pub(crate) filters: Vec<(u32, Vec<u8>)>,
    /// Wait so long for the provider's callback (default: 5s)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// `disable`.
#[derive(Debug, Args)]
pub(crate) struct Disable {
    /// The session's name
    pub(crate) session: String,
    /// A GUID, or a `TraceLogging` provider's name
    pub(crate) provider: Provider,
    /// The GUID is a provider group's
    #[arg(long)]
    pub(crate) group: bool,
}

/// `capture`.
#[derive(Debug, Args)]
#[command(after_help = "The session must have enabled the provider; the events reach every session.")]
pub(crate) struct Capture {
    /// The session's name
    pub(crate) session: String,
    /// A GUID, or a `TraceLogging` provider's name
    pub(crate) provider: Provider,
    #[command(flatten)]
    pub(crate) requested: Requested,
}

/// An information class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class(pub(crate) &'static Facts);

fn class(text: &str) -> Result<Class, String> {
    let names = info::all().iter().flat_map(|facts| [facts.short_name(), facts.c_name.to_owned()]);
    info::find(text).map(Class).ok_or_else(|| match values::hint(text, names) {
        nothing if nothing.is_empty() => format!("there is no information class '{text}'; see etwctl info list"),
        hint => format!("there is no information class '{text}'{hint}"),
    })
}

fn classes() -> Words<Class> {
    Words::new(info::all().iter().map(Facts::short_name), class)
}

/// `info get`.
#[derive(Debug, Args)]
pub(crate) struct InfoGet {
    /// A number or a name of `info list`
    #[arg(value_parser = classes(), hide_possible_values = true)]
    pub(crate) class: Class,
    /// The session, for classes of sessions
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Profile source of class 5, processor of class 25
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) of: u32,
    /// Provider of class 1, group of class 13
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) guid: Option<Provider>,
    /// Write the bytes in hexadecimal
    #[arg(long)]
    pub(crate) raw: bool,
}

/// `info set`.
#[derive(Debug, Args)]
#[command(
    after_help = "Values: GUID/TYPE for system events (classes 3, 8, 28), names or numbers of groups (4), SOURCE=INTERVAL (5),\n\
                  numbers (6, 9, 21), providers (10, 16), on or off (18, 24, 26), names or numbers of bits (20)."
)]
pub(crate) struct InfoSet {
    /// A number or a name of `info list`
    #[arg(value_parser = classes(), hide_possible_values = true)]
    pub(crate) class: Class,
    /// What to set; nothing clears a list
    #[arg(value_name = "VALUE")]
    pub(crate) values: Vec<String>,
    /// The session, for classes of sessions
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Time between two requests, of class 16
    #[arg(long = "every", value_name = "TIME", value_parser = values::whole_seconds)]
    pub(crate) seconds: Option<u32>,
    /// Set these bytes
    #[arg(long, value_name = "HEX", value_parser = values::hexadecimal)]
    pub(crate) raw: Option<values::Bytes>,
}

/// `record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Stops at --for, --count, Enter on a terminal, Ctrl-C, or when the demonstration or the driver is done; the file is \
                  closed in all these cases. A second Ctrl-C ends at once. With --json, events are JSON Lines.\n\n\
                  A driver is run as a program, with nt-host: on Linux for x86-64 and without Windows, with all rights of this \
                  process. What it did wrong is reported, and the exit code is then 3.\n\n\
                  Examples:\n  etwctl record WdkEtw.DriverSample --live --level verbose\n  \
                  etwctl record WdkEtw.DriverSample --etl trace.etl --for 10s"
)]
pub(crate) struct Record {
    /// A GUID, or a `TraceLogging` provider's name
    #[arg(value_name = "PROVIDER")]
    pub(crate) providers: Vec<Provider>,
    /// Print events as they come (default without --etl)
    #[arg(long)]
    pub(crate) live: bool,
    /// Write a file
    #[arg(long, value_name = "FILE")]
    pub(crate) etl: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) requested: Requested,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Stop after so many events were printed
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// The session's name (default: etwctl and the process id)
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print CSV
    #[arg(long)]
    pub(crate) csv: bool,
    /// Run a demonstration provider in this process, repeated until --for (not on Windows)
    #[arg(long, conflicts_with = "driver")]
    pub(crate) demo: bool,
    /// Load this driver, give it a device and the requests, and unload it (Linux only)
    #[arg(long, value_name = "FILE")]
    pub(crate) driver: Option<PathBuf>,
    /// Send the driver a control request; repeatable
    #[arg(long, value_name = "CODE[:HEX]", value_parser = values::control_request, requires = "driver")]
    pub(crate) ioctl: Vec<(u32, Vec<u8>)>,
    /// The Windows release that the driver finds (default: win11-24h2)
    #[arg(long, value_name = "RELEASE", value_parser = Words::new(Release::NAMES, release), requires = "driver", hide_possible_values = true)]
    pub(crate) os: Option<Release>,
    /// Time that passes for the driver before it is unloaded (default: 2500ms)
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "driver")]
    pub(crate) advance: Option<Duration>,
}

fn release(text: &str) -> Result<Release, String> {
    text.parse().map_err(|error: windows_releases::UnknownRelease| error.to_string())
}
