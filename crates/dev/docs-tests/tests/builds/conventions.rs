//! All programs follow docs/conventions.md: exit codes, output, files, and the members of JSON.
//!
//! Each test checks one convention with every program. The sample driver must be built: `cargo xtask build`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::programs::program;
use docs_tests::markdown::repository;
use serde_json::Value;

/// The commands that read a file, and the file's extension.
const READERS: [(&str, &[&str], &str); 9] = [
    ("cargo-driver", &["inspect", "FILE"], "sys"),
    ("cargo-driver", &["verify", "FILE"], "sys"),
    ("nt-host", &["list", "FILE"], "sys"),
    ("nt-host", &["run", "FILE"], "sys"),
    ("driver-package", &["inspect", "FILE"], "sys"),
    ("driver-package", &["verify", "FILE"], "sys"),
    ("etwctl", &["decode", "FILE"], "etl"),
    ("etwctl", &["stats", "FILE"], "etl"),
    ("etwctl", &["doctor", "P", "FILE"], "etl"),
];

/// The commands that write a file.
const WRITERS: [(&str, &[&str]); 5] = [
    ("nt-host", &["run", "FILE.sys", "--etl", "OUT"]),
    ("etwctl", &["decode", "FILE.etl", "--output", "OUT"]),
    ("etwctl", &["decode", "FILE.etl", "--html", "--output", "OUT"]),
    ("etwctl", &["decode", "FILE.etl", "--csv", "--output", "OUT"]),
    ("etwctl", &["record", "--demo", "--count", "3", "--etl", "OUT"]),
];

/// The commands that write a folder.
const FOLDER_WRITERS: [(&str, &[&str]); 2] = [
    (
        "driver-package",
        &[
            "package",
            "--image",
            "FILE.sys",
            "--inx",
            "driver-sample/driver_sample.inx",
            "--kmdf",
            "1.33",
            "--keys",
            "KEYS",
            "--out",
            "OUT",
        ],
    ),
    ("nt-host-demo", &["FILE.sys", "OUT", "win11-24h2"]),
];

/// The commands that run until they are interrupted, their exit code after that, and whether their first output is on
/// standard error. A named pipe without a writer is a file that never ends.
const ENDLESS: [(&str, &[&str], i32, bool); 5] = [
    ("nt-host", &["run", "FILE.sys", "--real-time", "--advance", "1h", "--ioctl", "22E000:01"], 130, false),
    // The process that `cargo driver run` becomes after the build.
    (
        "cargo-driver",
        &["--internal-program", "nt-host", "run", "FILE.sys", "--real-time", "--advance", "1h", "--ioctl", "22E000:01"],
        130,
        false,
    ),
    ("cargo-driver", &["--verbose", "inspect", "PIPE"], 130, true),
    ("driver-package", &["--verbose", "inspect", "PIPE"], 130, true),
    // Ctrl-C is the usual way to stop a recording.
    ("etwctl", &["record", "--demo", "--for", "1h", "--live"], 0, false),
];

/// The programs for users. `xtask`, `bench` and `nt-host-demo` are only for this repository.
const PROGRAMS: [&str; 4] = ["cargo-driver", "nt-host", "etwctl", "driver-package"];

/// Returns an existing file of this kind.
fn input(end: &str) -> PathBuf {
    let path = repository().join(match end {
        "sys" => "target/driver/x64/driver_sample.sys",
        _ => "crates/traces/etw-etl/tests/corpus/simple.etl",
    });
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

/// Returns a command with its placeholders replaced.
fn command(name: &str, words: &[&str], file: &Path, out: &Path) -> Command {
    let mut command = program(name);
    for word in words {
        match *word {
            "FILE" | "PIPE" => command.arg(file),
            "KEYS" => command.arg(folder("conventions-keys")),
            "FILE.sys" => command.arg(input("sys")),
            "FILE.etl" => command.arg(input("etl")),
            "FILE.man" => command.arg("crates/traces/etw-manifest/tests/data/rich.man"),
            "OUT" => command.arg(out),
            word => command.arg(word),
        };
    }
    command
}

/// Returns an empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("the program starts")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn errors(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// What a command prints to standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// A list or a text, of which a reader may take as much as it wants.
    Listing,
    /// A verdict, or what was done. Nobody may believe in a success that was not read.
    Result,
}

