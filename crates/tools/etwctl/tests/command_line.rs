//! Help texts, messages about wrong usage, exit codes and completions.
#![cfg(test)]

mod common;

use common::etwctl;

const COMMANDS: [&str; 20] = [
    "sessions",
    "providers",
    "start",
    "update",
    "enable",
    "disable",
    "capture",
    "info list",
    "info get",
    "info set",
    "flush",
    "stop",
    "record",
    "decode",
    "stats",
    "activities",
    "stacks",
    "schema",
    "batch",
    "completions",
];

#[test]
fn every_command_explains_itself() {
    let overview = etwctl("--help");
    assert_eq!(overview.code, 0);
    for command in COMMANDS {
        assert!(overview.out.contains(command.split(' ').next().unwrap()), "{command}");
        let run = etwctl(&format!("{command} --help"));
        assert_eq!(run.code, 0, "{command}");
        assert!(run.out.contains(&format!("Usage: etwctl {command}")), "{}", run.out);
    }
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
        ("record", "record needs a provider, or --demo"),
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
    assert!(
        run.err.contains("4201 WMI_INSTANCE_NOT_FOUND") && run.err.contains("; did you mean 'Tracing'?"),
        "{}",
        run.err
    );
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

#[test]
fn a_dry_run_shows_what_would_be_asked_for() {
    let run = etwctl("start S --etl t.etl --circular 16MiB --buffer 64KiB --flush 500ms --dry-run --json");
    assert_eq!(run.code, 0, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&json["mode_bits"], &json["flush_timer"]), (&"0x8000012".into(), &500.into()));
    assert_eq!((&json["modes"][0], &json["minimum_buffers"]), (&"circular".into(), &0.into()));
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
    for (words, expected) in [
        ("inf", "info"),
        ("info get stack-t", "stack-tracing"),
        ("record --lev", "--level"),
        ("record --level v", "verbose"),
        ("record --os win11", "win11-21h2 win11-22h2 win11-23h2 win11-24h2 win11-25h2"),
        ("start S --real-time --cloc", "--clock"),
        ("update S --real-time o", "on off"),
        ("completions f", "fish"),
    ] {
        let last = words.split(' ').count();
        let mut reversed = words.rsplit(' ');
        let (current, before) = (reversed.next().unwrap(), reversed.next().unwrap_or("etwctl"));
        let test = format!(
            "{script}\nCOMP_WORDS=(etwctl {words}); COMP_CWORD={last}; _etwctl etwctl {current} {before}; echo \"${{COMPREPLY[*]}}\""
        );
        let output = std::process::Command::new("bash").args(["-c", &test]).output().expect("bash runs");
        let result = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert_eq!(result, expected, "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
