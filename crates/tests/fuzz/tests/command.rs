//! The program: a short run, its summary, and its exit codes.
#![cfg(test)]

use std::process::{Command, Output};

fn fuzz(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_etw-fuzz")).args(arguments).output().unwrap()
}

#[test]
fn a_short_run_says_its_seed_and_sums_up() {
    let output = fuzz(&["guid", "--seed", "42", "--time", "300ms"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("random seed 42"), "{text}");
    assert!(text.contains("done: ") && text.contains("no finding"), "{text}");
}

#[test]
fn a_finding_is_written_with_how_to_reproduce_it() {
    for target in etw_fuzz::BROKEN {
        let output = fuzz(&[target.name, "--seed", "1"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("one finding"), "{text}");
        let command = text.lines().find_map(|line| line.trim().strip_prefix("reproduce  cargo xtask fuzz "));
        let words: Vec<&str> = command.expect(&text).split(' ').collect();
        assert!(std::fs::read(words[2]).unwrap().len() >= 40, "{text}");
        assert!(!fuzz(&words).status.success(), "it does not happen again");
    }
}

#[test]
fn the_list_names_every_target() {
    let output = fuzz(&["--list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for target in etw_fuzz::TARGETS {
        assert!(text.lines().any(|line| line.starts_with(target.name)), "{text}");
    }
}

#[test]
fn one_file_is_replayed() {
    let seed = &etw_fuzz::Target::of("pe").unwrap().corpus().unwrap()[0];
    let output = fuzz(&["pe", "--replay", seed.path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("without a finding"));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    assert_eq!(fuzz(&["no-such-target"]).status.code(), Some(2));
    assert_eq!(fuzz(&["pe", "--replay", "no-such-file"]).status.code(), Some(2));
}