/// Commands of every program that print to standard output.
const PRINTERS: [(&str, &[&str], Printed); 26] = [
    ("cargo-driver", &["--help"], Printed::Listing),
    ("cargo-driver", &["completions", "bash"], Printed::Listing),
    ("cargo-driver", &["list", "--", "--all"], Printed::Listing),
    ("cargo-driver", &["inspect", "FILE.sys"], Printed::Result),
    ("cargo-driver", &["verify", "FILE.sys"], Printed::Result),
    ("nt-host", &["--version"], Printed::Listing),
    ("nt-host", &["list", "FILE.sys"], Printed::Listing),
    ("nt-host", &["run", "FILE.sys", "--json"], Printed::Result),
    ("nt-host", &["run", "FILE.sys", "--etl", "OUT"], Printed::Result),
    ("driver-package", &["inspect", "--rules"], Printed::Listing),
    ("driver-package", &["lint", "--rules"], Printed::Listing),
    ("driver-package", &["inspect", "FILE.sys"], Printed::Result),
    ("driver-package", &["verify", "FILE.sys"], Printed::Result),
    ("etwctl", &["decode", "FILE.etl"], Printed::Listing),
    ("etwctl", &["decode", "FILE.etl", "--json"], Printed::Listing),
    ("etwctl", &["stats", "FILE.etl"], Printed::Listing),
    ("etwctl", &["record", "--demo", "--count", "3"], Printed::Listing),
    ("etwctl", &["record", "--demo", "--count", "3", "--live", "--etl", "OUT"], Printed::Result),
    ("etwctl", &["compare", "FILE.etl", "crates/traces/etw-etl/tests/corpus/types.etl"], Printed::Result),
    ("etwctl", &["doctor", "P", "FILE.etl"], Printed::Result),
    ("driver-exercise", &["--help"], Printed::Listing),
    ("driver-exercise", &["classes"], Printed::Listing),
    ("xtask", &["--help"], Printed::Listing),
    ("xtask", &["fuzz", "--list"], Printed::Listing),
    ("xtask", &["help", "demo"], Printed::Listing),
    ("xtask", &["modules", "nt-kernel"], Printed::Listing),
];

/// Every program is in the table.
#[test]
fn no_output_is_lost_unnoticed() {
    assert!(PROGRAMS.iter().all(|program| PRINTERS.iter().any(|(name, ..)| name == program)));
    let folder = folder("conventions-stdout");
    for (name, words, printed) in PRINTERS {
        let out = folder.join("out.etl");
        let command = || command(name, words, Path::new(""), &out);
        let what = format!("{name} {words:?}");
        let read = run(&mut command());
        assert!(!read.stdout.is_empty(), "{what} prints nothing");

        // The reader closes the pipe early, without a message.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut unread = command();
        let unread = unread.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn();
        let unread = unread.and_then(Child::wait_with_output).expect("the program");
        let expected = if printed == Printed::Result { code(&read).max(Some(2)) } else { code(&read) };
        assert_eq!(code(&unread), expected, "{what}, unread: {}", errors(&unread));
        assert!(!errors(&unread).contains("standard output"), "{what}, unread: {}", errors(&unread));

        // There is no standard output.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(command().get_program()).args(command().get_args());
        let closed = run(shell.current_dir(repository()));
        assert_eq!(code(&closed), Some(2), "{what}, closed: {}", errors(&closed));
        assert!(errors(&closed).contains("error: standard output is closed"), "{what}, closed: {}", errors(&closed));

        // The disk is full.
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let full = run(command().stdout(full));
        assert!(code(&full) >= Some(2), "{what}, full: {}", errors(&full));
        let expected = "error: cannot write to standard output: No space left on device";
        assert_eq!(errors(&full).matches(expected).count(), 1, "{what}, full: {}", errors(&full));
    }
}

#[test]
fn a_full_disk_is_an_error() {
    for (name, words) in WRITERS {
        let output = run(&mut command(name, words, Path::new(""), Path::new("/dev/full")));
        assert_ne!(code(&output), Some(0), "{name} {words:?}");
        assert!(errors(&output).contains("error:"), "{name} {words:?}: {}", errors(&output));
    }
}

