//! The command line, parsed by clap.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory as _, Parser, Subcommand, ValueHint};
use command_line::units::{duration, size};
use command_line::{OutputPath, VERSION, Words, exit};
use nt_machine::{Below, Resource, Time};

use super::framework::Framework;
use super::hardware::Hardware;
use super::steps::Steps;
use super::values::{failure, gap, resource};
use nt_host::text::below::{read as below, read_remote as remote};
use nt_host::text::registry::{Entry, read as registry};
use nt_host::text::{number, suggestion};
use nt_host::{Failure, GapKind, Os};

/// Returns the text at the end of help pages.
fn notes() -> String {
    format!("{}\n\nReleases of Windows for --os, by any of these names or by the build:\n{}", exit::HELP, Os::list())
}

/// Runs a Windows kernel driver natively and reports its mistakes.
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "nt-host", version = VERSION, max_term_width = 120, disable_help_subcommand = true, after_help = notes())]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The subcommands.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(super) enum Command {
    /// Load a driver, add a device, send requests, let time pass, and unload the driver
    #[command(after_help = format!(
        "Examples:\n  nt-host run my_driver.sys --ioctl 22E000:6869 --etl trace.etl\n  \
         nt-host run my_driver.sys --os win10-1809 --fail EtwRegister=C000009A --json\n  \
         nt-host run my_driver.sys --open \\\\.\\Name --read 16 --wait 20ms --close\n\n{}",
        notes()
    ))]
    Run(Box<RunOptions>),
    /// Fail each fallible call in turn, then calls at random
    #[command(after_help = format!("Example:\n  nt-host matrix my_driver.sys --ioctl 22E000:6869 --seed 5\n\n{}", notes()))]
    Matrix(Box<MatrixOptions>),
    /// Fuzz the driver: send it generated requests, and report each mistake with the command that reproduces it
    #[command(after_help = format!(
        "Examples:\n  nt-host fuzz my_driver.sys --time 5m --jobs 2\n  \
         nt-host fuzz my_driver.sys --executions 100000 --seed 1 --json\n\n{}",
        notes()
    ))]
    Fuzz(Box<FuzzOptions>),
    /// Run the driver on the imitated framework and on Microsoft's own, and print where they differ
    #[command(after_help = format!(
        "Example:\n  nt-host compare my_driver.sys --framework frameworks/1.33 --ioctl 22E000:6869\n\n{}",
        notes()
    ))]
    Compare(Box<CompareOptions>),
    /// Keep copies of Microsoft's framework, which --framework then finds by version
    Framework {
        /// What to do
        #[command(subcommand)]
        command: Framework,
    },
    /// Show how far the host implements a driver's imports, or every routine
    #[command(after_help = format!("Examples:\n  nt-host list my_driver.sys --os win7\n  nt-host list --all --json\n\n{}", notes()))]
    List(List),
}

/// The arguments of `run`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct RunOptions {
    /// Print the command that attaches a debugger, and wait for the debugger before `DriverEntry`
    #[arg(long, conflicts_with = "timeout")]
    pub(super) debug: bool,
    #[command(flatten)]
    pub(super) run: Options,
    /// Make routines fail at random, the same ones for the same N
    #[arg(long, value_name = "N", value_parser = number)]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) lifecycle: Lifecycle,
    /// Record the call stack of each event
    #[arg(long)]
    pub(super) stacks: bool,
    /// Omit the driver's debug output (`DbgPrint`)
    #[arg(long = "no-debug-output", action = ArgAction::SetFalse)]
    pub(super) debug_output: bool,
    /// Write the events to a trace file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) etl: Option<OutputPath>,
    #[command(flatten)]
    pub(super) coverage: Coverage,
}

/// The arguments of `matrix`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct MatrixOptions {
    #[command(flatten)]
    pub(super) run: Options,
    /// Run the driver this often with routines that fail at random (default: 20)
    #[arg(long, value_name = "N", value_parser = number)]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) lifecycle: Lifecycle,
    #[command(flatten)]
    pub(super) coverage: Coverage,
}

