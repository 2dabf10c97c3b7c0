//! The fuzzer finds the bugs that are planted in a driver, finds none in the same driver without them, and its
//! reproductions reproduce.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
    let places = bug.finding.location.iter().chain(&bug.finding.stack);
    let mut functions = places.filter_map(|location| location.symbol.clone());
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
    let first = fuzz(2, 700);
    let second = fuzz(2, 700);
    let commands = |harvest: &Harvest| -> Vec<String> {
        harvest.bugs.iter().map(|bug| bug.input.command(Path::new("driver.sys"))).collect()
    };
    assert_eq!(commands(&first), commands(&second), "{first}\n\n{second}");
    assert!(first.bugs.len() > 3, "{first}");
}

/// The requests free the same memory, and nothing but the order of their threads decides whether they do so twice.
#[test]
fn a_schedule_decides_whether_two_requests_race() {
    let race = |schedule: u32| {
        let host = NtHost::builder().driver(driver(1)).start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        let first = device.open().expect("a file");
        let second = device.open().expect("a file");
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
    assert!(first.contains(&0), "{first:?}");
    assert!(first.contains(&1), "{first:?}");
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
        assert!(bug.is_reproduced, "{harvest}");
        assert!(bug.input.options().concat().contains("--answer-next=any=0:"), "{harvest}");
    }
    session(0).assert_clean();
}

/// A session of two jobs, and what both have in common: the corpus, the findings, the count.
#[test]
fn two_jobs_share_what_they_find() {
    let builder = NtHost::builder().driver(driver(1));
    let harvest = Fuzz::new(builder).seed(5).jobs(2).executions(3_000).run().expect("a session");
    assert!(harvest.progress.executions >= 3_000, "{harvest}");
    assert!(harvest.progress.processes >= 2, "{harvest}");
    let keys: BTreeSet<(&str, String)> =
        harvest.bugs.iter().map(|bug| (bug.finding.rule.id(), bug.finding.to_string())).collect();
    assert!(keys.len() == harvest.bugs.len(), "{harvest}");
    assert!(keys.len() > 3, "{harvest}");
    let inputs: BTreeSet<Vec<String>> = harvest.corpus.iter().map(nt_host::Input::options).collect();
    assert!(inputs.len() > 5, "{inputs:?}");
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
    assert!(bug.is_reproduced, "{:?}", bug.input.options());
    assert!(bug.input.options().concat().contains("1104"), "{:?}", bug.input.options());
}

/// As above, but the handler accesses memory that is not there, as a wrong pointer of the host would.
#[test]
fn a_crash_of_the_host_is_its_defect_and_the_input_is_kept() {
    let builder = NtHost::builder().driver(driver(0)).hardware(|_| Some(c::wild_read()));
    let harvest = Fuzz::new(builder).seed(1).executions(4_000).run().expect("a session");
    let [bug] = harvest.bugs.as_slice() else { panic!("{harvest}") };
    assert_eq!(bug.finding.rule, Rule::Host);
    assert!(bug.finding.detail.contains("a defect of the host"), "{}", bug.finding.detail);
    assert!(bug.is_reproduced, "{:?}", bug.input.options());
    assert!(bug.input.options().concat().contains("1104"), "{:?}", bug.input.options());
}
