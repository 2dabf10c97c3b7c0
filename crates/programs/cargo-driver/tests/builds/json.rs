//! The reports for programs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::{command, driver, printed, report, repository, run};

/// The members that docs/conventions.md promises for a command of the program that `cargo driver` runs.
fn promised(command: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(repository().join("docs/conventions.md")).unwrap();
    let start = format!("| `{command} FILE.sys --json` |");
    let row = page.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no row {start}"));
    row.split('|').next().unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn standard_output_is_one_object_with_the_promised_members() {
    let place = driver("probe-json", "");
    for (command, program) in
        [("run", "nt-host"), ("matrix", "nt-host"), ("list", "nt-host"), ("inspect", "driver-package")]
    {
        let report = report(&place, &[command, "--json"]);
        let members: BTreeSet<String> = report.as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, promised(&format!("{program} {command}")), "{command}");
    }
}

#[test]
fn a_finding_of_the_fuzzer_is_reproduced_by_a_command_of_cargo_driver() {
    let place = driver("probe-fuzz", "");
    let complete = "unsafe { IofCompleteRequest(irp, 0) };";
    let source = include_str!("probe.rs").replace(complete, &complete.repeat(2));
    assert_ne!(source, include_str!("probe.rs"));
    fs::write(place.join("src/lib.rs"), source).unwrap();
    let line = ["fuzz", "--json", "--target-dir", "other", "--", "--executions", "32", "--seed", "1"];
    let output = run(&place, &line);
    assert_eq!(output.status.code(), Some(3), "{}", printed(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &report["findings"][0];
    let text = finding["command"].as_str().unwrap();
    assert!(text.starts_with("cargo driver run --target-dir other -- --"), "{text}");

    // Cargo finds its commands in the folders of the search path.
    let own = Path::new(env!("CARGO_BIN_EXE_cargo-driver")).parent().unwrap().to_path_buf();
    let others = env::var_os("PATH").unwrap();
    let path = env::join_paths(std::iter::once(own).chain(env::split_paths(&others))).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", text]).current_dir(&place).env("PATH", path);
    let output = shell.envs(command(&place, &[]).get_envs().filter_map(|(key, value)| Some((key, value?)))).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}: {}", printed(&output));
    assert!(printed(&output).contains(finding["finding"]["rule"].as_str().unwrap()), "{}", printed(&output));
}