#[test]
fn names_of_files_need_not_be_utf_8_and_other_values_must() {
    let folder = folder("conventions-odd");
    for (name, words, end) in READERS {
        let mut odd = folder.join(OsStr::from_bytes(b"odd\xFF")).into_os_string();
        odd.push(format!(".{end}"));
        fs::copy(input(end), &odd).expect("a copy");
        let expected = run(&mut command(name, words, &input(end), Path::new("")));
        let output = run(&mut command(name, words, Path::new(&odd), Path::new("")));
        assert_eq!(code(&output), code(&expected), "{name} {words:?}: {}", errors(&output));
    }
    let odd = OsString::from_vec(b"X\xFF".to_vec());
    for (name, words) in [
        ("nt-host", &["run", "x.sys", "--hide"][..]),
        ("etwctl", &["stop"]),
        ("cargo-driver", &["build", "--package"]),
        ("driver-package", &["inspect", "x.sys", "--windows"]),
    ] {
        let output = run(program(name).args(words).arg(&odd));
        assert_eq!(code(&output), Some(2), "{name}: {}", errors(&output));
        assert!(errors(&output).contains("invalid UTF-8"), "{name}: {}", errors(&output));
    }
}

#[test]
fn unknown_options_and_missing_files_are_wrong_usage() {
    for name in PROGRAMS {
        let output = run(program(name).arg("--no-such-option"));
        assert_eq!(code(&output), Some(2), "{name}");
        let text = errors(&output);
        assert!(text.starts_with("error: unexpected argument '--no-such-option'"), "{name}: {text}");
    }
    for (name, words, end) in READERS {
        let missing = format!("no-such-file.{end}");
        let output = run(&mut command(name, words, Path::new(&missing), Path::new("")));
        assert_eq!(code(&output), Some(2), "{name} {words:?}: {}", errors(&output));
        let text = errors(&output);
        assert!(text.contains("error: "), "{name} {words:?}: {text}");
        assert!(text.contains("no-such-file"), "{name} {words:?}: {text}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_an_old_file_stays() {
    let folder = folder("conventions-files");
    for (index, (name, words)) in WRITERS.into_iter().enumerate() {
        // Not even root can create a file here.
        let nowhere = Path::new("/proc/no-such-file.out");
        let output = run(&mut command(name, words, Path::new(""), nowhere));
        assert!(matches!(code(&output), Some(1 | 2)), "{name} {words:?}: {}", errors(&output));
        assert!(errors(&output).contains("error: "), "{name} {words:?}: {}", errors(&output));
        let out = folder.join(format!("{index}.out"));
        fs::write(&out, "old").expect("a file");
        let output = run(&mut command(name, words, Path::new(""), &out));
        assert_eq!(code(&output), Some(0), "{name} {words:?}: {}", errors(&output));
        assert_ne!(fs::read(&out).expect("the file"), b"old", "{name} {words:?}");
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), index + 1, "{name} {words:?} left something");
    }
}

/// Returns a command that cannot write to files, as on a full disk: each write returns an error.
fn limited(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args());
    shell.current_dir(repository());
    shell
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one() {
    let folder = folder("conventions-limited");
    let out = folder.join("out");
    for (name, words) in WRITERS {
        fs::write(&out, "old").expect("a file");
        let output = run(&mut limited(&command(name, words, Path::new(""), &out)));
        assert!(matches!(code(&output), Some(1 | 2 | 4)), "{name} {words:?}: {:?} {}", code(&output), errors(&output));
        assert!(errors(&output).contains("error"), "{name} {words:?}: {}", errors(&output));
        assert_eq!(fs::read(&out).expect("the old file"), b"old", "{name} {words:?}: {}", errors(&output));
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1, "{name} {words:?} left something");
    }
}

