//! Arguments of commands that start a session: its files, its buffers and the kernel's events.

use clap::Args;
use etw_session::info::GROUPS;

use crate::values;

/// Where the events of a session go, and which events of the kernel it records.
#[derive(Clone, Debug, Args)]
pub(crate) struct Storage {
    /// Stop writing when the file has this size, in whole MiB, for example 64MiB
    #[arg(long, value_name = "SIZE", value_parser = values::mebibytes)]
    pub(crate) sequential: Option<u32>,
    /// Overwrite the oldest events when the file has this size, in whole MiB, for example 64MiB
    #[arg(long, value_name = "SIZE", value_parser = values::mebibytes)]
    pub(crate) circular: Option<u32>,
    /// Begin the next file when a file has this size, in whole MiB; the name needs a %d, for example trace-%d.etl
    #[arg(long, value_name = "SIZE", value_parser = values::mebibytes)]
    pub(crate) numbered: Option<u32>,
    /// The size of a buffer, 4KiB to 16MiB, in whole KiB, for example 64KiB (default: the system's choice)
    #[arg(long = "buffer", value_name = "SIZE", value_parser = values::kibibytes, default_value = "0", hide_default_value = true)]
    pub(crate) buffer_kib: u32,
    /// The minimum number of buffers, which is also the number at the start (default: the system's choice)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) min_buffers: u32,
    /// The maximum number of buffers (default: the system's choice)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) max_buffers: u32,
    /// Record these groups of kernel events: names or numbers with commas, for example process,thread
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = group)]
    pub(crate) system: Option<Vec<u32>>,
}

fn group(text: &str) -> Result<u32, values::InvalidValue> {
    values::bit(text, GROUPS)
}
