//! `cargo xtask mutants`: changes the code in small ways and checks that a test fails for each change.
//!
//! cargo-mutants makes the changes (mutants) and runs the tests. This module selects the tests of each package and
//! judges the result. `.cargo/mutants.toml` lists the mutants that are not tried, with reasons.

use std::fmt::Write as _;
use std::fs;

use crate::cargo_tool;
use crate::command::{Command, Flag};
use crate::context::Context;
use driver_build::{Error, output};

pub(super) const COMMAND: Command = Command {
    name: "mutants",
    summary: "Checks that tests notice small changes of the code",
    details: "\
Changes one expression or function at a time (a mutant) and runs the quick tests
of its package. Prints the mutants that no test notices, and the share of viable
mutants that are caught, for each package; fails if a share is below 95 %. A
mutant that does not compile is not viable. One whose tests do not end counts as
caught. Packages: etw-types, wdk-etw-macros, wdk-etw, driver-package, etw-etl,
etw-engine. They have 7,000 mutants, and each is a build and a run of the tests:
use --shard. cargo-mutants is taken from PATH, or installed into target/tools
with `cargo install`. .cargo/mutants.toml lists the mutants that are not tried,
with the reasons. The logs are in target/mutants/PACKAGE/mutants.out.
",
    flags: &[
        Flag { name: "--package NAME", summary: "only this package (may be repeated)" },
        Flag { name: "--shard K/N", summary: "only part K, from 0 to N-1, of N equal parts" },
        Flag { name: LIST, summary: "prints the mutants without testing them" },
    ],
    only_lists: false,
    run,
};

const LIST: &str = "--list";
const OUTPUT: &str = "target/mutants";
/// The share of viable mutants, in percent, that the tests must catch.
const REQUIRED: usize = 95;

/// A package, and the tests that run for each of its mutants: its unit tests and its program of integration tests.
struct Tested {
    package: &'static str,
    /// Arguments of cargo-mutants.
    options: &'static [&'static str],
    /// Modules of the integration tests that take long, and do not run: they build images, start other programs, or
    /// repeat many times.
    slow: &'static [&'static str],
}

/// The targets that are built and tested.
const TARGETS: [&str; 3] = ["--cargo-arg=--lib", "--cargo-arg=--bins", "--cargo-arg=--test=it"];

/// The packages, the smallest first.
const PACKAGES: [Tested; 6] = [
    Tested { package: "etw-types", options: &["--features", "std"], slow: &[] },
    Tested {
        package: "wdk-etw-macros",
        // Most of its tests are those of the crate that exports the macros. A mutant whose expansion does not compile
        // there is not viable.
        options: &["--test-package", "wdk-etw-macros", "--test-package", "wdk-etw"],
        slow: &[],
    },
    Tested { package: "wdk-etw", options: &[], slow: &[] },
    Tested { package: "driver-package", options: &[], slow: &["hostile", "hostile_inf", "verifiers", "witnesses"] },
    Tested { package: "etw-etl", options: &[], slow: &["genuine", "hostile", "killed", "page", "witnesses"] },
    Tested {
        package: "etw-engine",
        options: &[],
        slow: &["any_bytes", "any_sequence", "concurrency", "killed_process", "storm"],
    },
];

