//! `cargo xtask fuzz`: searches for input that makes a reader, a decoder or a parser fail.
//!
//! cargo-fuzz builds a target and runs it with libFuzzer. No sanitizer is used: it would need a nightly compiler, and
//! the fuzzed code has no unsafe code for it to check.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::cargo_tool;
use crate::command::{Command, Flag};
use crate::context::Context;
use driver_build::{Error, output};

pub(super) const COMMAND: Command = Command {
    name: "fuzz",
    summary: "Searches for input that makes a reader or decoder fail",
    details: "\
Runs one target (--list prints them) with libFuzzer on changed copies of the
committed corpus. cargo-fuzz is taken from PATH, or installed into target/tools
with `cargo install`; libFuzzer needs a C++ compiler. New inputs are kept in
target/fuzz/TARGET/corpus. An input that makes the target fail is written to
target/fuzz/TARGET, and the exit code is 1; --replay runs this input again.
Ctrl-C ends a run early.
",
    flags: &[
        Flag { name: "TARGET", summary: "the target to fuzz" },
        Flag { name: "--time TIME", summary: "how long to run, such as 90s, 10m or 2h (default: 1m)" },
        Flag { name: "--minutes N", summary: "how long to run, in minutes; may be a fraction" },
        Flag { name: "--seed N", summary: "the random seed (default: a new one for each run)" },
        Flag { name: "--replay FILE", summary: "runs the target once, on this file" },
        Flag { name: "--list", summary: "prints the targets" },
    ],
    only_lists: false,
    run,
};

/// The package with libFuzzer's entry points, in the layout that cargo-fuzz requires.
const FUZZ_DIR: &str = "crates/dev/fuzz/libfuzzer";
const CORPUS: &str = "crates/dev/fuzz/corpus";
/// Additional folders with seeds for a target, which other targets or tests use as well.
const SHARED: [(&str, &str); 3] = [
    ("etl", "crates/traces/etw-etl/tests/corpus"),
    ("loader", "crates/dev/fuzz/corpus/pe"),
    ("manifest", "crates/dev/fuzz/corpus/pe"),
];
const BUILT: &str = "target/libfuzzer";

fn run(context: &Context) -> Result<(), Error> {
    let arguments = Arguments::parse(context.words())?;
    let known = targets(context)?;
    let Some(target) = arguments.target else {
        output::print(&known.iter().flat_map(|name| [name.as_str(), "\n"]).collect::<String>());
        return Ok(());
    };
    if !known.iter().any(|name| name == target) {
        return Err(Error::Usage(format!("unknown target `{target}`: expected one of {}", known.join(", "))));
    }
    // The command runs in the root of the repository.
    let replay = arguments.replay.map(|file| std::env::current_dir().unwrap_or_default().join(file));
    if let Some(file) = &replay {
        // Before anything is installed or built.
        fs::File::open(file).map_err(|error| Error::Usage(format!("{}: {error}", file.display())))?;
    }
    let own = format!("target/fuzz/{target}");
    let learned = format!("{own}/corpus");
    fs::create_dir_all(context.path(&learned)).map_err(|error| Error::Failed(format!("{learned}: {error}")))?;
    let seeds = [learned, format!("{CORPUS}/{target}")].into_iter();
    let shared = SHARED.iter().filter(|(name, _)| *name == target).map(|(_, dir)| String::from(*dir));
    let seeds = seeds.chain(shared).filter(|dir| context.path(dir).is_dir());
    let inputs = replay.map_or_else(|| seeds.map(PathBuf::from).collect(), |file| vec![file]);
    context
        .tool(&cargo_tool::ensure(context, "cargo-fuzz", "cargo-fuzz", &["fuzz", "--version"])?)
        .current_dir(&context.path("."))
        .args(["fuzz", "run", "--fuzz-dir", FUZZ_DIR, "--target-dir", BUILT, "--sanitizer", "none", target])
        .args(inputs)
        .args(["--", &format!("-artifact_prefix={own}/"), "-timeout=10", "-rss_limit_mb=2048"])
        .args(arguments.limits())
        .replace_ourselves()
}

/// The parsed command line. Without a target, the command prints the list of targets.
#[derive(Debug, Default, PartialEq)]
struct Arguments<'a> {
    target: Option<&'a str>,
    seconds: u64,
    seed: Option<u32>,
    replay: Option<&'a str>,
}

