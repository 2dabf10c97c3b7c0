//! The fuzzer finds the bugs that are planted in a driver, finds none in the same driver without them, and its
//! reproductions reproduce.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::c;
use nt_host::{Bug, Field, Fuzz, Grammar, Harvest, IoRequest, NtHost, RequestFormat, RequestKind, Rule};

/// The bugs of `fuzz_bugs.c` that a short session finds: the rule, the function with the mistake, and a part of the
/// description.
const BUGS: [(Rule, &str, &str); 23] = [
    (Rule::BugCheck, "StackOverflow", "0xF7"),
    (Rule::AccessViolation, "MissingLengthCheck", "NULL"),
    (Rule::PoolOverrun, "Read", ""),
    (Rule::PoolOverrun, "DoubleFetch", ""),
    (Rule::HandleLeak, "HandleLeak", ""),
    (Rule::AccessViolation, "UncheckedAllocation", "NULL"),
    (Rule::RequestTwice, "CompletedTwice", ""),
    (Rule::BugCheck, "DivisionByZero", ""),
    (Rule::LockLeak, "LockLeak", ""),
    (Rule::UseAfterFree, "UseAfterFree", ""),
    (Rule::AccessViolation, "TypeConfusion", ""),
    (Rule::AccessViolation, "ReadMode", ""),
    (Rule::UseAfterFree, "CanceledState", ""),
    (Rule::PoolOverrun, "PoolOverflow", ""),
    (Rule::RequestMisuse, "Control", "has not initialized"),
    (Rule::LockOrder, "Deadlock", ""),
    (Rule::Hang, "EndlessLoop", ""),
    (Rule::AccessViolation, "WrongOrder", ""),
    (Rule::PoolOverrun, "IntegerOverflow", ""),
    (Rule::WrongTag, "WrongTag", ""),
    (Rule::PoolLeak, "PoolLeak", ""),
    (Rule::RequestNever, "Control", ""),
    (Rule::DoubleFree, "DoubleFree", ""),
];

/// The control codes of two of its functions.
const POOL_LEAK: u32 = 0x0022_2024;
const CLOSE_RACE: u32 = 0x0022_2064;

/// Functions that others call for what they do.
const HELPERS: [&str; 5] = ["Allocate", "Field", "Finish", "OpenSoftware", "SetCancelRoutine"];

fn driver(bug: u32) -> PathBuf {
    c::build("fuzz_bugs", bug, "DriverEntry", &["ntoskrnl"])
}

fn fuzz(bug: u32, executions: u64) -> Harvest {
    let builder = NtHost::builder().driver(driver(bug));
    Fuzz::new(builder).seed(2).executions(executions).run().expect("a session")
}

/// Returns the function that made a mistake.
fn function(bug: &Bug) -> String {
    let places = bug.finding.place.iter().chain(&bug.finding.stack);
    let mut functions = places.filter_map(|place| place.symbol.clone());
    functions.find(|name| !HELPERS.contains(&name.as_str())).unwrap_or_default()
}

#[test]
fn planted_bugs_are_found() {
    let harvest = fuzz(1, 8_000);
    let is_found = |(rule, name, detail): &(Rule, &str, &str)| {
        let is =
            |bug: &&Bug| bug.finding.rule == *rule && function(bug) == *name && bug.finding.detail.contains(detail);
        harvest.bugs.iter().any(|bug| is(&bug))
    };
    let missing: Vec<_> = BUGS.iter().filter(|bug| !is_found(bug)).collect();
    assert!(missing.is_empty(), "{missing:?} not found in {harvest}");
}

#[test]
fn the_driver_without_its_bugs_has_no_findings() {
    let harvest = fuzz(0, 3_000);
    harvest.assert_clean();
    let (blocks, hits) = harvest.blocks;
    assert!(hits * 3 > blocks, "{hits} of {blocks} blocks of code ran");
}