fn run(context: &Context) -> Result<(), Error> {
    let arguments = Arguments::parse(context.words())?;
    let program = cargo_tool::ensure(context, "cargo-mutants", "cargo-mutants", &["mutants", "--version"])?;
    let chosen = || {
        PACKAGES.iter().filter(|tested| arguments.packages.is_empty() || arguments.packages.contains(&tested.package))
    };
    let start = |tested: &Tested| {
        let tool = context.tool(&program).current_dir(&context.path("."));
        let tool = tool.args(["mutants", "--package", tested.package]).args(tested.options);
        // Round-robin: each part has mutants of every file.
        arguments.shard.into_iter().fold(tool, |tool, shard| tool.args(["--sharding=round-robin", "--shard", shard]))
    };
    if arguments.lists {
        return chosen().try_for_each(|tested| start(tested).args([LIST]).run());
    }
    let mut counts = Vec::new();
    for tested in chosen() {
        let dir = format!("{OUTPUT}/{}", tested.package);
        fs::create_dir_all(context.path(&dir)).map_err(|error| Error::Failed(format!("{dir}: {error}")))?;
        // Arguments after `--` have no effect when the tests are built, so the targets are not among them.
        let skipped = tested.slow.iter().flat_map(|module| ["--skip".to_owned(), format!("{module}::")]);
        // The exit code is 2 if a mutant was missed, 3 if tests did not end, and 4 if tests fail without a mutant.
        let tool = start(tested).args(["--output", &dir]).args(TARGETS).args(["--", "--"]).args(skipped);
        match tool.run_ours() {
            Ok(()) | Err(Error::Reported(2 | 3)) => {}
            Err(Error::Reported(4)) => {
                let log = format!("{dir}/mutants.out/log/baseline.log");
                return Err(Error::Failed(format!("the tests of {} fail without a mutant; see {log}", tested.package)));
            }
            Err(Error::Reported(code)) => {
                return Err(Error::Failed(format!("cargo-mutants failed with exit code {code}")));
            }
            Err(error) => return Err(error),
        }
        let read = |name: &str| {
            let file = format!("{dir}/mutants.out/{name}.txt");
            fs::read_to_string(context.path(&file)).map_err(|error| Error::Failed(format!("{file}: {error}")))
        };
        counts.push(Count::new(tested.package, &read("caught")?, &read("timeout")?, &read("missed")?));
    }
    output::print(&report(&counts));
    verdict(&counts)
}

/// The parsed command line.
#[derive(Debug, Default, PartialEq)]
struct Arguments<'a> {
    /// Empty for all packages.
    packages: Vec<&'a str>,
    shard: Option<&'a str>,
    lists: bool,
}

impl<'a> Arguments<'a> {
    fn parse(words: &'a [String]) -> Result<Self, Error> {
        let mut arguments = Self::default();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            // `cli::parse` has checked that the flags exist and have their values.
            match word {
                LIST => arguments.lists = true,
                "--package" => arguments.packages.push(package(words.next().unwrap_or_default())?),
                _ => arguments.shard = Some(shard(words.next().unwrap_or_default())?),
            }
        }
        Ok(arguments)
    }
}

fn package(name: &str) -> Result<&str, Error> {
    if PACKAGES.iter().any(|tested| tested.package == name) {
        return Ok(name);
    }
    let known = PACKAGES.map(|tested| tested.package).join(", ");
    Err(Error::Usage(format!("unknown package `{name}`: expected one of {known}")))
}

fn shard(text: &str) -> Result<&str, Error> {
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
    match numbers {
        Some((k, n)) if k < n => Ok(text),
        _ => Err(Error::Usage(format!(
            "invalid value '{text}' for --shard: expected K/N with K from 0 to N-1, for example 0/8"
        ))),
    }
}

/// The viable mutants of one package.
struct Count<'a> {
    package: &'a str,
    caught: usize,
    timeouts: usize,
    /// The mutants that no test noticed.
    missed: Vec<String>,
}

impl<'a> Count<'a> {
    /// Counts the lines of cargo-mutants' lists.
    fn new(package: &'a str, caught: &str, timeouts: &str, missed: &str) -> Self {
        let missed = missed.lines().map(String::from).collect();
        Self { package, caught: caught.lines().count(), timeouts: timeouts.lines().count(), missed }
    }

    fn viable(&self) -> usize {
        self.caught() + self.missed.len()
    }

    fn caught(&self) -> usize {
        self.caught + self.timeouts
    }

    /// Returns the share of noticed mutants in tenths of a percent, rounded down, so that 100 % means all of them.
    fn share(&self) -> usize {
        (self.caught() * 1000).checked_div(self.viable()).unwrap_or(1000)
    }

    fn percent(&self) -> String {
        format!("{}.{} %", self.share() / 10, self.share() % 10)
    }
}

