//! Explanations, mistakes and exit codes.

mod common;

use common::etwctl;

const COMMANDS: [&str; 17] = [
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
    "batch",
    "completions",
];

#[test]
fn every_command_explains_itself() {
    let overview = etwctl("--help");
    assert_eq!(overview.code, 0);
    for command in COMMANDS {
        assert!(overview.out.contains(command), "{command}");
        let run = etwctl(&format!("{command} --help"));
        assert_eq!(run.code, 0, "{command}");
        assert!(run.out.contains(&format!("usage: etwctl {command}")), "{}", run.out);
    }
    assert!(overview.out.contains("exit codes"));
}

#[cfg(not(windows))]
#[test]
fn the_overview_is_honest_about_where_sessions_are() {
    let overview = etwctl("--help");
    assert!(overview.out.contains("no other process can see them"), "{}", overview.out);
    let started = etwctl("start S --real-time");
    assert!(started.err.contains("sessions begin and end with this process"), "{}", started.err);
}

#[test]
fn mistakes_have_exit_code_2_and_say_what_is_wrong() {
    for (line, message) in [
        ("", "a command is needed"),
        ("sesions", "did you mean 'sessions'?"),
        ("decode", "decode needs FILE"),
        ("record", "record needs a provider, or --demo"),
        ("info get 29", "there is no information class '29'"),
        ("info get stream-count", "needs --session"),
        ("enable S P --level loud", "is not a number"),
        ("start S --mode odd", "is neither a number nor one of"),
        ("completions cmd", "completions for bash, zsh, fish and powershell"),
    ] {
        let run = etwctl(line);
        assert_eq!(run.code, 2, "{line}: {}", run.err);
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
}

#[test]
fn limits_and_missing_files_have_exit_code_1() {
    for (line, message) in [
        ("start S --etl x.etl --circular 0", "needs a largest size"),
        ("start S --etl x.etl --circular 1 --sequential 1", "a sequential file cannot be circular"),
        ("decode no-such-file.etl", "cannot open"),
        ("stats Cargo.toml", "is not an .etl trace"),
    ] {
        let run = etwctl(line);
        assert_eq!(run.code, 1, "{line}: {}", run.err);
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
}

#[test]
fn a_dry_run_shows_what_would_be_asked_for() {
    let run = etwctl("start S --etl t.etl --circular 16 --buffer-kib 64 --flush 0.5 --dry-run --json");
    assert_eq!(run.code, 0, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&json["mode_bits"], &json["flush_timer"]), (&"0x8000012".into(), &500.into()));
}

#[test]
fn completions_are_written_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let run = etwctl(&format!("completions {shell}"));
        assert_eq!(run.code, 0);
        assert!(run.out.contains("etwctl") && run.out.contains("--etl") || run.out.contains("-l etl"), "{shell}");
    }
}

#[test]
fn bash_accepts_its_completions() {
    let Ok(version) = std::process::Command::new("bash").arg("--version").output() else {
        eprintln!("skipped: there is no bash");
        return;
    };
    assert!(version.status.success());
    let script = etwctl("completions bash").out;
    let test = format!(
        "{script}\nCOMP_WORDS=(etwctl inf); COMP_CWORD=1; _etwctl; echo \"${{COMPREPLY[*]}}\"\nCOMP_WORDS=(etwctl info s); COMP_CWORD=2; _etwctl; echo \"${{COMPREPLY[*]}}\""
    );
    let output = std::process::Command::new("bash").args(["-c", &test]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "info\nset\n", "{}", String::from_utf8_lossy(&output.stderr));
}
