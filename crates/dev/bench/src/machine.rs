//! Describes the machine of a run.

use std::fs;
use std::process::Command;

/// The profile of this program, which contains the libraries that it measures.
const PROFILE: &str = if cfg!(debug_assertions) { "dev" } else { "release" };

/// Returns names and values, in the order in which they are shown.
#[must_use]
pub fn describe() -> Vec<(String, String)> {
    let cores =
        std::thread::available_parallelism().map_or_else(|_| String::from("unknown"), |count| count.to_string());
    let facts = [
        ("date", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        ("processor", file("/proc/cpuinfo").as_deref().and_then(|text| line(text, "model name"))),
        ("processors in use", Some(cores)),
        ("memory", file("/proc/meminfo").as_deref().and_then(|text| line(text, "MemTotal"))),
        ("system", file("/etc/os-release").as_deref().and_then(|text| quoted(text, "PRETTY_NAME="))),
        ("kernel", file("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned())),
        ("load before the run", file("/proc/loadavg").map(|text| first_words(&text, 3))),
        ("compiler", output("rustc", &["--version"])),
        ("profile of the programs", Some(PROFILE.into())),
    ];
    let known = |(name, value): (&str, Option<String>)| (name.into(), value.unwrap_or_else(|| String::from("unknown")));
    facts.into_iter().map(known).collect()
}

/// The processor time of the machine since the system was started: all of it, and what the host of a virtual machine gave to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    all: u64,
    stolen: u64,
}

impl ProcessorTime {
    /// Reads the current state, if the system has it.
    #[must_use]
    pub fn now() -> Option<Self> {
        Self::parse(&file("/proc/stat")?)
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map(str::parse);
        // user, nice, system, idle, iowait, irq, softirq, steal. Those that follow are already part of the first two.
        let numbers: Vec<u64> = numbers.take(8).collect::<Result<_, _>>().ok()?;
        Some(Self { all: numbers.iter().sum(), stolen: *numbers.get(7)? })
    }

    /// Returns the share that others have had since this state, in percent.
    #[must_use]
    pub fn stolen_since(self) -> Option<u64> {
        let now = Self::now()?;
        (now.stolen.checked_sub(self.stolen)? * 100).checked_div(now.all.checked_sub(self.all)?)
    }
}

fn file(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the value of the first line `name : value`.
fn line(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn quoted(text: &str, start: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(start))?;
    Some(line.trim_start_matches(start).trim_matches('"').to_owned())
}

fn first_words(text: &str, count: usize) -> String {
    text.split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{ProcessorTime, describe, first_words, line, quoted};

    #[test]
    fn lines_are_found_by_their_name() {
        let text = "processor\t: 0\nmodel name\t: A  Fast One @ 3 GHz\nmodel name\t: other\n";
        assert_eq!(line(text, "model name").as_deref(), Some("A Fast One @ 3 GHz"));
        assert_eq!(line(text, "flags"), None);
        assert_eq!(quoted("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n", "PRETTY_NAME=").as_deref(), Some("Some Linux 12"));
        assert_eq!(first_words("0.1 0.2 0.3 1/99 7", 3), "0.1 0.2 0.3");
    }

    #[test]
    fn time_that_others_had_is_counted_once() {
        let text = "cpu  100 20 30 400 5 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(ProcessorTime::parse(text), Some(ProcessorTime { all: 648, stolen: 80 }));
        assert_eq!(ProcessorTime::parse("cpu  1 2 3\n"), None);
        assert_eq!(ProcessorTime { all: 0, stolen: u64::MAX }.stolen_since(), None);
    }

    #[test]
    fn every_fact_has_a_value() {
        assert!(describe().iter().all(|(name, value)| !name.is_empty() && !value.is_empty()));
    }
}