#[test]
fn a_folder_is_written_as_a_whole_or_not_at_all() {
    let folder = folder("conventions-folders");
    let fails = |output: Output, expected: i32, what: &str| {
        assert_eq!(code(&output), Some(expected), "{what}: {}", errors(&output));
        assert!(errors(&output).contains("error"), "{what}: {}", errors(&output));
    };
    for (name, words) in FOLDER_WRITERS {
        let what = format!("{name} {words:?}");
        fails(run(&mut command(name, words, Path::new(""), Path::new("/proc/no-such-folder"))), 2, &what);
        // An existing file of that name is not changed.
        let file = folder.join("file");
        fs::write(&file, "old").expect("a file");
        fails(run(&mut command(name, words, Path::new(""), &file)), 2, &what);
        assert_eq!(fs::read(&file).expect("the file"), b"old", "{what}");
        // The files of an earlier run are not changed if there is no space for the new ones.
        let out = folder.join(name);
        let output = run(&mut command(name, words, Path::new(""), &out));
        assert_eq!(code(&output), Some(0), "{what}: {}", errors(&output));
        let files = || {
            let entries = fs::read_dir(&out).expect("the folder").map(|entry| entry.expect("a file").path());
            entries.map(|path| (fs::read(&path).expect("a file"), path)).collect::<BTreeSet<_>>()
        };
        let before = files();
        fails(run(&mut limited(&command(name, words, Path::new(""), &out))), 2, &what);
        assert!(before == files(), "{what} changed its folder");
        let places = fs::read_dir(&folder).expect("the folder").count();
        fs::remove_dir_all(&out).expect("the folder");
        assert_eq!(places, 2, "{what} left something");
    }
}

#[test]
fn colours_notes_and_details_are_as_requested() {
    let record = |more: &[&str], color: &str| {
        let output =
            run(program("etwctl").args(["record", "--demo", "--level", "error"]).args(more).env("NO_COLOR", color));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        (String::from_utf8_lossy(&output.stdout).contains('\u{1b}'), errors(&output))
    };
    assert!(record(&["--color", "always"], "1").0, "the option counts more than NO_COLOR");
    let (has_colours, summary) = record(&[], "");
    assert!(!has_colours, "{summary}");
    assert!(summary.contains("0 events and 0 buffers lost"), "{summary}");
    assert_eq!(record(&["--quiet", "--color", "never"], ""), (false, String::new()));
    for name in PROGRAMS {
        // Usage errors use colours, too.
        for (color, expected) in [("always", true), ("never", false)] {
            let output = run(program(name).args(["--color", color, "--no-such-option"]));
            assert_eq!(errors(&output).contains('\u{1b}'), expected, "{name} --color {color}");
        }
        let both = run(program(name).args(["--quiet", "--verbose"]));
        assert_eq!(code(&both), Some(2), "{name}");
        let verbose = run(program(name).args(["completions", "bash", "--verbose"]));
        let text = errors(&verbose);
        assert!(text.starts_with("detail: "), "{name}: {text}");
        assert!(text.contains(env!("CARGO_PKG_VERSION")), "{name}: {text}");
        assert!(text.lines().next_back().is_some_and(|line| line.ends_with("exit code 0")), "{name}: {text}");
    }
}

#[test]
fn a_recording_that_cannot_begin_leaves_the_old_file() {
    let folder = folder("conventions-recording");
    let out = folder.join("trace.etl");
    fs::write(&out, "old").expect("a file");
    for (name, words, expected) in [
        // An empty session name is refused only when the session starts.
        ("etwctl", &["record", "P", "--session", "", "--for", "1s", "--etl", "OUT"][..], 1),
        ("etwctl", &["record", "P", "--etl", "OUT"], 5),
        ("etwctl", &["record", "P", "--driver", "no-such-file.sys", "--etl", "OUT"], 2),
        ("nt-host", &["run", "no-such-file.sys", "--etl", "OUT"], 2),
    ] {
        let output = run(&mut command(name, words, Path::new(""), &out));
        assert_eq!(code(&output), Some(expected), "{name} {words:?}: {}", errors(&output));
        assert_eq!(fs::read(&out).expect("the old file"), b"old", "{name} {words:?}: {}", errors(&output));
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1, "{name} {words:?} left something");
    }
}