/// The arguments of `compare`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct CompareOptions {
    #[command(flatten)]
    pub(super) run: Options,
    #[command(flatten)]
    pub(super) lifecycle: Lifecycle,
}

/// Whether to record which code of the driver runs.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    /// Record which code of the driver runs; write its source lines to a file: a page for the browser (.html) or lcov (.info)
    #[arg(id = "coverage", long = "coverage", value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[expect(clippy::option_option, reason = "the option and its value are both optional")]
    pub(super) file: Option<Option<OutputPath>>,
}

/// The release to imitate.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// Imitate this Windows release, from the list below
    #[arg(long, value_name = "RELEASE", default_value_t, value_parser = releases(), hide_possible_values = true)]
    pub(super) os: Os,
}

/// What a run does with the driver besides the steps of clients.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct Lifecycle {
    /// Accept a gap that the run intends: not-added, not-started, not-reached, not-removed, not-failed; repeatable
    #[arg(long, value_name = "GAP", value_parser = gap)]
    pub(super) allow: Vec<GapKind>,
    /// Ask the driver's providers to log their state after the requests
    #[arg(long)]
    pub(super) capture_state: bool,
    /// Let this much time pass before the unload
    #[arg(long, value_name = "TIME", default_value = "2500ms", value_parser = duration)]
    pub(super) advance: Duration,
    /// Only load and unload the driver
    #[arg(long = "no-device", action = ArgAction::SetFalse, conflicts_with = "advance")]
    pub(super) device: bool,
}

/// The arguments of `fuzz`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct FuzzOptions {
    /// Stop after this time
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(super) time: Duration,
    /// Stop after this many sequences of requests; with --jobs 1 and --seed, such a session is always the same
    #[arg(long, value_name = "N", value_parser = number, conflicts_with = "time")]
    pub(super) executions: Option<u64>,
    /// Run the driver in this many processes at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) jobs: u32,
    /// The folder for the corpus and the findings (default: the driver's name with .fuzz)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) output: Option<OutputPath>,
    /// The folder with the inputs of earlier sessions, which also gets those of this one (default: corpus in the output)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) corpus: Option<OutputPath>,
    /// Describes the driver's requests, in TOML
    #[arg(long, value_name = "FILE")]
    pub(super) grammar: Option<PathBuf>,
    /// Begin the commands that reproduce findings with these words (default: nt-host run FILE.sys)
    #[arg(long, value_name = "COMMAND", overrides_with = "runner")]
    pub(super) runner: Option<String>,
    #[command(flatten)]
    pub(super) run: Options,
    /// Make all random choices the same for the same N
    #[arg(long, value_name = "N", value_parser = number)]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) coverage: Coverage,
}

/// Returns the command line as users of `cargo driver` see it: the options follow `--`, and the image is that of their driver.
pub(super) fn in_cargo_driver() -> clap::Command {
    Arguments::command().mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace(&format!("nt-host {name}"), &format!("cargo driver {name} --"));
        let command = command.mut_args(|arg| {
            let is_ours = ["path", "runner"].contains(&arg.get_id().as_str());
            if is_ours { arg.hide(true) } else { arg }
        });
        command
            .override_usage(format!("cargo driver {name} -- [OPTIONS]"))
            .after_help(help.replace(" my_driver.sys", ""))
    })
}

/// The arguments of `list`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// The driver's image
    #[arg(value_name = "FILE.sys", required_unless_present = "all")]
    pub(super) path: Option<PathBuf>,
    /// List every routine: implemented in full, with a fixed result, missing
    #[arg(long, conflicts_with = "path")]
    pub(super) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) release: Release,
}

