//! The switches for the format of events. Each format of `etw-etl` has one.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use command_line::OutputPath;
use etw_etl::Format;

/// The outputs that are not formats of `etw-etl`.
const OTHERS: [&str; 2] = ["parquet", "pcapng"];

/// The format of events, if it is not JSON.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Format")]
pub(crate) struct Formats {
    #[command(flatten)]
    pub(crate) switch: Switch,
    /// A folder of Parquet files with typed columns, one file for each kind of event, for `DuckDB`, Polars or Spark
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "pcapng")]
    pub(crate) parquet: Option<OutputPath>,
    /// A pcapng file for Wireshark, with the packets that ndiscap (netsh trace) or `PktMon` captured
    #[arg(long)]
    pub(crate) pcapng: bool,
}

/// The format that a switch chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switch(pub(crate) Option<Format>);

/// The formats with a switch of their own. `--json` is an option of all commands, and `--csv` with one `--event` has a column for each
/// field.
fn switches() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|format| !matches!(format, Format::JsonLines | Format::CsvFields))
}

fn help(format: Format) -> String {
    let default = match format {
        Format::Text => " (the default, unless the output is a terminal)",
        Format::Table => " (the default on a terminal)",
        _ => "",
    };
    format!("{}{default}", format.about())
}

impl Args for Switch {
    fn augment_args(command: Command) -> Command {
        switches().fold(command, |command, format| {
            let others = switches().filter(|other| *other != format).map(Format::name).chain(OTHERS);
            let arg = Arg::new(format.name()).long(format.name()).help(help(format)).action(ArgAction::SetTrue);
            command.arg(arg.help_heading("Format").conflicts_with_all(others))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Switch {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(switches().find(|format| matches.get_flag(format.name()))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
