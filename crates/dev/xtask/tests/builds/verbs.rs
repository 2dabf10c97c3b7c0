//! Checks that the `cargo xtask` commands that other files of the repository mention exist.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the names in the list of commands.
fn commands() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    list.filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

fn read(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the word after each occurrence of `start`.
fn verbs(text: &str, start: &str) -> Vec<String> {
    let tails = text.split(start).skip(1);
    let verb = |tail: &str| tail.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect::<String>();
    tails.map(verb).filter(|verb| !verb.is_empty()).collect()
}

#[test]
fn makefile_and_workflows_use_commands_that_exist() {
    let known = commands();
    assert!(known.contains(&"test".into()), "{known:?}");
    let makefile = verbs(&read("Makefile.toml"), "args = [\"xtask\", \"");
    assert!(!makefile.is_empty());
    let workflows = ["linux.yml", "windows.yml"].map(|file| read(&format!(".github/workflows/{file}")));
    let workflows = workflows.iter().flat_map(|text| verbs(text, "cargo xtask "));
    for verb in makefile.iter().cloned().chain(workflows) {
        assert!(known.contains(&verb), "there is no `cargo xtask {verb}`");
    }
    for command in &known {
        assert!(makefile.contains(command), "Makefile.toml has no task for `cargo xtask {command}`");
    }
}

#[test]
fn cargo_wdk_comes_before_cargo_make_and_both_packages_are_adopted() {
    for file in [".github/workflows/windows.yml", "driver-sample/README.md", "docs/packaging.md"] {
        let text = read(file);
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{file}: no `{words}`"));
        assert!(place("cargo wdk build") < place("cargo make"), "{file}");
        assert!(place("cargo wdk build") < place("package --adopt"), "{file}");
    }
    assert!(read("driver-sample/Makefile.toml").contains("extend = \"target/rust-driver-makefile.toml\""));
}

#[test]
fn the_linux_workflow_runs_the_commands_of_the_readme() {
    let workflow = read(".github/workflows/linux.yml");
    for (command, options) in [("cargo xtask demo", ""), ("cargo xtask test", " --all")] {
        let line = format!("run: {command}{options}\n");
        assert!(read("README.md").contains(command), "{command}");
        assert!(workflow.contains(&line), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_valid_utf_8_is_rejected_by_name() {
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xFF");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["package", "--adopt"]).arg(odd).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: the argument `odd\\xff` is not valid UTF-8\n");
}

#[test]
fn without_a_reader_it_ends_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let xtask = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("--help").stdout(writer).stderr(Stdio::piped()).spawn();
    let output = xtask.and_then(std::process::Child::wait_with_output).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr).as_ref(), "");
}

/// `fuzz` and `bench` follow docs/conventions.md before they build anything.
#[cfg(target_os = "linux")]
#[test]
fn fuzz_and_bench_reject_wrong_words_and_missing_files() {
    for (words, text) in [
        (&["fuzz"][..], "no target given"),
        (&["fuzz", "no-such-target"], "unknown target `no-such-target`"),
        (&["fuzz", "etl", "--no-such-flag"], "unknown flag `--no-such-flag`"),
        (&["fuzz", "etl", "--replay", "no-such-file"], "no-such-file: No such file"),
        (&["bench", "--no-such-flag"], "unknown flag `--no-such-flag`"),
        (&["bench", "--only"], "--only"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.starts_with("error: "), "{words:?}: {said}");
        assert!(said.contains(text), "{words:?}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let list = |stdout: Stdio| {
        let xtask = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["fuzz", "--list"])
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn();
        let output = xtask.and_then(std::process::Child::wait_with_output).unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = list(fs::File::options().write(true).open("/dev/full").unwrap().into());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(list(writer.into()), (Some(0), String::new()));
}
