//! What the fuzzer finds in filters and in drivers that read their output buffers: as options of `run`, and as a test.

use std::path::{Path, PathBuf};
use std::process::Command;

use nt_host::{Bug, Fuzz, Harvest, Input, NtHost, Rule};
use test_support::drivers::c;

const MINIFILTER: [&str; 2] = ["ntoskrnl", "fltMgr"];
const CALLOUT: [&str; 3] = ["ntoskrnl", "fwpkclnt", "ndis"];

fn minifilter(name: &str, bug: u32) -> PathBuf {
    c::build(name, bug, "DriverEntry", &MINIFILTER)
}

fn callout(name: &str, bug: u32) -> PathBuf {
    c::build(name, bug, "DriverEntry", &CALLOUT)
}

fn fuzz(driver: &Path, executions: u64) -> Harvest {
    Fuzz::new(NtHost::builder().driver(driver)).seed(1).executions(executions).run().expect("a session")
}

/// Checks that a session has found a mistake with such a step, that the same options reproduce it, and that it is a test.
fn assert_found(harvest: &Harvest, driver: &Path, rule: Rule, function: &str, steps: &[&str]) {
    let is_it = |bug: &&Bug| {
        let mut places = bug.finding.location.iter().chain(&bug.finding.stack);
        bug.finding.rule == rule && places.any(|location| location.symbol.as_deref() == Some(function))
    };
    let bug = harvest.bugs.iter().find(is_it).unwrap_or_else(|| panic!("{function} not found in {harvest}"));
    let options = bug.input.options();
    let has_one = options.iter().any(|option| steps.iter().any(|step| option.starts_with(step)));
    assert!(bug.is_reproduced, "{options:?}: {harvest}");
    assert!(has_one, "{options:?}: {harvest}");
    assert!(options.len() < 5, "{options:?}");
    let run = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(driver).args(&options).output();
    let run = run.expect("the command");
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.code() == Some(3), "{options:?}: {text}");
    assert!(text.contains(rule.id()), "{options:?}: {text}");
    let source = bug.input.test("found", driver);
    let calls = ["host.volume()", "host.transfer(", "host.send_packet("];
    assert!(calls.iter().any(|call| source.contains(call)), "{source}");
}

#[test]
fn the_fuzzer_sends_operations_on_files_and_messages_to_a_minifilter() {
    let driver = minifilter("fuzz_filter", 1);
    let harvest = fuzz(&driver, 900);
    assert_found(&harvest, &driver, Rule::PoolOverrun, "KeepName", &[r"--file=create:\aaa", r"--file=open:\aaa"]);
    assert_found(&harvest, &driver, Rule::PoolOverrun, "LookAtProgram", &["--file=write-hex:4d5a"]);
    assert_found(&harvest, &driver, Rule::PoolOverrun, "Message", &["--file=send-hex:51000000"]);
    fuzz(&minifilter("fuzz_filter", 0), 900).assert_clean();
}

#[test]
fn the_fuzzer_sends_connections_and_packets_to_a_callout_driver() {
    let driver = callout("fuzz_callout", 1);
    let harvest = fuzz(&driver, 500);
    let steps = ["--transfer=sent:", "--packet=sent:45"];
    assert_found(&harvest, &driver, Rule::AccessViolation, "LookAtMessage", &steps);
    fuzz(&callout("fuzz_callout", 0), 500).assert_clean();
}

fn fuzz_direct(bug: u32) -> Harvest {
    let driver = c::build("fuzz_direct", bug, "DriverEntry", &["ntoskrnl"]);
    Fuzz::new(NtHost::builder().driver(driver)).seed(2).executions(3_000).run().expect("a session")
}

/// Returns the option of an input that sends data in the output buffer.
fn option(input: &Input) -> String {
    let is = |option: &String| option.starts_with("--ioctl=") && option.contains('/');
    input.options().into_iter().find(is).unwrap_or_default()
}

#[test]
fn the_fuzzer_finds_mistakes_that_data_in_the_output_buffer_leads_to() {
    let harvest = fuzz_direct(1);
    for (rule, name, code, data) in
        [(Rule::PoolOverrun, "SendTable", "222001", "5441424c"), (Rule::BugCheck, "Scale", "222007", "454c4353")]
    {
        let is_found = |bug: &&Bug| {
            let symbol = bug.finding.location.as_ref().and_then(|location| location.symbol.clone());
            bug.finding.rule == rule && symbol.as_deref() == Some(name)
        };
        let bug = harvest.bugs.iter().find(is_found).unwrap_or_else(|| panic!("{rule:?} not found in {harvest}"));
        let option = option(&bug.input);
        let driver = c::build("fuzz_direct", 1, "DriverEntry", &["ntoskrnl"]);
        // The input does not matter, and is gone.
        assert!(bug.is_reproduced, "{option}");
        assert!(option.starts_with(&format!("--ioctl={code}/")), "{option}");
        assert!(option.contains(&format!(":{data}")), "{option}");
        let run = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(driver).args(bug.input.options()).output();
        let text = String::from_utf8_lossy(&run.expect("nt-host").stdout).into_owned();
        assert!(text.contains(rule.id()), "{text}");
        assert!(text.contains(name), "{text}");
        assert!(bug.input.test("name", "driver.sys".as_ref()).contains(".ioctl_with_output(0x"), "{option}");
    }
    fuzz_direct(0).assert_clean();
}
