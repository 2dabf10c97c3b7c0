//! Arguments of commands on sessions, providers and information classes.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use command_line::units::duration;
use command_line::{OutputPath, Words};
use etw_session::ClockType;
use etw_session::info::{self, Facts};
use etw_types::{Guid, Level};
use windows_releases::{Release, UnknownRelease};

use super::storage::Storage;
use crate::values::{self, InvalidValue, LEVELS, PROPERTIES, Provider};

/// A session; its name is required.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The session's name
    pub(crate) session: String,
}

/// A session, or all of them.
#[derive(Debug, Args)]
pub(crate) struct Listed {
    /// The name of the session to show (default: list all sessions)
    pub(crate) session: Option<String>,
}

/// `providers`.
#[derive(Debug, Args)]
pub(crate) struct Providers {
    /// The provider to show: a GUID, or the name of a `TraceLogging` provider (default: list all providers)
    pub(crate) provider: Option<Provider>,
    /// List provider groups instead of providers; with a GUID, show that group
    #[arg(long)]
    pub(crate) groups: bool,
    /// List only the providers of this process
    #[arg(long)]
    pub(crate) process: bool,
}

/// The event that is missing.
#[derive(Debug, Default, Args)]
pub(crate) struct Missed {
    /// The level of the missing event, by name or number
    #[arg(long, value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) level: Option<Level>,
    /// The keyword of the missing event, for example 0x2; 0 is an event without a keyword
    #[arg(long, value_name = "MASK", value_parser = values::number)]
    pub(crate) keyword: Option<u64>,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "The result of a check: ok; problem, which keeps the events away; possible, which can keep some of them away; \
                        unknown, which ETW does not report.\n\n\
                        Examples:\n  etwctl doctor WdkEtw.DriverSample\n  \
                        etwctl doctor WdkEtw.DriverSample --session mine --level verbose --keyword 0x2\n  \
                        etwctl doctor WdkEtw.DriverSample trace.etl\n  etwctl doctor trace.etl"
)]
pub(crate) struct Doctor {
    /// A GUID or a name; an .etl file alone is checked for the provider that it has most events of
    #[arg(value_name = "PROVIDER|FILE")]
    pub(crate) provider: Provider,
    /// The .etl file in which events are missing; - is standard input (default: check running sessions)
    #[arg(conflicts_with = "session")]
    pub(crate) file: Option<PathBuf>,
    /// The session in which events are missing (default: all sessions that enabled the provider)
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) missed: Missed,
}

/// The clock of the time stamps.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Clock {
    /// The performance counter
    Qpc,
    /// The system time
    System,
    /// The cycle counter of the processor
    Cycles,
}

impl From<Clock> for Option<ClockType> {
    /// The performance counter is the default of a session, so it is `None`.
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
    #[command(flatten)]
    pub(crate) options: SessionOptions,
    /// Check the options and show the resulting properties, but start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A session that is to be started now or at the next boot.
#[derive(Debug, Args)]
pub(crate) struct SessionOptions {
    /// The session's name
    pub(crate) session: String,
    /// Write events to this .etl file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) etl: Option<OutputPath>,
    /// Deliver events to consumers in real time
    #[arg(long)]
    pub(crate) real_time: bool,
    /// Keep the newest events in memory; `etwctl flush` writes them out
    #[arg(long)]
    pub(crate) buffering: bool,
    #[command(flatten)]
    pub(crate) storage: Storage,
    /// Write out buffers at this interval, also if they are not full, for example 500ms or 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) flush: Option<Duration>,
    /// The clock of the time stamps
    #[arg(long, default_value = "qpc")]
    pub(crate) clock: Clock,
    /// The session's GUID
    #[arg(long, value_parser = values::guid)]
    pub(crate) guid: Option<Guid>,
    /// Add a logging mode, by name or number; repeatable
    #[arg(long = "mode", value_name = "MODE", value_parser = mode)]
    pub(crate) modes: Vec<u32>,
}

fn mode(text: &str) -> Result<u32, InvalidValue> {
    values::bit(text, etw_session::MODES)
}

fn property(text: &str) -> Result<u32, InvalidValue> {
    values::bit(text, PROPERTIES)
}

/// `update`.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The session's name
    pub(crate) session: String,
    /// Continue in this .etl file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) etl: Option<OutputPath>,
    /// Write out buffers at this interval, also if they are not full, for example 500ms or 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) flush: Option<Duration>,
    /// The maximum number of buffers
    #[arg(long, value_name = "N")]
    pub(crate) max_buffers: Option<u32>,
    /// The kernel events to record, as a mask of `EVENT_TRACE_FLAG_*`, for example 0x3; 0 disables them
    #[arg(long, value_name = "MASK", value_parser = values::number32)]
    pub(crate) flags: Option<u32>,
    /// Turn delivery to consumers in real time on or off
    #[arg(long, value_name = "SWITCH", value_parser = Words::new(["on", "off"], values::switch))]
    pub(crate) real_time: Option<bool>,
    /// Begin the next file of a session with --numbered
    #[arg(long)]
    pub(crate) next_file: bool,
    /// Close the file, and continue in real time only
    #[arg(long)]
    pub(crate) finish_file: bool,
}

