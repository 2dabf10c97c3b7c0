//! Help texts, messages about wrong usage, exit codes and completions.

use crate::common;
use crate::common::etwctl;
use std::env::consts::EXE_SUFFIX;
use windows_releases::Release;

/// Returns the commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let rows = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    rows.filter_map(|line| line.split(' ').next()).filter(|command| *command != "help").collect()
}

/// Checks the help of a command, and that of its own commands. Returns how many there are.
fn explains_itself(command: &str) -> usize {
    let run = etwctl(&format!("{command} --help"));
    assert_eq!(run.code, 0, "{command}");
    assert!(run.out.contains(&format!("Usage: etwctl{EXE_SUFFIX} {command}")), "{}", run.out);
    1 + commands(&run.out).iter().map(|own| explains_itself(&format!("{command} {own}"))).sum::<usize>()
}

#[test]
fn every_command_explains_itself() {
    let overview = etwctl("--help");
    assert_eq!(overview.code, 0);
    let count: usize = commands(&overview.out).into_iter().map(explains_itself).sum();
    assert!(count > 30, "{count} commands: {}", overview.out);
    assert!(overview.out.contains("Exit codes"));
    assert!(etwctl("decode --help").out.contains("Examples:"));
    let version = etwctl("--version");
    assert_eq!(version.code, 0);
    assert!(version.out.starts_with(concat!("etwctl ", env!("CARGO_PKG_VERSION"))), "{}", version.out);
}

#[cfg(not(windows))]
#[test]
fn the_overview_is_honest_about_where_sessions_are() {
    let overview = etwctl("--help");
    let words: Vec<&str> = overview.out.split_whitespace().collect();
    assert!(words.join(" ").contains("no other process can see them"), "{}", overview.out);
    let started = etwctl("start S --real-time");
    assert!(started.err.contains("sessions begin and end with this process"), "{}", started.err);
}

#[test]
fn mistakes_have_exit_code_2_and_say_what_is_wrong() {
    for (line, message) in [
        ("", "Usage: etwctl"),
        ("sesions", "a similar subcommand exists: 'sessions'"),
        ("decode", "<FILE>"),
        ("record", "record needs a provider, --system or --demo"),
        ("help recrod", "unrecognized subcommand 'recrod'"),
        ("record P --liev", "a similar argument exists: '--live'"),
        ("info get 29", "there is no information class '29'; see etwctl info list"),
        ("info get stack-trace", "there is no information class 'stack-trace'; did you mean 'stack-tracing'?"),
        ("info get stream-count", "class 23, stream-count, belongs to a session: name it with --session"),
        ("info set 18 on", "class 18, binary-tracking, belongs to a session: name it with --session"),
        (
            "enable S P --level loud",
            "'loud' is not a level: expected critical, error, warning, informational, verbose, all or",
        ),
        ("start S", "a session needs an output for its events: --etl FILE, --real-time or --buffering"),
        ("start S --mode odd", "is neither a number nor one of"),
        ("start S --mode circlar", "; did you mean 'circular'?"),
        ("completions cmd", "[possible values: bash, elvish, fish, powershell, zsh]"),
    ] {
        let run = etwctl(line);
        assert_eq!(run.code, 2, "{line}: {}", run.err);
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
}

#[cfg(not(windows))]
#[test]
fn a_session_that_is_not_found_is_explained() {
    let run = etwctl("stop Nothing");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("no such session is running; list the sessions and check the name"), "{}", run.err);
    assert!(run.err.contains("note: There is no Windows here"), "{}", run.err);
    let run = common::etwctl_with("batch", "start Tracing --real-time\nstop Tracnig\n");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("4201 WMI_INSTANCE_NOT_FOUND"), "{}", run.err);
    assert!(run.err.contains("; did you mean 'Tracing'?"), "{}", run.err);
}

