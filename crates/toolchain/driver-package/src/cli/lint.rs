//! `lint`: checks INF files with rules of infverif.
//!
//! Exit codes: 0 if no file has an error, 1 if one has, 2 if a file cannot be read or the command line is wrong.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use command_line::{escaped, exit, print};

use super::Outcome;
use crate::inf::lint::{RULES, Rule, lint};
use crate::inf::{Arch, Fault, Inf, Text};
use crate::{Level, Problem};

/// Check INF files with rules of infverif, which have the same numbers
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 no error, there may be warnings; 1 an error, with file, line and rule; 2 wrong usage, or \
                        a file that cannot be read."
)]
pub(super) struct Arguments {
    /// INF or INX files
    #[arg(required_unless_present = "rules", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The processor whose sections are checked
    #[arg(long, value_parser = super::arch(), default_value = "x64")]
    arch: Arch,
    /// Print every rule
    #[arg(long)]
    rules: bool,
}

impl Arguments {
    /// Returns whether only the rules are printed.
    pub(super) fn is_listing(&self) -> bool {
        self.rules
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every command")]
pub(super) fn run(arguments: &Arguments) -> Outcome {
    if arguments.rules {
        print(&rules());
        return Ok(exit::SUCCESS);
    }
    let mut worst = 0;
    let mut text = String::new();
    for file in &arguments.files {
        match fs::read(file) {
            Ok(bytes) => {
                for problem in problems(file, &bytes, arguments.arch) {
                    worst = worst.max(u8::from(problem.level == Level::Error));
                    let _ = writeln!(text, "{}", escaped(&problem.to_string()));
                }
            }
            Err(error) => {
                command_line::error(&format!("{}: {error}", file.display()));
                worst = exit::USAGE;
            }
        }
    }
    print(&text);
    Ok(worst)
}

fn problems(file: &Path, bytes: &[u8], arch: Arch) -> Vec<Problem> {
    let parsed = Text::decode(bytes).and_then(|text| Inf::parse(&text.text));
    let faults = parsed.map_or_else(|fault| vec![fault], |inf| lint(&inf, arch));
    let describe = |fault: Fault| {
        let level = Rule::from_number(fault.rule).map_or(Level::Error, |rule| rule.level);
        Problem { level, ..Problem::error(file, fault.rule.to_string(), fault.text).at(fault.line) }
    };
    faults.into_iter().map(describe).collect()
}

fn rules() -> String {
    let mut text = String::new();
    for rule in RULES {
        let level = if rule.level == Level::Error { "error" } else { "warning" };
        let _ = writeln!(text, "{} ({level}) {}", rule.number, rule.what);
    }
    text
}