/// The events that are requested from a provider.
#[derive(Debug, Args)]
pub(crate) struct Requested {
    /// The most verbose level of events, by name or number (default: all levels)
    #[arg(long, value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) level: Option<Level>,
    /// Only events with at least one of these keywords, for example 0x5 (default: all events)
    #[arg(long, value_name = "MASK", value_parser = values::number, default_value = "0", hide_default_value = true)]
    pub(crate) any: u64,
    /// Only events with all of these keywords
    #[arg(long, value_name = "MASK", value_parser = values::number, default_value = "0", hide_default_value = true)]
    pub(crate) all: u64,
    /// The provider's GUID or name is that of a provider group
    #[arg(long)]
    pub(crate) group: bool,
    /// Add a call stack to every event
    #[arg(long)]
    pub(crate) stacks: bool,
}

/// `enable`.
#[derive(Debug, Args)]
#[command(after_help = "A second request for the same provider replaces the first, filters included.\n\n\
                        Example:\n  etwctl enable mine WdkEtw.DriverSample --level verbose --any 0x5")]
pub(crate) struct Enable {
    /// The session's name
    pub(crate) session: String,
    /// A GUID, or the name of a `TraceLogging` provider
    pub(crate) provider: Provider,
    #[command(flatten)]
    pub(crate) requested: Requested,
    /// Add an enable property, by name or number; repeatable
    #[arg(long = "property", value_name = "NAME", value_parser = Words::new(PROPERTIES.iter().map(|(name, _)| *name), property))]
    pub(crate) properties: Vec<u32>,
    /// Only events of the process with this id; repeatable, at most 8
    #[arg(long = "pid", value_name = "N", value_parser = values::number32)]
    pub(crate) pids: Vec<u32>,
    /// Only events of processes of this executable; repeatable
    #[arg(long = "exe", value_name = "NAME")]
    pub(crate) executables: Vec<String>,
    /// Only events of processes of this app package; repeatable
    #[arg(long = "package", value_name = "ID")]
    pub(crate) packages: Vec<String>,
    /// Only events with this id; repeatable, at most 64
    #[arg(long = "event-id", value_name = "N", value_parser = values::number16)]
    pub(crate) event_ids: Vec<u16>,
    /// No events with this id; repeatable
    #[arg(long = "not-event-id", value_name = "N", value_parser = values::number16)]
    pub(crate) not_event_ids: Vec<u16>,
    /// Only `TraceLogging` events with this name; repeatable
    #[arg(long = "event-name", value_name = "NAME")]
    pub(crate) event_names: Vec<String>,
    /// Call stacks only for events with this id; repeatable
    #[arg(long = "stack-id", value_name = "N", value_parser = values::number16)]
    pub(crate) stack_ids: Vec<u16>,
    /// Call stacks only for events up to this level
    #[arg(long, value_name = "LEVEL", value_parser = Words::new(LEVELS.iter().copied(), values::level))]
    pub(crate) stack_level: Option<Level>,
    /// Any other filter: its type as a number, and its data in hexadecimal; repeatable
    #[arg(long = "filter", value_name = "KIND:HEX", value_parser = values::filter)]
    pub(crate) filters: Vec<(u32, Vec<u8>)>,
    /// The maximum wait for the provider's enable callback (default: 5s)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// `disable`.
#[derive(Debug, Args)]
pub(crate) struct Disable {
    /// The session's name
    pub(crate) session: String,
    /// A GUID, or the name of a `TraceLogging` provider
    pub(crate) provider: Provider,
    /// The provider's GUID or name is that of a provider group
    #[arg(long)]
    pub(crate) group: bool,
}

/// `capture`.
#[derive(Debug, Args)]
#[command(after_help = "The session must have enabled the provider. The events reach every session that enabled it.")]
pub(crate) struct Capture {
    /// The session's name
    pub(crate) session: String,
    /// A GUID, or the name of a `TraceLogging` provider
    pub(crate) provider: Provider,
    #[command(flatten)]
    pub(crate) requested: Requested,
}

/// An information class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class(pub(crate) &'static Facts);

/// There is no information class with this name.
#[derive(Clone, Debug)]
struct UnknownClass(String);

impl fmt::Display for UnknownClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        let names = info::all().iter().flat_map(|facts| [facts.short_name(), facts.c_name.to_owned()]);
        let hint = values::hint(text, names);
        let advice = if hint.is_empty() { "; see etwctl info list" } else { &hint };
        write!(f, "there is no information class '{text}'{advice}")
    }
}

fn class(text: &str) -> Result<Class, UnknownClass> {
    info::find(text).map(Class).ok_or_else(|| UnknownClass(text.to_owned()))
}

