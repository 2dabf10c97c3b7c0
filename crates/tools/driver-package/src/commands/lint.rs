//! `lint`: INF files against rules of infverif.
//!
//! Exit codes: 0 when no file has an error, 1 when one has, 2 when a file cannot be read or the command line is wrong.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use driver_package::inf::lint::{RULES, Rule, lint};
use driver_package::inf::{Arch, Fault, Inf, Text};
use driver_package::{Level, Problem};

use super::{Command, Outcome, print};

pub(crate) const COMMAND: Command = Command { name: "lint", help: || HELP.into(), run };

const HELP: &str = "\
Holds INF files against rules of infverif, under its numbers

Usage: driver-package lint [flags] FILE...

Flags:
  --arch x64|arm64   the processor whose sections are looked at (x64)
  --rules            prints every rule
  --help             prints this text (also -h)

Exit codes: 0 no error, there may be warnings; 1 an error, with file, line and
rule; 2 wrong usage, or a file that cannot be read.
";

fn run(words: &[OsString]) -> Outcome {
    let mut arch = Arch::X64;
    let mut files: Vec<PathBuf> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_string_lossy().as_ref() {
            "--rules" => return Ok(print(&rules())),
            "--arch" => arch = super::package::arch(words.next())?,
            flag if flag.starts_with('-') => return Err(format!("unknown flag `{flag}`")),
            _ => files.push(word.into()),
        }
    }
    if files.is_empty() {
        return Err("no file given".into());
    }
    let mut worst = 0;
    let mut text = String::new();
    for file in &files {
        match fs::read(file) {
            Ok(bytes) => {
                for problem in problems(file, &bytes, arch) {
                    worst = worst.max(u8::from(problem.level == Level::Error));
                    let _ = writeln!(text, "{problem}");
                }
            }
            Err(error) => {
                eprintln!("error: {}: {error}", file.display());
                worst = 2;
            }
        }
    }
    Ok(print(&text).max(worst))
}

fn problems(file: &Path, bytes: &[u8], arch: Arch) -> Vec<Problem> {
    let parsed = Text::decode(bytes).and_then(|text| Inf::parse(&text.text));
    let faults = parsed.map_or_else(|fault| vec![fault], |inf| lint(&inf, arch));
    let describe = |fault: Fault| {
        let level = Rule::of(fault.rule).map_or(Level::Error, |rule| rule.level);
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
