//! `cargo xtask fuzz`: looks for input that breaks a reader, a decoder or a parser.
//!
//! The targets, the mutator and the summary are in the crate `etw-fuzz`, which is built when needed; its exit code is
//! ours. Here is decided which engine runs, and libFuzzer's is built.

use std::path::PathBuf;

use super::test::pick_nightly;
use crate::cli::{Command, Flag};
use crate::context::Context;
use driver_build::Error;
use driver_build::setup::note;

pub(super) const COMMAND: Command = Command {
    name: "fuzz",
    summary: "Looks for input that breaks a reader, decoder or parser",
    details: "\
Runs one target (--list shows them) on changed copies of the committed corpus.
Where rustup has a nightly toolchain, that is libFuzzer: cargo-fuzz is taken
from PATH, or installed into target/tools with `cargo install`. Elsewhere, and
with --mutator, a mutator of our own runs, which needs nothing but cargo and
does not see what its inputs reach. Both print their random seed. An input that
breaks a promise is written to target/fuzz/TARGET with how to reproduce it, and
the command ends with 1. Ctrl-C ends a run early, with its summary.
",
    flags: &[
        Flag { name: "TARGET", summary: "what is fuzzed" },
        Flag { name: "--time TIME", summary: "for how long, such as 90s or 10m (1m)" },
        Flag { name: "--minutes N", summary: "the same in minutes" },
        Flag { name: "--seed N", summary: "decides on the inputs; another one each time if not given" },
        Flag { name: MUTATOR, summary: "our own mutator, whatever is installed" },
        Flag { name: "--replay FILE", summary: "runs the target once, on this file" },
        Flag { name: "--list", summary: "prints the targets and how many seeds they have" },
    ],
    run,
};

const MUTATOR: &str = "--mutator";
/// The package with libFuzzer's entries, as cargo-fuzz wants it.
const FUZZ_DIR: &str = "crates/tests/fuzz/libfuzzer";
const TOOLS: &str = "target/tools";
const BUILT: &str = "target/libfuzzer";
/// Where cargo is told to put the programs; where else they are inside of its folder is its own affair.
const PROGRAMS: &str = "target/libfuzzer-programs";

fn run(context: &Context) -> Result<(), Error> {
    let mut words: Vec<String> = context.words().iter().filter(|word| *word != MUTATOR).cloned().collect();
    let runs = ![MUTATOR, "--list", "--replay"].iter().any(|flag| context.has_flag(flag));
    if let Some(target) = target(context.words()).filter(|target| runs && has_entry(context, target)) {
        match libfuzzer(context, target) {
            Ok(program) => words.extend([String::from("--libfuzzer"), program.display().to_string()]),
            Err(reason) => note(&format!("no libFuzzer, so our own mutator runs: {reason}")),
        }
    }
    context
        .cargo()
        .current_dir(&context.path("."))
        .args(["run", "--quiet", "--profile", "fuzz", "--package", "etw-fuzz", "--"])
        .args(words)
        .replace_ourselves()
}

/// The word that is neither a flag nor the value of one.
fn target(words: &[String]) -> Option<&str> {
    let takes_value = |word: &String| {
        COMMAND.flags.iter().any(|flag| flag.name.split_once(' ').is_some_and(|(name, _)| name == word.as_str()))
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if takes_value(word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// A mistyped target is not worth a build.
fn has_entry(context: &Context, target: &str) -> bool {
    context.path(FUZZ_DIR).join("fuzz_targets").join(format!("{target}.rs")).is_file()
}

/// Builds a target for libFuzzer and returns the program, or why that is not possible.
fn libfuzzer(context: &Context, target: &str) -> Result<PathBuf, String> {
    let toolchains = context.tool("rustup").args(["toolchain", "list"]).capture();
    let toolchains = toolchains.map_err(|_| String::from("rustup is not installed"))?;
    let nightly = pick_nightly(&toolchains)
        .ok_or_else(|| String::from("no nightly toolchain (rustup toolchain install nightly)"))?;
    let cargo_fuzz = cargo_fuzz(context)?;
    note(&format!("building {target} for libFuzzer with {nightly}"));
    let built = context
        .tool("rustup")
        // Nightly only, as libFuzzer is; cargo-fuzz has no flag for it.
        .hidden_env("CARGO_UNSTABLE_UNSTABLE_OPTIONS", "true")
        .hidden_env("CARGO_BUILD_ARTIFACT_DIR", context.path(PROGRAMS))
        .args(["run", nightly])
        .args([cargo_fuzz.as_str(), "fuzz", "build", "--fuzz-dir", FUZZ_DIR, "--target-dir", BUILT])
        // The crates have no unsafe code of their own that a sanitizer would watch.
        .args(["--sanitizer", "none", target])
        .capture();
    built.map_err(|error| last_lines(&error.to_string()))?;
    let program = context.path(PROGRAMS).join(target);
    if program.is_file() { Ok(program) } else { Err(format!("{} was not built", program.display())) }
}

/// cargo-fuzz from PATH, from an earlier run, or installed now.
fn cargo_fuzz(context: &Context) -> Result<String, String> {
    let ours = context.path(TOOLS).join("bin/cargo-fuzz").display().to_string();
    for program in ["cargo-fuzz", ours.as_str()] {
        if context.tool(program).args(["fuzz", "--version"]).succeeds() {
            return Ok(program.to_owned());
        }
    }
    note(&format!("installing cargo-fuzz into {TOOLS} with cargo install (about a minute)"));
    let install = context.cargo().args(["install", "cargo-fuzz", "--locked", "--root", TOOLS]).capture();
    install
        .map(|_| ours)
        .map_err(|error| format!("cargo-fuzz could not be installed\n{}", last_lines(&error.to_string())))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{COMMAND, Context, TOOLS, has_entry, last_lines, target};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn the_target_is_found_between_flags_and_their_values() {
        assert_eq!(target(&words("--time 10m etl --seed 7")), Some("etl"));
        assert_eq!(target(&words("--minutes 10 etl")), Some("etl"));
        assert_eq!(target(&words("pe --mutator")), Some("pe"));
        assert_eq!(target(&words("--time 10m --list")), None);
    }

    #[test]
    fn only_existing_targets_are_built() {
        let context = Context::new(Vec::new());
        assert!(has_entry(&context, "etl"));
        assert!(!has_entry(&context, "elt"));
    }

    #[test]
    fn a_reason_is_the_end_of_what_was_said() {
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6"), "2\n3\n4\n5\n6");
        assert_eq!(last_lines("only"), "only");
    }

    #[test]
    fn the_help_says_what_is_installed_and_where() {
        assert!(COMMAND.details.contains(TOOLS));
    }
}
