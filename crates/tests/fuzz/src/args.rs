//! The command line, as clap reads it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser};
use command_line::{VERSION, Words, exit, units};
use etw_fuzz::{TARGETS, Target};

/// Looks for input that breaks a reader, a decoder or a parser.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "etw-fuzz",
    version = VERSION,
    max_term_width = 100,
    group = ArgGroup::new("action").args(["list", "replay", "libfuzzer", "worker"]),
    after_help = format!("Examples:\n  etw-fuzz etl --time 10m\n  etw-fuzz pe --replay crash.bin\n\n{}", exit::HELP)
)]
pub(crate) struct Args {
    /// What is fuzzed
    #[arg(required_unless_present = "list", value_parser = Words::new(TARGETS.map(|target| target.name), find))]
    pub(crate) target: Option<&'static Target>,
    /// For how long, at most a week
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time)]
    time: Duration,
    /// The same in minutes; parts are allowed
    #[arg(long, value_name = "N", value_parser = minutes, conflicts_with = "time")]
    minutes: Option<Duration>,
    /// The random seed (default: another one each time; it is printed)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the targets
    #[arg(long)]
    pub(crate) list: bool,
    /// Run one file
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Run this program, which was built for libFuzzer
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) libfuzzer: Option<PathBuf>,
    /// The child of the mutator, from this input on
    #[arg(long, hide = true)]
    pub(crate) worker: Option<u64>,
    /// Each input is written down before it is run
    #[arg(long, hide = true, requires = "worker")]
    pub(crate) careful: bool,
}

impl Args {
    /// How long the target runs.
    pub(crate) fn time(&self) -> Duration {
        self.minutes.unwrap_or(self.time)
    }
}

fn find(name: &str) -> Result<&'static Target, String> {
    Target::of(name).ok_or_else(|| format!("there are {}", TARGETS.map(|target| target.name).join(", ")))
}

fn time(text: &str) -> Result<Duration, String> {
    let time = units::duration(text)?;
    if time.is_zero() || time > Duration::from_hours(7 * 24) {
        return Err("not between nothing and a week".into());
    }
    Ok(time)
}

fn minutes(text: &str) -> Result<Duration, String> {
    time(&format!("{text}m"))
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::Parser as _;
    use std::time::Duration;

    fn parse(line: &str) -> Result<Args, String> {
        let words = ["etw-fuzz"].into_iter().chain(line.split_whitespace());
        Args::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn a_target_alone_is_mutated_for_a_minute() {
        let args = parse("etl").unwrap();
        assert_eq!(args.target.map(|target| target.name), Some("etl"));
        assert_eq!((args.time(), args.seed, args.list), (Duration::from_mins(1), None, false));
        assert!(args.replay.is_none() && args.libfuzzer.is_none() && args.worker.is_none());
    }

    #[test]
    fn time_seed_and_engine_are_read() {
        let args = parse("--time 30s pe --seed 7 --libfuzzer bin/pe").unwrap();
        assert_eq!(args.target.map(|target| target.name), Some("pe"));
        assert!(args.libfuzzer.as_ref().is_some_and(|program| program.ends_with("pe")));
        assert_eq!((args.time(), args.seed), (Duration::from_secs(30), Some(7)));
        assert_eq!(parse("pe --minutes 1.5").unwrap().time(), Duration::from_secs(90));
    }

    #[test]
    fn mistakes_are_named_with_what_there_is() {
        for (line, part) in [
            ("", "<TARGET>"),
            ("elt", "there are etl, record"),
            ("etl pe", "unexpected argument 'pe' found"),
            ("etl --time", "a value is required for '--time <TIME>'"),
            ("etl --time 2", "expected a number with a unit"),
            ("etl --time 0", "not between nothing and a week"),
            ("etl --time 1m --minutes 1", "cannot be used with"),
            ("etl --time 8d", "not between nothing and a week"),
            ("etl --list --replay x", "cannot be used with"),
            ("etl --tim 1s", "a similar argument exists: '--time'"),
        ] {
            let text = parse(line).unwrap_err();
            assert!(text.contains(part), "{line}: {text}");
        }
    }
}