fn classes() -> Words<Class, UnknownClass> {
    Words::new(info::all().iter().map(Facts::short_name), class)
}

/// `info get`.
#[derive(Debug, Args)]
pub(crate) struct InfoGet {
    /// The information class: a number, or a name from `etwctl info list`
    #[arg(value_parser = classes(), hide_possible_values = true)]
    pub(crate) class: Class,
    /// The session's name, for classes that belong to a session
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// The profile source for class 5, or the processor for class 25 (default: 0)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) of: u32,
    /// The provider for class 1, or the provider group for class 13
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) guid: Option<Provider>,
    /// Print the bytes in hexadecimal, without decoding them
    #[arg(long)]
    pub(crate) raw: bool,
}

/// The words that each class takes, and an example.
fn words_of_classes() -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for facts in info::all() {
        let Some(set) = facts.set else { continue };
        let class = facts.class.as_int().to_string();
        match kinds.iter_mut().find(|(help, _)| *help == set.words.help()) {
            Some((_, classes)) => classes.push(class),
            None => kinds.push((set.words.help(), vec![class])),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(help, classes)| format!("{help} ({})", classes.join(", "))).collect();
    format!(
        "Values by class: {}.\n\nExample:\n  etwctl info set system-flags process,perf-profile --session mine",
        kinds.join("; ")
    )
}

/// `info set`.
#[derive(Debug, Args)]
#[command(after_help = words_of_classes())]
pub(crate) struct InfoSet {
    /// The information class: a number, or a name from `etwctl info list`
    #[arg(value_parser = classes(), hide_possible_values = true)]
    pub(crate) class: Class,
    /// The values to set, as several arguments or with commas; no value clears a list
    #[arg(value_name = "VALUE")]
    pub(crate) values: Vec<String>,
    /// The session's name, for classes that belong to a session
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// The time between two captures of class 16, in whole seconds, for example 60s (default: the minimum of the system)
    #[arg(long = "every", value_name = "TIME", value_parser = values::whole_seconds)]
    pub(crate) seconds: Option<u32>,
    /// Set these bytes, in hexadecimal, instead of values, for example 01000000
    #[arg(long, value_name = "HEX", value_parser = values::hexadecimal)]
    pub(crate) raw: Option<values::Bytes>,
}

/// `record`.
#[derive(Debug, Args)]
#[command(
    after_help = "The recording stops after --for or --count, at Enter on a terminal or Ctrl-C, or when the demonstration or the \
                  driver is done. The file is complete in all these cases. A second Ctrl-C ends the program at once. With --json, \
                  events are JSON Lines.\n\n\
                  --driver runs a driver without Windows, with nt-host, on Linux for x86-64. The driver has all rights of this \
                  process. Its mistakes are printed as findings, and the exit code is then 3. If its device does not start, or a request \
                  does not reach it, the run is incomplete, and the exit code is 4.\n\n\
                  Examples:\n  etwctl record WdkEtw.DriverSample --live --level verbose\n  \
                  etwctl record WdkEtw.DriverSample --etl trace.etl --for 10s\n  \
                  etwctl record MyDriver --system process,thread,disk-io --etl ring.etl --circular 64MiB"
)]
pub(crate) struct Record {
    /// GUIDs, or the names of `TraceLogging` providers; none are needed with --system
    #[arg(value_name = "PROVIDER")]
    pub(crate) providers: Vec<Provider>,
    /// Print events as they arrive (the default without --etl)
    #[arg(long)]
    pub(crate) live: bool,
    /// Write events to this .etl file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) etl: Option<OutputPath>,
    #[command(flatten)]
    pub(crate) requested: Requested,
    #[command(flatten)]
    pub(crate) storage: Storage,
    /// Stop after this time, for example 10s or 1m30s
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Stop after this many events were printed
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// The session's name (default: etwctl- and the process id)
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
    /// Run a demonstration provider in this process, once or until --for (not on Windows)
    #[arg(long, conflicts_with = "driver")]
    pub(crate) demo: bool,
    /// Load this driver, add a device, send the requests of --ioctl, and unload it (only on Linux for x86-64)
    #[arg(long, value_name = "FILE")]
    pub(crate) driver: Option<PathBuf>,
    /// Send the driver a device control request: code and input in hexadecimal, for example 22E000:6869; repeatable
    #[arg(long, value_name = "CODE[:HEX]", value_parser = values::control_request, requires = "driver")]
    pub(crate) ioctl: Vec<(u32, Vec<u8>)>,
    /// The release of Windows to emulate for the driver, for example win10-1809 (default: win11-24h2)
    #[arg(long, value_name = "RELEASE", value_parser = Words::new(Release::NAMES, release), requires = "driver", hide_possible_values = true)]
    pub(crate) os: Option<Release>,
    /// The time that passes for the driver between the last request and its unload (default: 2500ms)
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "driver")]
    pub(crate) advance: Option<Duration>,
}

fn release(text: &str) -> Result<Release, UnknownRelease> {
    text.parse()
}