/// What describes a run, for all commands that run the driver.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Options {
    /// The driver's image
    #[arg(value_name = "FILE.sys")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) release: Release,
    /// Load another image before the driver, for example one that exports routines to it; repeatable
    #[arg(long, value_name = "FILE.sys")]
    pub(super) with: Vec<PathBuf>,
    /// Use this framework in place of the imitation: Wdf01000.sys of a Windows machine, a folder with it, or a version
    /// that the command `framework add` has copied
    #[arg(long, value_name = "DIR|FILE|VERSION")]
    pub(super) framework: Option<PathBuf>,
    /// Switch on the verifier of that framework for the driver
    #[arg(long, requires = "framework")]
    pub(super) framework_verifier: bool,
    /// Hide a routine, as if this Windows did not have it; repeatable
    #[arg(long, value_name = "ROUTINE")]
    pub(super) hide: Vec<String>,
    /// Make a routine fail, at its N-th call or always; STATUS as in C000009A; repeatable
    #[arg(long, value_name = "ROUTINE[=STATUS][@N]", value_parser = failure)]
    pub(super) fail: Vec<Failure>,
    /// Set how the device below completes requests (ioctl, internal-ioctl, read, write or any): status (0, C0000001),
    /// data and delay; repeatable
    #[arg(long, value_name = "KIND[:CODE]=STATUS[:HEX][@TIME]", value_parser = below)]
    pub(super) below: Vec<Below>,
    /// Set how a device of another driver, which this driver opens by name, completes requests; repeatable
    #[arg(long, value_name = "NAME,KIND[:CODE]=STATUS[:HEX][@TIME]", value_parser = remote)]
    pub(super) remote: Vec<Below>,
    /// Give the device a hardware resource: line, messages:COUNT, memory:START:LENGTH, port:START:LENGTH;
    /// repeatable
    #[arg(long, value_name = "RESOURCE", value_parser = resource)]
    pub(super) resource: Vec<Resource>,
    #[command(flatten)]
    pub(super) hardware: Hardware,
    /// Set a registry value, for example device\PortName=COM5 or parameters\Level=dword:3; keys: parameters, device,
    /// driver, or a full path; types: text (default), dword, qword, hex; repeatable
    #[arg(long, value_name = "KEY\\NAME=[TYPE:]VALUE", value_parser = registry)]
    pub(super) registry: Vec<Entry>,
    /// Copy a folder to the root of the volume, for --file; repeatable
    #[arg(long, value_name = "DIR")]
    pub(super) volume: Vec<PathBuf>,
    /// Stop the run if the driver needs longer than this for one request (default: 20s)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Cancel a request that is not completed after this time of the driver (default: 60s; with --real-time at most half of --timeout; fuzz: 250ms)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) cancel_after: Option<Duration>,
    /// Fail allocations beyond this total size (default: 4GiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) memory: Option<u64>,
    /// Use real time; by default, code runs at its real speed, and waits are skipped
    #[arg(long, conflicts_with = "virtual_time")]
    real_time: bool,
    /// Use virtual time: only waits advance the clock, so every run is the same; matrix and --seed always use it
    #[arg(long)]
    virtual_time: bool,
    /// Delay each event as long as possible, to expose races with unregistering
    #[arg(long)]
    pub(super) races: bool,
    /// Keep at most this much debug output; count and drop the rest (default: 4MiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) debug_output_limit: Option<u64>,
    /// Print a machine-readable report
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) steps: Steps,
}

impl Options {
    /// Returns how time passes, if the command line sets it.
    pub(super) const fn time(&self) -> Option<Time> {
        match (self.real_time, self.virtual_time) {
            (true, _) => Some(Time::Real),
            (_, true) => Some(Time::Virtual),
            _ => None,
        }
    }
}

fn releases() -> Words<Os> {
    Words::new(Os::NAMES, |text| {
        text.parse()
            .map_err(|error: windows_releases::UnknownRelease| error.to_string() + &suggestion(text, &Os::NAMES))
    })
}

#[cfg(test)]
mod tests;