#[test]
fn two_recordings_do_not_share_a_file() {
    let out = folder("conventions-shared").join("trace.etl");
    let words = ["record", "--demo", "--for", "1h", "--live", "--etl", "OUT"];
    let mut first = command("etwctl", &words, Path::new(""), &out)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it");
    let mut lines = BufReader::new(first.stdout.take().expect("its output"));
    lines.read_line(&mut String::new()).expect("an event");
    let second = run(&mut command("etwctl", &words, Path::new(""), &out));
    assert_eq!(code(&second), Some(2), "{}", errors(&second));
    assert!(errors(&second).contains("another recording writes to it"), "{}", errors(&second));
    interrupt(first.id());
    assert_eq!(first.wait().expect("its end").code(), Some(0));
    let read = run(program("etwctl").arg("stats").arg(&out));
    assert_eq!(code(&read), Some(0), "{}", errors(&read));
}

/// Interrupts a process and its children, as Ctrl-C in a terminal does.
fn interrupt(group: u32) {
    let sent = Command::new("kill").args(["-INT", "--", &format!("-{group}")]).status().expect("kill");
    assert!(sent.success());
}

#[test]
fn an_interrupt_ends_every_program_in_order() {
    for (name, words, expected, on_error) in ENDLESS {
        let pipe = folder("conventions-interrupt").join("pipe.sys");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let mut child = command(name, words, &pipe, &pipe.with_extension("out"))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = child.stdout.take().expect("its output");
        let err = child.stderr.take().expect("its errors");
        let mut out = BufReader::new(out);
        let mut err = BufReader::new(err);
        // The first line of output shows that the program is running.
        let mut first = String::new();
        if on_error {
            err.read_line(&mut first).expect("a line");
        } else {
            out.read_line(&mut first).expect("a line");
        }
        interrupt(child.id());
        let rest: Vec<String> = out.lines().map_while(Result::ok).collect();
        let status = child.wait().expect("its end");
        // An interrupt that comes before the program has a handler ends it. A shell shows the same number for both.
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        assert_eq!(code, Some(expected), "{name} {words:?}: {first}{rest:?}");
    }
}

/// Returns a command that runs another one on a terminal, which `script` of util-linux provides.
fn scripted(command: &Command) -> Command {
    let quoted = |word: &OsStr| format!("'{}'", word.to_str().expect("UTF-8"));
    let line: Vec<String> = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    script.current_dir(repository()).env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::piped());
    script
}

