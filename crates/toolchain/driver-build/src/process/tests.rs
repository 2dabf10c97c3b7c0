//! Tests of running programs.

use std::io::{PipeReader, Read as _};

use super::Tool;
use crate::error::Error;

#[test]
fn a_command_is_shown_as_one_would_type_it() {
    let tool =
        Tool::new("/some/where/cargo").env("RUSTFLAGS", "--cfg loom").hidden_env("SECRET", "x").args(["test", "it's"]);
    assert_eq!(tool.to_string(), r"RUSTFLAGS='--cfg loom' cargo test 'it'\''s'");
    assert_eq!(Tool::new("cargo").args(["test"]).hidden_args(["--", "--skip"]).to_string(), "cargo test …");
}

#[test]
fn a_program_of_ours_keeps_its_exit_code() {
    let ours = |arguments: &[&str]| Tool::new("rustc").args(arguments).run_ours();
    assert_eq!(ours(&["--version"]), Ok(()));
    assert_eq!(ours(&["--no-such-flag"]), Err(Error::Reported(1)));
    assert_eq!(Error::Reported(2).exit_code(), 2);
}

#[test]
fn a_program_in_the_background_writes_to_a_file_and_can_be_waited_for() {
    let path = std::env::temp_dir().join(format!("driver-build-{}.log", std::process::id()));
    let file = std::fs::File::create(&path).unwrap();
    let rustc = |flag: &str| Tool::new("rustc").args([flag]).start_into(&file).unwrap().wait();
    assert_eq!(rustc("--version"), Ok(()));
    assert_eq!(rustc("--no-such-flag").unwrap_err().to_string(), "`rustc --no-such-flag` failed (exit code 1)");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(text.starts_with("rustc 1."), "{text}");
    assert!(text.contains("no-such-flag"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_program_of_low_priority_has_its_folder_arguments_and_environment() {
    let script = ["-c", "pwd; nice; echo $SET $1; test -z ${HOME+x}", "sh", "word"];
    let shell = Tool::new("sh").args(script).current_dir("/".as_ref()).env("SET", "set").env_remove("HOME");
    let lines = shell.low_priority().capture().unwrap();
    let words: Vec<&str> = lines.split_whitespace().collect();
    let niceness = Tool::new("nice").capture().unwrap().trim().parse::<i8>().unwrap();
    assert_eq!(words, ["/", &(niceness + 10).min(19).to_string(), "set", "word"]);
}

#[test]
fn a_missing_program_is_named() {
    let error = Tool::new("no-such-program-here").run().unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("`no-such-program-here`"));
}

#[test]
fn a_failing_program_is_reported_with_its_exit_code_and_messages() {
    let error = Tool::new("rustc").args(["--no-such-flag"]).capture();
    let Err(Error::Failed(text)) = error else {
        panic!("{error:?}");
    };
    assert!(text.starts_with("`rustc --no-such-flag` failed (exit code 1)\n"));
    assert!(text.contains("no-such-flag"));
}

#[cfg(unix)]
#[test]
fn both_streams_are_read_in_their_order_and_the_exit_code_stays() {
    let shell = |script: &str| {
        let mut text = String::new();
        let read = |mut stream: PipeReader| drop(stream.read_to_string(&mut text));
        let result = Tool::new("sh").args(["-c", script]).run_ours_reading(read);
        (text, result)
    };
    assert_eq!(shell("echo 1; echo 2 >&2; echo 3"), (String::from("1\n2\n3\n"), Ok(())));
    assert_eq!(shell("echo 1 >&2; exit 3"), (String::from("1\n"), Err(Error::Reported(3))));
}