#[test]
fn limits_and_missing_files_have_their_exit_codes() {
    for (line, code, message) in [
        ("start S --etl x.etl --circular 0", 1, "needs a maximum size"),
        ("start S --etl x.etl --circular 1MiB --sequential 1MiB", 1, "a sequential file cannot be circular"),
        ("decode no-such-file.etl", 2, "cannot open"),
        ("stats Cargo.toml", 2, "is not an .etl trace"),
    ] {
        let run = etwctl(line);
        assert_eq!(run.code, code, "{line}: {}", run.err);
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_has_exit_code_2() {
    let run = etwctl("start S --etl /dev/full");
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains("DISK_FULL"), "{}", run.err);
}

/// The commands that write a file or a folder `OUT` from a trace `IN`.
#[cfg(unix)]
const OUTPUTS: [&str; 9] = [
    "decode IN --json --output OUT",
    "decode IN --csv --output OUT",
    "decode IN --html --output OUT",
    "decode IN --chrome --output OUT",
    "decode IN --pcapng --output OUT",
    "trim IN --output OUT",
    "export IN --otlp OUT",
    "decode IN --parquet OUT",
    "dataset add OUT IN",
];

/// Until an output is complete, it has a temporary name. An error names what the user asked for.
#[cfg(unix)]
#[test]
fn an_error_of_an_output_names_what_was_asked_for() {
    use std::fs;

    use common::etwctl_limited;

    let trace = common::demo_trace("asked.etl");
    let folder = common::scratch("asked");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let has_parquet =
        |line: &&&str| cfg!(feature = "parquet") || !line.contains("parquet") && !line.contains("dataset");
    for line in OUTPUTS.iter().filter(has_parquet) {
        let line = |out: &str| {
            line.replace("IN", &trace.display().to_string()).replace("OUT", &folder.join(out).display().to_string())
        };
        // A disk without any space, and a folder that is none.
        for (run, out) in [(etwctl_limited(&line("out"), 0), "out"), (etwctl(&line("file/out")), "file/out")] {
            assert_eq!(run.code, 2, "{}: {}", line(out), run.err);
            let named = format!("cannot write {}: ", folder.join(out).display());
            assert!(run.err.contains(&named), "{}: {}", line(out), run.err);
            assert!(!run.err.contains("partial"), "{}: {}", line(out), run.err);
        }
        // A dataset keeps its list of traces, which is empty.
        let _ = fs::remove_dir(folder.join("out/_traces"));
        let _ = fs::remove_dir(folder.join("out"));
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["file"], "{}", line("out"));
    }
    fs::remove_dir_all(folder).unwrap();
    fs::remove_file(trace).unwrap();
}

/// A manifest with one event, which is enough to be read.
#[cfg(unix)]
const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation>
<events><provider name="P" guid="{11111111-2222-3333-4444-555555555555}" symbol="P" resourceFileName="p" messageFileName="p">
<events><event value="1" symbol="E"/></events></provider></events></instrumentation></instrumentationManifest>"#;