fn report(counts: &[Count<'_>]) -> String {
    let mut text = String::new();
    let missed: Vec<&String> = counts.iter().flat_map(|count| &count.missed).collect();
    let _ = writeln!(text, "mutants that no test notices: {}", missed.len());
    for mutant in missed {
        let _ = writeln!(text, "  {mutant}");
    }
    let _ = writeln!(
        text,
        "\n{:<16}{:>8}{:>8}{:>10}{:>8}{:>10}",
        "package", "viable", "caught", "timeouts", "missed", "share"
    );
    for count in counts {
        let Count { package, caught, timeouts, missed } = count;
        let viable = count.viable();
        let missed = missed.len();
        let share = count.percent();
        let _ = writeln!(text, "{package:<16}{viable:>8}{caught:>8}{timeouts:>10}{missed:>8}{share:>10}");
    }
    text
}

fn verdict(counts: &[Count<'_>]) -> Result<(), Error> {
    let below = counts.iter().filter(|count| count.share() < REQUIRED * 10);
    let below: Vec<String> = below.map(|count| format!("{} ({})", count.package, count.percent())).collect();
    if below.is_empty() {
        return Ok(());
    }
    let packages = below.join(", ");
    Err(Error::Failed(format!("the tests catch fewer than {REQUIRED} % of the viable mutants of {packages}")))
}

#[cfg(test)]
mod tests {
    use super::{Arguments, COMMAND, Count, PACKAGES, REQUIRED, Tested, report, verdict};
    use crate::cargo_tool::TOOLS;
    use crate::context::Context;
    use std::fs;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn packages_shard_and_list_are_read() {
        let line = words("--package etw-etl --shard 3/4 --list --package wdk-etw");
        let expected = Arguments { packages: vec!["etw-etl", "wdk-etw"], shard: Some("3/4"), lists: true };
        assert_eq!(Arguments::parse(&line).unwrap(), expected);
        assert_eq!(Arguments::parse(&[]).unwrap(), Arguments::default());
        let error = Arguments::parse(&words("--package xtask")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("unknown package `xtask`: expected one of etw-types, "), "{error}");
        for shard in ["", "4", "4/4", "1/0", "-1/4", "a/4", "1/2/3"] {
            let line = ["--shard".into(), shard.into()];
            assert!(Arguments::parse(&line).unwrap_err().to_string().contains("for example 0/8"), "{shard}");
        }
    }

    #[test]
    fn survivors_and_shares_are_printed() {
        let counts = [Count::new("small", "a\nb\n", "", "c: replace f\n"), Count::new("empty", "", "", "")];
        let expected = "mutants that no test notices: 1\n  c: replace f\n\n\
            package           viable  caught  timeouts  missed     share\n\
            small                  3       2         0       1    66.6 %\n\
            empty                  0       0         0       0   100.0 %\n";
        assert_eq!(report(&counts), expected);
    }

    #[test]
    fn a_share_below_the_required_one_fails() {
        let lines = |number| "m\n".repeat(number);
        assert_eq!(
            verdict(&[Count::new("enough", &lines(18), &lines(1), &lines(1)), Count::new("none", "", "", "")]),
            Ok(())
        );
        let counts =
            [Count::new("enough", &lines(95), "", &lines(5)), Count::new("fewer", &lines(949), "", &lines(51))];
        let error = verdict(&counts).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert_eq!(error.to_string(), "the tests catch fewer than 95 % of the viable mutants of fewer (94.9 %)");
    }

    #[test]
    fn the_help_names_packages_limit_and_folder() {
        let help = COMMAND.details.replace('\n', " ");
        assert!(help.contains(&PACKAGES.map(|tested| tested.package).join(", ")));
        assert!(help.contains(&format!("below {REQUIRED} %")));
        assert!(help.contains(TOOLS));
    }

    #[test]
    fn the_slow_modules_exist() {
        let context = Context::new(Vec::new());
        for Tested { package, slow, .. } in &PACKAGES {
            let products = fs::read_dir(context.path("crates")).unwrap().map(|product| product.unwrap().path());
            let dirs: Vec<_> = products.map(|product| product.join(package).join("tests/it")).collect();
            for module in *slow {
                let file = format!("{module}.rs");
                let exists = dirs.iter().any(|dir| dir.join(&file).is_file());
                assert!(exists, "{package}: no module {module}");
            }
        }
    }

    #[test]
    fn every_excluded_mutant_has_a_reason() {
        let settings = fs::read_to_string(Context::new(Vec::new()).path(".cargo/mutants.toml")).unwrap();
        let mut previous = "";
        for line in settings.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let is_excluded = line.starts_with(['"', '\'']);
            assert!(!is_excluded || previous.starts_with('#'), "no comment before {line}");
            previous = line;
        }
    }
}