/// Every name of a file that a program repeats stays in its line, and a terminal executes nothing of it.
#[test]
fn a_name_of_a_file_never_looks_like_a_line_of_ours() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` (Debian: bsdutils)");
        return;
    }
    let folder = folder("conventions-hostile").join("a\x1b]0;title\x07\u{202e}\nerror: fake\r\u{9b}2J");
    fs::create_dir_all(&folder).expect("a folder");
    let readers = READERS.into_iter().flat_map(|(name, words, end)| {
        let there = folder.join(format!("a.{end}"));
        let missing = folder.join(format!("b.{end}"));
        fs::copy(input(end), &there).expect("a copy");
        [(name, words, there), (name, words, missing)]
    });
    for (name, words, file) in readers {
        let output = scripted(&command(name, words, &file, Path::new(""))).output().expect("script runs");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("fake") || file.exists(), "{name} {words:?} does not name the file: {shown:?}");
        // Our own: colours, the line of a spinner or of progress, and the terminal's line ends.
        let own =
            ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\r\x1b[K", "\r\x1b[2K"];
        let rest = own.iter().fold(shown.replace("\r\n", "\n"), |text, own| text.replace(own, ""));
        let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!rest.contains(is_bad), "{name} {words:?}: {rest:?}");
        assert!(!rest.lines().any(|line| line.starts_with("error: fake")), "{name} {words:?}: {rest:?}");
    }
}

/// Runs a command on a terminal until it shows `text`, and lets it continue. `script` of util-linux provides the
/// terminal; without it, returns `None`.
fn on_terminal(command: &Command, pipe: &Path, text: &str) -> Option<String> {
    let Ok(mut script) = scripted(command).spawn() else {
        eprintln!("skipped: there is no `script` (Debian: bsdutils)");
        return None;
    };
    let mut out = script.stdout.take().expect("its output");
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    let mut is_held = true;
    while let Ok(count @ 1..) = out.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        if is_held && String::from_utf8_lossy(&shown).contains(text) {
            // The program gets an empty file.
            drop(File::options().write(true).open(pipe).expect("the pipe"));
            is_held = false;
        }
    }
    script.wait().expect("its end");
    Some(String::from_utf8_lossy(&shown).into_owned())
}

#[test]
fn long_work_shows_a_spinner_on_a_terminal_and_nowhere_else() {
    let words =
        ["package", "--image", "PIPE", "--inx", "driver-sample/driver_sample.inx", "--keys", "KEYS", "--out", "OUT"];
    let text = "making the package";
    let folder = folder("conventions-spinner");
    let pipe = folder.join("pipe.sys");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let command = || command("driver-package", &words, &pipe, &folder.join("out"));
    let Some(shown) = on_terminal(&command(), &pipe, text) else { return };
    let (spinner, rest) = shown.rsplit_once(text).expect("the spinner");
    assert!(!spinner.contains("error"), "{shown:?}");
    assert!(rest.contains("error"), "{shown:?}");
    // The line of the spinner is cleared before the error is printed.
    assert!(rest.contains("\x1b[2K"), "{shown:?}");
    fs::remove_file(&pipe).expect("the pipe");
    fs::write(&pipe, "").expect("a file");
    let output = run(&mut command());
    assert!(code(&output) != Some(0), "{}", errors(&output));
    assert!(!errors(&output).contains(text), "{}", errors(&output));
    assert!(!errors(&output).contains('\x1b'), "{}", errors(&output));
    assert!(!errors(&output).contains('\r'), "{}", errors(&output));
}

#[test]
fn every_program_has_help_a_version_completions_and_manual_pages() {
    for name in PROGRAMS {
        let version = run(program(name).arg("--version"));
        let text = String::from_utf8_lossy(&version.stdout).into_owned();
        let start = format!("{} {}", name.replace("cargo-driver", "cargo driver"), env!("CARGO_PKG_VERSION"));
        assert!(text.starts_with(&start), "{name}: {text}");
        let help = run(program(name).arg("--help"));
        assert!(String::from_utf8_lossy(&help.stdout).contains("Exit codes: 0 success"), "{name}");
        for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
            let script = run(program(name).args(["completions", shell]));
            assert_eq!(code(&script), Some(0), "{name}: {}", errors(&script));
            assert!(String::from_utf8_lossy(&script.stdout).contains(name), "{name} {shell}");
        }
        let pages = folder(&format!("conventions-man-{name}"));
        assert_eq!(code(&run(program(name).arg("man").arg(&pages))), Some(0), "{name}");
        let page = fs::read_to_string(pages.join(format!("{name}.1"))).expect("a manual page");
        assert!(page.contains(".TH"), "{name}: {page}");
    }
}

/// Returns the rows of the page's JSON table: a command, the members of its output, and a list with the members of
/// its elements.
fn promises() -> Vec<(String, Vec<String>, Vec<String>)> {
    let page = fs::read_to_string(repository().join("docs/conventions.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.contains("--json"));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        (names(cells[0]).concat(), names(cells[1]), cells.get(2).map(|cell| names(cell)).unwrap_or_default())
    });
    rows.collect()
}

#[test]
fn json_has_the_members_that_the_page_promises() {
    let promises = promises();
    assert!(promises.len() >= 8, "{promises:?}");
    for (line, members, inner) in promises {
        let mut words = line.split(' ');
        let name = words.next().expect("a program");
        let words: Vec<&str> = words.collect();
        let output = run(&mut command(name, &words, Path::new(""), Path::new("")));
        let text = String::from_utf8_lossy(&output.stdout);
        // The output is one document, or one document per line.
        let value: Value = serde_json::from_str(&text)
            .or_else(|_| serde_json::from_str(text.lines().next_back().unwrap_or_default()))
            .unwrap_or_else(|error| panic!("{line}: {error}: {text}{}", errors(&output)));
        assert_eq!(value["schema_version"], 1, "{line}");
        let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<BTreeSet<String>>();
        assert_eq!(keys(&value), members.iter().cloned().collect(), "{line}");
        if let Some((list, of_each)) = inner.split_first() {
            let first = value[list].get(0).unwrap_or_else(|| panic!("{line}: {list} is empty: {text}"));
            assert_eq!(keys(first), of_each.iter().cloned().collect(), "{line}: {list}");
        }
    }
}