#[cfg(unix)]
#[test]
fn an_output_never_replaces_an_input() {
    use std::process::Stdio;
    use std::{fs, process};

    let folder = common::scratch("inputs");
    fs::create_dir_all(folder.join("schemas")).unwrap();
    let path = |name: &str| folder.join(name);
    fs::rename(common::demo_trace("inputs.etl"), path("a.etl")).unwrap();
    fs::write(path("m.man"), MANIFEST).unwrap();
    fs::write(path("schemas/n.man"), MANIFEST).unwrap();
    fs::write(path("t.tmf"), "").unwrap();
    fs::hard_link(path("a.etl"), path("other-name.etl")).unwrap();
    std::os::unix::fs::symlink(path("m.man"), path("link.man")).unwrap();
    fs::write(path("b.batch"), "decode a.etl --output b.batch\n").unwrap();
    fs::write(path("r.batch"), "record --demo --etl r.batch\n").unwrap();
    fs::write(path("s.batch"), "start S --etl s.batch\n").unwrap();
    fs::write(path("reg.batch"), "autologger add S P --reg reg.batch\n").unwrap();
    let run = |line: &str, stdin: Option<&str>, stdout: Stdio| {
        let stdin = stdin.map_or_else(Stdio::null, |name| fs::File::open(path(name)).unwrap().into());
        let mut command = process::Command::new(env!("CARGO_BIN_EXE_etwctl"));
        let output = command.args(line.split(' ')).current_dir(&folder).stdin(stdin).stdout(stdout).output().unwrap();
        common::Run::from(output)
    };
    for (line, stdin, input) in [
        ("decode a.etl --output a.etl", None, "a.etl"),
        ("decode a.etl --output other-name.etl", None, "a.etl"),
        ("decode - --output a.etl", Some("a.etl"), "standard input"),
        ("decode a.etl --manifest m.man --output m.man", None, "m.man"),
        ("decode a.etl --manifest m.man --output link.man", None, "m.man"),
        ("decode a.etl --manifest schemas --output schemas/n.man", None, "schemas/n.man"),
        ("decode a.etl --tmf t.tmf --output t.tmf", None, "t.tmf"),
        ("stacks a.etl --output a.etl", None, "a.etl"),
        ("stacks a.etl --manifest m.man --output m.man", None, "m.man"),
        ("flame a.etl --output a.etl", None, "a.etl"),
        ("flame a.etl --manifest m.man --output m.man", None, "m.man"),
        ("profile a.etl --output other-name.etl", None, "a.etl"),
        ("export a.etl --otlp a.etl", None, "a.etl"),
        ("export a.etl --manifest m.man --otlp link.man", None, "m.man"),
        ("trim a.etl --output other-name.etl", None, "a.etl"),
        ("trim a.etl --manifest m.man --output m.man", None, "m.man"),
        ("batch reg.batch", None, "reg.batch"),
        ("batch b.batch", None, "b.batch"),
        ("batch r.batch", None, "r.batch"),
        ("batch s.batch", None, "s.batch"),
        ("batch", Some("b.batch"), "standard input"),
    ] {
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let before: Vec<_> = names.iter().map(|path| fs::read(path).ok()).collect();
        let run = run(line, stdin, Stdio::piped());
        assert_eq!(run.code, 2, "{line}: {}", run.err);
        let expected = format!(" is the input {input}: choose another file");
        assert!(run.err.contains(&expected), "{line}: {}", run.err);
        let after: Vec<_> = names.iter().map(|path| fs::read(path).ok()).collect();
        assert!(before == after, "{line} changed a file");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), names.len(), "{line} left something");
    }
    // `>>` does not truncate the file, so it is still there to be protected.
    for line in ["decode a.etl", "stats a.etl"] {
        let before = fs::read(path("a.etl")).unwrap();
        let run = run(line, None, fs::File::options().append(true).open(path("a.etl")).unwrap().into());
        assert_eq!(run.code, 2, "{line}: {}", run.err);
        assert!(run.err.contains("standard output is the input a.etl"), "{line}: {}", run.err);
        assert!(fs::read(path("a.etl")).unwrap() == before, "{line}");
    }
    // An output beside the schemas is not an input, also the second time.
    for _ in 0..2 {
        let run = run("decode a.etl --manifest schemas --output schemas/out.csv --csv", None, Stdio::piped());
        assert_eq!(run.code, 0, "{}", run.err);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_dry_run_shows_the_requests() {
    let run = etwctl("start S --etl t.etl --circular 16MiB --buffer 64KiB --flush 500ms --dry-run --json");
    assert_eq!(run.code, 0, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["mode_bits"], "0x8000012");
    assert_eq!(json["flush_timer"], 500);
    assert_eq!(json["modes"][0], "circular");
    assert_eq!(json["minimum_buffers"], 0);
    let text = etwctl("start S --real-time --dry-run").out;
    assert!(text.contains("minimum_buffers    the system's choice"), "{text}");
}

#[test]
fn completions_are_written_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let run = etwctl(&format!("completions {shell}"));
        assert_eq!(run.code, 0);
        assert!(run.out.contains("etwctl") && run.out.contains("--etl") || run.out.contains("-l etl"), "{shell}");
    }
}

/// Runs the shells that can check a script without running it.
#[test]
fn shells_accept_their_completions() {
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let path = common::scratch(&format!("completions.{shell}"));
        std::fs::write(&path, etwctl(&format!("completions {shell}")).out).expect("a file");
        match std::process::Command::new(shell).arg(check).arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => eprintln!("skipped: there is no {shell}"),
        }
        std::fs::remove_file(path).expect("the file was written");
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let Ok(version) = std::process::Command::new("bash").arg("--version").output() else {
        eprintln!("skipped: there is no bash");
        return;
    };
    assert!(version.status.success());
    let script = etwctl("completions bash").out;
    let windows_11: Vec<&str> = Release::NAMES.into_iter().filter(|name| name.starts_with("win11")).collect();
    let windows_11 = windows_11.join(" ");
    for (words, expected) in [
        ("inf", "info"),
        ("info get stack-t", "stack-tracing"),
        ("record --lev", "--level"),
        ("record --level v", "verbose"),
        ("record --os win11", windows_11.as_str()),
        ("start S --real-time --cloc", "--clock"),
        ("update S --real-time o", "on off"),
        ("completions f", "fish"),
    ] {
        let last = words.split(' ').count();
        let mut reversed = words.rsplit(' ');
        let current = reversed.next().unwrap();
        let before = reversed.next().unwrap_or("etwctl");
        let test = format!(
            "{script}\nCOMP_WORDS=(etwctl {words}); COMP_CWORD={last}; _etwctl etwctl {current} {before}; echo \"${{COMPREPLY[*]}}\""
        );
        let output = std::process::Command::new("bash").args(["-c", &test]).output().expect("bash runs");
        let result = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert_eq!(result, expected, "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
