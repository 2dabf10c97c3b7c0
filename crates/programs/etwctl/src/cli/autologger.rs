//! Arguments of commands on sessions that Windows starts at boot.

use clap::{Args, Subcommand, ValueHint};
use command_line::OutputPath;

use super::session::{Requested, SessionOptions};
use crate::values::Provider;

/// What to do with sessions at boot.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a command line has one value of it")]
pub(crate) enum Autologger {
    /// Add a session to the registry, or write a file for `reg import`
    Add(AddAutologger),
    /// Remove a session from the registry, or write a file that does
    Remove(RemoveAutologger),
}

/// Where the configuration of a session at boot goes.
#[derive(Debug, Args)]
pub(crate) struct Registry {
    /// Write a file for `reg import` instead of changing the registry of this machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) reg: Option<OutputPath>,
}

/// `autologger add`.
#[derive(Debug, Args)]
#[command(
    after_help = "Windows starts the session at every boot, before most drivers, until `etwctl autologger remove`. `etwctl stop NAME` \
                  stops it, and completes its file. --etl needs a full path on that machine; without it, the file is \
                  %SystemRoot%\\System32\\LogFiles\\WMI\\NAME.etl. Without a size, the file has at most 100 MB. Events of the kernel \
                  (--system) need the session GlobalLogger, for which Windows enables no providers.\n\n\
                  Examples:\n  etwctl autologger add MyDriver-boot MyDriver --etl C:\\traces\\boot.etl --circular 64MiB --reg boot.reg\n  \
                  etwctl autologger add GlobalLogger --system process,image-load --reg boot.reg"
)]
pub(crate) struct AddAutologger {
    #[command(flatten)]
    pub(crate) options: SessionOptions,
    /// GUIDs, or the names of `TraceLogging` providers
    #[arg(value_name = "PROVIDER")]
    pub(crate) providers: Vec<Provider>,
    #[command(flatten)]
    pub(crate) requested: Requested,
    /// Keep the files of this many boots, at most 16; their names end with a number (default: only the last one)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) keep: u32,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// `autologger remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveAutologger {
    /// The session's name
    pub(crate) session: String,
    #[command(flatten)]
    pub(crate) registry: Registry,
}
