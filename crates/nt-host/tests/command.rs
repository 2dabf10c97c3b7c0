//! The command: exit codes and what it prints.

mod common;

use std::path::Path;
use std::process::{Command, Output};

fn nt_host(arguments: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    let (verb, options) = arguments.split_first().expect("a command");
    command.arg(verb).arg(path).args(options).output().expect("the command")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_clean_driver_ends_with_0() {
    let output = nt_host(&["run"], &common::clean("pool_leak"));
    assert_eq!(code(&output), Some(0), "{}", text(&output));
    assert!(text(&output).contains("no findings"));
}

#[test]
fn a_driver_entry_that_fails_ends_with_1_and_its_status() {
    let output = nt_host(&["run", "--fail", "ExAllocatePool2"], &common::clean("pool_leak"));
    assert_eq!(code(&output), Some(1), "{}", text(&output));
    assert!(text(&output).contains("0xC000009A"), "{}", text(&output));
}

#[test]
fn bad_usage_and_bad_files_end_with_2() {
    let driver = common::broken("pool_leak");
    for arguments in [&["run", "--os", "dos"][..], &["run", "--fail", "DbgPrint"], &["fly"]] {
        assert_eq!(code(&nt_host(arguments, &driver)), Some(2), "{arguments:?}");
    }
    let output = nt_host(&["run"], &driver.with_extension("pdb"));
    assert_eq!(code(&output), Some(2));
    assert!(text(&output).contains("DOS header"), "{}", text(&output));
}

#[test]
fn findings_end_with_3_and_name_rule_routine_and_line() {
    let output = nt_host(&["run"], &common::broken("pool_leak"));
    assert_eq!(code(&output), Some(3));
    for part in ["pool-leak", "ExAllocatePool2", "image+0x", "pool_leak.rs:17"] {
        assert!(text(&output).contains(part), "{part} is not in {}", text(&output));
    }
    let output = nt_host(&["run", "--json"], &common::broken("pool_leak"));
    assert_eq!(code(&output), Some(3));
    assert!(text(&output).starts_with("{\"outcome\":\"1 finding\",\"findings\":[{\"rule\":\"pool-leak\""));
}

#[test]
fn a_list_says_which_imports_are_here() {
    let output = nt_host(&["list", "--os", "win7"], &common::broken("pool_leak"));
    assert_eq!(code(&output), Some(0));
    assert!(text(&output).contains("since win10  ntoskrnl.exe!ExAllocatePool2"), "{}", text(&output));
    let output = nt_host(&["list"], &common::broken("not_implemented"));
    assert!(text(&output).contains("trapped      ntoskrnl.exe!KeFooBar"), "{}", text(&output));
}
