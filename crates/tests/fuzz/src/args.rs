//! The command line. Parsing is pure.

use std::path::PathBuf;
use std::time::Duration;

use etw_fuzz::{TARGETS, Target};

/// How long a run takes when nobody says.
const USUAL_TIME: Duration = Duration::from_mins(1);

/// What is to be done.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Print the targets.
    List,
    /// Run one file.
    Replay(&'static Target, PathBuf),
    /// Run the mutator.
    Mutate(&'static Target),
    /// Run this program, built for libFuzzer.
    LibFuzzer(&'static Target, PathBuf),
    /// Be the child of the mutator.
    Work { target: &'static Target, from: u64, careful: bool },
}

/// A command line that was understood.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    pub(crate) action: Action,
    pub(crate) time: Duration,
    pub(crate) seed: Option<u64>,
}

impl Args {
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let mut target = None;
        let (mut replay, mut program, mut from, mut seed) = (None, None, None, None);
        let (mut list, mut careful) = (false, false);
        let mut time = USUAL_TIME;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--list" => list = true,
                "--careful" => careful = true,
                "--minutes" => time = minutes(value()?)?,
                "--milliseconds" => time = Duration::from_millis(number(word, value()?)?),
                "--seed" => seed = Some(number(word, value()?)?),
                "--worker" => from = Some(number(word, value()?)?),
                "--replay" => replay = Some(PathBuf::from(value()?)),
                "--libfuzzer" => program = Some(PathBuf::from(value()?)),
                flag if flag.starts_with('-') => return Err(format!("unknown flag `{flag}`")),
                name if target.is_none() => target = Some(find(name)?),
                more => return Err(format!("unexpected argument `{more}`: one target at a time")),
            }
        }
        let wanted = || target.ok_or_else(|| format!("which target? There are {}", names()));
        let action = match (list, replay, program, from) {
            (true, ..) => Action::List,
            (_, Some(file), ..) => Action::Replay(wanted()?, file),
            (_, _, Some(program), _) => Action::LibFuzzer(wanted()?, program),
            (.., Some(from)) => Action::Work { target: wanted()?, from, careful },
            _ => Action::Mutate(wanted()?),
        };
        Ok(Self { action, time, seed })
    }
}

fn find(name: &str) -> Result<&'static Target, String> {
    Target::of(name).ok_or_else(|| format!("unknown target `{name}`: there are {}", names()))
}

fn names() -> String {
    TARGETS.map(|target| target.name).join(", ")
}

fn number(flag: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{flag}` needs a number, not `{text}`"))
}

/// More than nothing and at most a week; parts of a minute are allowed.
fn minutes(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("`--minutes` needs a number, not `{text}`"))?;
    if number > 0.0 && number <= 7.0 * 24.0 * 60.0 {
        Ok(Duration::from_secs_f64(number * 60.0))
    } else {
        Err(format!("`--minutes {text}` is not between 0 and a week"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Args};
    use std::time::Duration;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_target_alone_is_mutated_for_a_minute() {
        let args = parse("etl").unwrap();
        assert!(matches!(args.action, Action::Mutate(target) if target.name == "etl"));
        assert_eq!((args.time, args.seed), (Duration::from_mins(1), None));
    }

    #[test]
    fn time_seed_and_engine_are_read() {
        let args = parse("--minutes 0.5 pe --seed 7 --libfuzzer bin/pe").unwrap();
        assert!(
            matches!(args.action, Action::LibFuzzer(target, program) if target.name == "pe" && program.ends_with("pe"))
        );
        assert_eq!((args.time, args.seed), (Duration::from_secs(30), Some(7)));
    }

    #[test]
    fn mistakes_are_answered_with_what_there_is() {
        for (line, part) in [
            ("", "etl, record"),
            ("elt", "unknown target `elt`: there are etl"),
            ("etl pe", "one target at a time"),
            ("etl --minutes", "`--minutes` needs a value"),
            ("etl --minutes x", "needs a number"),
            ("etl --minutes 0", "between 0 and a week"),
            ("etl --minutes nan", "between 0 and a week"),
            ("etl --fast", "unknown flag `--fast`"),
        ] {
            let text = parse(line).unwrap_err();
            assert!(text.contains(part), "{line}: {text}");
        }
    }
}