impl<'a> Arguments<'a> {
    fn parse(words: &'a [String]) -> Result<Self, Error> {
        let mut arguments = Self { seconds: 60, ..Self::default() };
        let mut lists = false;
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            // `cli::parse` has checked that each of these flags has a value.
            let mut value = || words.next().unwrap_or_default();
            match word {
                "--list" => lists = true,
                "--time" => arguments.seconds = seconds(value())?,
                "--minutes" => arguments.seconds = minutes(value())?,
                "--seed" => {
                    let seed = value();
                    let bad = |_| Error::Usage(format!("invalid value '{seed}' for --seed: expected a 32-bit number"));
                    arguments.seed = Some(seed.parse().map_err(bad)?);
                }
                "--replay" => arguments.replay = Some(value()),
                target => arguments.target = Some(target),
            }
        }
        match (lists, arguments.target) {
            (true, _) => Ok(Self::default()),
            (false, None) => Err(Error::Usage("no target given; `cargo xtask fuzz --list` prints the targets".into())),
            (false, Some(_)) => Ok(arguments),
        }
    }

    /// Returns libFuzzer's options for the time limit and the seed.
    fn limits(&self) -> Vec<String> {
        let time = self.replay.is_none().then(|| format!("-max_total_time={}", self.seconds));
        time.into_iter().chain(self.seed.map(|seed| format!("-seed={seed}"))).collect()
    }
}

/// Parses a time with a unit, such as `90s`.
fn seconds(text: &str) -> Result<u64, Error> {
    let units = [("s", 1), ("m", 60), ("h", 3600)];
    let parsed = units.into_iter().find_map(|(unit, scale)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(scale).filter(|seconds| *seconds > 0)
    });
    parsed.ok_or_else(|| {
        Error::Usage(format!("invalid value '{text}' for --time: expected a time such as 90s, 10m or 2h"))
    })
}

/// Parses a number of minutes. Returns seconds.
fn minutes(text: &str) -> Result<u64, Error> {
    let time = text.parse().ok().and_then(|minutes: f64| Duration::try_from_secs_f64(minutes * 60.0).ok());
    let time = time.map(|time| time.as_secs()).filter(|seconds| *seconds > 0);
    time.ok_or_else(|| Error::Usage(format!("invalid value '{text}' for --minutes: expected a number of minutes")))
}

/// Returns the names of the targets: the files in `fuzz_targets`.
fn targets(context: &Context) -> Result<Vec<String>, Error> {
    let dir = context.path(FUZZ_DIR).join("fuzz_targets");
    let entries = fs::read_dir(&dir).map_err(|error| Error::Failed(format!("{}: {error}", dir.display())))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{Arguments, COMMAND, Context, SHARED, seconds, targets};
    use crate::cargo_tool::TOOLS;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn target_time_seed_and_file_are_read() {
        let line = words("--time 10m etl --seed 7");
        let arguments = Arguments::parse(&line).unwrap();
        assert_eq!(arguments.target, Some("etl"));
        assert_eq!(arguments.replay, None);
        assert_eq!(arguments.limits(), ["-max_total_time=600", "-seed=7"]);
        let line = words("pe --replay crash.bin");
        let arguments = Arguments::parse(&line).unwrap();
        assert_eq!(arguments.replay, Some("crash.bin"));
        assert!(arguments.limits().is_empty());
        assert_eq!(Arguments::parse(&words("--time 10m --list")).unwrap(), Arguments::default());
        assert!(Arguments::parse(&[]).unwrap_err().to_string().contains("--list"));
    }

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(["90s", "10m", "2h"].map(|text| seconds(text).unwrap()), [90, 600, 7200]);
        for text in ["", "10", "0s", "m", "-1m", "1d", "18446744073709551615h"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(super::minutes("1.5").unwrap(), 90);
        assert!(["", "0", "-1", "x", "nan", "1e300"].iter().all(|text| super::minutes(text).is_err()));
    }

    #[test]
    fn the_folders_that_targets_share_are_there() {
        let context = Context::new(Vec::new());
        let known = targets(&context).unwrap();
        assert!(SHARED.iter().all(|(name, dir)| known.contains(&(*name).into()) && context.path(dir).is_dir()));
    }

    #[test]
    fn the_help_says_what_is_installed_and_where() {
        assert!(COMMAND.details.contains(TOOLS));
    }
}