#[test]
fn a_session_is_repeatable() {
    let (first, second) = (fuzz(2, 700), fuzz(2, 700));
    let commands = |harvest: &Harvest| -> Vec<String> {
        harvest.bugs.iter().map(|bug| bug.input.command(Path::new("driver.sys"))).collect()
    };
    assert_eq!(commands(&first), commands(&second), "{first}\n\n{second}");
    assert!(first.bugs.len() > 3, "{first}");
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
        assert!(text.contains(rule) && parts.all(|part| text.contains(part)), "{finding}\n{text}");
        let (function, line) = place.split_once(" (").expect("a line");
        let function = function.split([' ', '+']).nth(1).unwrap_or_default();
        let line = line.split(')').next().unwrap_or_default();
        assert!(text.contains(function) && text.contains(&format!("/{line})")), "{finding}\n{text}");
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn a_session_leaves_a_corpus_and_findings_with_their_reproductions() {
    let folder = c::temporary("fuzz-session");
    let _ = fs::remove_dir_all(&folder);
    let output = folder.display().to_string();
    let words = ["fuzz", "--executions", "1500", "--seed", "3", "--output", &output, "--json"];
    let first = nt_host(&words, &driver(1));
    let text = String::from_utf8_lossy(&first.stdout).into_owned() + &String::from_utf8_lossy(&first.stderr);
    assert_eq!(first.status.code(), Some(3), "{text}");
    assert!(text.contains("\"schema_version\":1,\"seed\":3,") && text.contains("\"requests_per_second\":"), "{text}");
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(Path::new(&output).join(folder)).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let (inputs, findings) = (names("corpus"), names("findings"));
    assert!(
        inputs.len() > 5 && inputs.iter().all(|name| Path::new(name).extension().is_some_and(|end| end == "steps")),
        "{inputs:?}"
    );
    let finding = Path::new(&output).join("findings").join(findings.first().expect("a finding"));
    let report = fs::read_to_string(finding.join("finding.txt")).expect("a report");
    assert!(report.contains("\nnt-host run "), "{report}");
    assert!(fs::read_to_string(finding.join("test.rs")).expect("a test").contains("#[test]"));
    let page = fs::read_to_string(Path::new(&output).join("coverage.html")).expect("a page");
    assert!(page.contains("fuzz_bugs.c") && text.contains("\"coverage\":\""), "{text}");
    // The next session begins with the inputs of this one.
    let second = nt_host(&["fuzz", "--executions", "200", "--seed", "4", "--output", &output], &driver(0));
    assert_eq!(second.status.code(), Some(0), "{}", String::from_utf8_lossy(&second.stdout));
    assert!(names("corpus").is_superset(&inputs));
}

/// The requests free the same memory, and nothing but the order of their threads decides whether they do so twice.
#[test]
fn a_schedule_decides_whether_two_requests_race() {
    let race = |schedule: u32| {
        let host = NtHost::builder().driver(driver(1)).start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        let (first, second) = (device.open().expect("a file"), device.open().expect("a file"));
        let request = |word: u32| IoRequest {
            kind: RequestKind::DEVICE_CONTROL,
            code: CLOSE_RACE,
            input: word.to_le_bytes().to_vec(),
            ..IoRequest::default()
        };
        first.ioctl(CLOSE_RACE, &request(0x0211).input, 0).expect("an answer");
        host.interleave(schedule, &[(&first, request(0x0212)), (&second, request(0x0212))]).expect("answers");
        host.report().findings_of(Rule::DoubleFree).count()
    };
    let outcomes = || (1..=24).map(race).collect::<Vec<_>>();
    let first = outcomes();
    assert!(first.contains(&0) && first.contains(&1), "{first:?}");
    assert_eq!(outcomes(), first);
}

/// The driver reads from the device below twice, and trusts what it returns.
#[test]
fn answers_of_the_device_below_lead_to_mistakes() {
    let session = |bug: u32| {
        let driver = c::build("fuzz_below", bug, "FxDriverEntry", &c::FRAMEWORK);
        Fuzz::new(NtHost::builder().driver(driver)).seed(1).executions(3_000).run().expect("a session")
    };
    let harvest = session(1);
    for rule in [Rule::PoolOverrun, Rule::PoolLeak] {
        let is_found = |bug: &&Bug| bug.finding.rule == rule && function(bug) == "ReadTable";
        let bug = harvest.bugs.iter().find(is_found).unwrap_or_else(|| panic!("{rule:?} not found in {harvest}"));
        assert!(bug.is_reproduced && bug.input.options().concat().contains("--answer-next=any=0:"), "{harvest}");
    }
    session(0).assert_clean();
}

/// A session of two jobs, and what both have in common: the corpus, the findings, the count.
#[test]
fn two_jobs_share_what_they_find() {
    let builder = NtHost::builder().driver(driver(1));
    let harvest = Fuzz::new(builder).seed(5).jobs(2).executions(3_000).run().expect("a session");
    assert!(harvest.progress.executions >= 3_000 && harvest.progress.processes >= 2, "{harvest}");
    let keys: BTreeSet<(&str, String)> =
        harvest.bugs.iter().map(|bug| (bug.finding.rule.id(), bug.finding.to_string())).collect();
    assert!(keys.len() == harvest.bugs.len() && keys.len() > 3, "{harvest}");
    let inputs: BTreeSet<Vec<String>> = harvest.corpus.iter().map(nt_host::Input::options).collect();
    assert!(inputs.len() > 5, "{inputs:?}");
}

#[test]
fn corpora_of_two_sessions_are_merged_by_copying_their_files() {
    let folder = c::temporary("fuzz-merge");
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
    let (corpus, output) = (merged.display().to_string(), folder.join("last").display().to_string());
    // One of four sequences is made up, so all inputs run, and hardly anything else.
    let words = ["--executions", &count, "--seed", "13", "--output", &output];
    let with = blocks(&[words.as_slice(), &["--corpus", &corpus]].concat());
    let without = blocks(&words);
    // An input may depend on what earlier sequences left in the driver.
    assert!(with > without && with * 10 >= most * 9, "{with} with the corpus, {without} without, {most} before");
}

#[test]
fn a_grammar_leads_to_code_that_chance_does_not_reach() {
    let magic = |value: u64| Field::Integer { size: 4, values: vec![value] };
    // The two words that lead to the leak are not next to each other.
    let request = RequestFormat { code: POOL_LEAK, fields: vec![magic(0x61), magic(7), magic(0x62)], output: 0 };
    let session = |grammar: Grammar| {
        let fuzz = Fuzz::new(NtHost::builder().driver(driver(1))).seed(2).executions(400).grammar(grammar);
        let harvest = fuzz.run().expect("a session");
        harvest.bugs.iter().any(|bug| bug.finding.rule == Rule::PoolLeak && function(bug) == "PoolLeak")
    };
    assert!(session(Grammar { requests: vec![request] }));
    assert!(!session(Grammar::default()));
}

/// The handler of the hardware runs in the driver's process, so it can end it like a defect of the host.
#[test]
fn a_process_that_ends_is_a_defect_of_the_host() {
    let builder = NtHost::builder().driver(driver(0)).hardware(|_| std::process::abort());
    let harvest = Fuzz::new(builder).seed(1).executions(4_000).run().expect("a session");
    let [bug] = harvest.bugs.as_slice() else { panic!("{harvest}") };
    assert_eq!(bug.finding.rule, Rule::Host);
    assert!(bug.finding.detail.starts_with("the process that runs the driver ended"), "{}", bug.finding.detail);
    assert!(bug.is_reproduced && bug.input.options().concat().contains("1104"), "{:?}", bug.input.options());
}

/// As above, but the handler accesses memory that is not there, as a wrong pointer of the host would.
#[test]
fn a_crash_of_the_host_is_its_defect_and_the_input_is_kept() {
    let builder = NtHost::builder().driver(driver(0)).hardware(|_| Some(c::wild_read()));
    let harvest = Fuzz::new(builder).seed(1).executions(4_000).run().expect("a session");
    let [bug] = harvest.bugs.as_slice() else { panic!("{harvest}") };
    assert_eq!(bug.finding.rule, Rule::Host);
    assert!(bug.finding.detail.contains("a defect of the host"), "{}", bug.finding.detail);
    assert!(bug.is_reproduced && bug.input.options().concat().contains("1104"), "{:?}", bug.input.options());
}

#[test]
fn what_cannot_be_fuzzed_is_refused_with_the_reason() {
    let folder = c::temporary("fuzz-refused");
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
