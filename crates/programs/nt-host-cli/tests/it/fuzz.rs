//! `nt-host fuzz`, and commands that reproduce what the fuzzer finds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nt_host::{Fuzz, Harvest, NtHost, Rule};
use test_support::drivers::{c, temporary};

fn driver(bug: u32) -> PathBuf {
    c::build("fuzz_bugs", bug, "DriverEntry", &["ntoskrnl"])
}

fn fuzz(bug: u32, executions: u64) -> Harvest {
    let builder = NtHost::builder().driver(driver(bug));
    Fuzz::new(builder).seed(2).executions(executions).run().expect("a session")
}

fn nt_host(words: &[&str], path: &Path) -> Output {
    let (command, rest) = words.split_first().expect("a command");
    Command::new(env!("CARGO_BIN_EXE_nt-host")).arg(command).arg(path).args(rest).output().expect("the command")
}

#[test]
fn a_reproduction_is_a_command_that_has_the_same_finding() {
    let harvest = fuzz(2, 1_000);
    for bug in harvest.bugs.iter().filter(|bug| bug.is_reproduced && bug.finding.rule != Rule::Hang) {
        let options = bug.input.options();
        let words: Vec<&str> = ["run"].into_iter().chain(options.iter().map(String::as_str)).collect();
        let output = nt_host(&words, &driver(2));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{options:?}: {text}");
        assert!(text.contains(bug.finding.rule.id()), "{}: {options:?}: {text}", bug.finding);
    }
}

/// The commands of the sample session in the documentation still have its findings, at its lines. Addresses and offsets differ.
#[test]
fn the_documented_session_is_that_of_the_driver() {
    let page = fs::read_to_string("../../../docs/fuzzing.md").expect("the page");
    let lines: Vec<&str> = page.lines().collect();
    let mut count = 0;
    for (finding, command) in lines.iter().zip(lines.iter().skip(1)) {
        let Some(options) = command.strip_prefix("  nt-host run fuzz_bugs.sys ") else { continue };
        let words: Vec<&str> = ["run"].into_iter().chain(options.split(' ')).collect();
        let output = nt_host(&words, &driver(1));
        let text = String::from_utf8_lossy(&output.stdout);
        let (what, place) = finding.split_once(" at image+").expect("a place");
        let (rule, detail) = what.split_once(": ").expect("a rule");
        let detail = detail.split(" [").next().unwrap_or_default();
        let mut parts = detail.split("0x").map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
        assert!(text.contains(rule), "{finding}\n{text}");
        assert!(parts.all(|part| text.contains(part)), "{finding}\n{text}");
        let (function, line) = place.split_once(" (").expect("a line");
        let function = function.split([' ', '+']).nth(1).unwrap_or_default();
        let line = line.split(')').next().unwrap_or_default();
        assert!(text.contains(function), "{finding}\n{text}");
        assert!(text.contains(&format!("/{line})")), "{finding}\n{text}");
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn a_session_leaves_a_corpus_and_findings_with_their_reproductions() {
    let folder = temporary("fuzz-session");
    let _ = fs::remove_dir_all(&folder);
    let output = folder.display().to_string();
    let words = ["fuzz", "--executions", "1500", "--seed", "3", "--output", &output, "--json"];
    let first = nt_host(&words, &driver(1));
    let text = String::from_utf8_lossy(&first.stdout).into_owned() + &String::from_utf8_lossy(&first.stderr);
    assert_eq!(first.status.code(), Some(3), "{text}");
    assert!(text.contains("\"schema_version\":1,\"seed\":3,"), "{text}");
    assert!(text.contains("\"requests_per_second\":"), "{text}");
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(Path::new(&output).join(folder)).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let inputs = names("corpus");
    let findings = names("findings");
    assert!(inputs.len() > 5, "{inputs:?}");
    assert!(inputs.iter().all(|name| Path::new(name).extension().is_some_and(|end| end == "steps")), "{inputs:?}");
    let finding = Path::new(&output).join("findings").join(findings.first().expect("a finding"));
    let report = fs::read_to_string(finding.join("finding.txt")).expect("a report");
    assert!(report.contains("\nnt-host run "), "{report}");
    assert!(fs::read_to_string(finding.join("test.rs")).expect("a test").contains("#[test]"));
    let page = fs::read_to_string(Path::new(&output).join("coverage.html")).expect("a page");
    assert!(page.contains("fuzz_bugs.c"), "{text}");
    assert!(text.contains("\"coverage\":\""), "{text}");
    // The next session begins with the inputs of this one.
    let second = nt_host(&["fuzz", "--executions", "200", "--seed", "4", "--output", &output], &driver(0));
    assert_eq!(second.status.code(), Some(0), "{}", String::from_utf8_lossy(&second.stdout));
    assert!(names("corpus").is_superset(&inputs));
}

#[test]
fn corpora_of_two_sessions_are_merged_by_copying_their_files() {
    let folder = temporary("fuzz-merge");
    let _ = fs::remove_dir_all(&folder);
    let blocks = |words: &[&str]| -> u64 {
        let output = nt_host(&[&["fuzz", "--json"], words].concat(), &driver(0));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rest = text.split_once("\"blocks_reached\":").unwrap_or_else(|| panic!("{text}")).1;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
    };
    let merged = folder.join("merged");
    fs::create_dir_all(&merged).expect("a folder");
    let mut most = 0;
    for seed in ["11", "12"] {
        let output = folder.join(seed).display().to_string();
        most = most.max(blocks(&["--executions", "1500", "--seed", seed, "--output", &output]));
        for entry in fs::read_dir(folder.join(seed).join("corpus")).expect("a corpus") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, merged.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    let count = (2 * fs::read_dir(&merged).expect("a folder").count()).to_string();
    let corpus = merged.display().to_string();
    let output = folder.join("last").display().to_string();
    // One of four sequences is made up, so all inputs run, and hardly anything else.
    let words = ["--executions", &count, "--seed", "13", "--output", &output];
    let with = blocks(&[words.as_slice(), &["--corpus", &corpus]].concat());
    let without = blocks(&words);
    // An input may depend on what earlier sequences left in the driver.
    assert!(with > without, "{with} with the corpus, {without} without, {most} before");
    assert!(with * 10 >= most * 9, "{with} with the corpus, {without} without, {most} before");
}

#[test]
fn what_cannot_be_fuzzed_is_refused_with_the_reason() {
    let folder = temporary("fuzz-refused");
    let grammar = folder.join("grammar.toml");
    fs::write(&grammar, "[[request]]\ncode = \"x\"\n").expect("a file");
    let grammar = grammar.display().to_string();
    for (words, path, code, reason) in [
        (&["fuzz"][..], folder.join("missing.sys"), 2, "missing.sys: No such file"),
        (&["fuzz", "--grammar", &grammar], driver(0), 2, "grammar.toml: "),
        (&["fuzz", "--jobs", "0"], driver(0), 2, "0 is not in 1..=256"),
        (&["fuzz", "--time", "5"], driver(0), 2, "expected a number with a unit"),
        (&["fuzz", "--fail", "IoCreateDevice"], driver(0), 1, "DriverEntry returned"),
    ] {
        let output = nt_host(words, &path);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        assert!(text.contains(reason), "{words:?}: {text}");
    }
}
