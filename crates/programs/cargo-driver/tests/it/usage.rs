//! What the command line accepts, and what a wrong one says.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{folder, printed, program, run};

#[test]
fn cargo_and_a_shell_run_the_same_program() {
    let by_cargo = run(&["--version"]);
    let by_shell = Command::new(env!("CARGO_BIN_EXE_cargo-driver")).arg("--version").output().unwrap();
    assert_eq!(by_cargo.stdout, by_shell.stdout);
    assert!(
        printed(&by_cargo).starts_with(concat!("cargo driver ", env!("CARGO_PKG_VERSION"))),
        "{}",
        printed(&by_cargo)
    );
}

#[test]
fn a_new_driver_on_a_full_disk_leaves_nothing() {
    let place = folder("full");
    fs::create_dir(place.join("empty")).unwrap();
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    // Files of more than one block cannot be written, so that the smallest ones are there before the disk is full.
    for name in ["new/deep/adder", "empty"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cargo-driver")]);
        shell.args(["driver", "new", name, "--wdk-etw"]).arg(&clone).current_dir(&place);
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
        assert!(printed(&output).contains("File too large"), "{}", printed(&output));
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "folders are left");
    assert_eq!(fs::read_dir(place.join("empty")).unwrap().count(), 0, "files are left");
}

#[test]
fn a_driver_that_exists_gets_tests_and_settings_once() {
    let place = folder("init");
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    fs::write(place.join("Cargo.toml"), "[package]\nname = \"echo-2\"\nversion.workspace = true\n").unwrap();
    let init = || program().args(["init", "--wdk-etw"]).arg(&clone).current_dir(&place).output().unwrap();
    let output = init();
    assert!(output.status.success(), "{}", printed(&output));
    let manifest = fs::read_to_string(place.join("host-tests/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"echo_2-tests\""), "{manifest}");
    assert!(manifest.contains("nt-host = { path = "), "{manifest}");
    assert!(place.join(".vscode/settings.json").is_file());
    fs::write(place.join("host-tests/tests/driver.rs"), "mine").unwrap();
    let output = init();
    assert!(output.status.success(), "{}", printed(&output));
    assert!(printed(&output).contains("was not changed"), "{}", printed(&output));
    assert_eq!(fs::read_to_string(place.join("host-tests/tests/driver.rs")).unwrap(), "mine");
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_to_do() {
    for (arguments, text) in [
        (&["buidl"][..], "similar subcommand exists: 'build'"),
        (&["build", "--arhc", "x64"], "similar argument exists: '--arch'"),
        (&["build", "--arch", "x86"], "[possible values: x64, arm64]"),
        (&["build"], "no Cargo.toml in"),
        (&["build", "--manifest-path", "missing/Cargo.toml"], "missing/Cargo.toml"),
        (&["build", "--debug"], "unexpected argument '--debug'"),
        (&["build", "--workspace", "-p", "a"], "cannot be used with"),
        (&["test", "--retries", "2"], "--nextest"),
        (&["editor", "emacs"], "[possible values: vscode, zed, helix, neovim]"),
        (&["clean"], "no Cargo.toml in"),
        (&["run", "--arch", "arm64"], "only drivers for x64 can be run here"),
        (&["package", "--replace"], "--adopt"),
        (&["verify"], "<PATH>..."),
        (&["inspect", "missing.sys"], "missing.sys"),
        (&["new"], "<NAME>"),
        (&["new", "1st"], "`1st` cannot be the name of a driver"),
        (&["new", "con"], "`con` cannot be the name of a driver: Windows has no files such as con.sys"),
        (&["new", "a", "b"], "unexpected argument 'b'"),
        (&["new", "a", "--wdm", "--kmdf"], "cannot be used with"),
        (&["new", "a", "--wdk-etw", "missing"], "name a clone of the wdk-etw repository"),
        (&["init"], "no Cargo.toml in"),
        (&["deploy"], "<HOST>"),
        (&["deploy", "vm"], "Cargo.toml"),
        (&["deploy", "vm", "--keep", "--remove"], "cannot be used with"),
        (&["deploy", "vm", "--timeout", "5"], "expected a number with a unit"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", printed(&output));
        assert!(printed(&output).contains(text), "{arguments:?}: {}", printed(&output));
    }
}

#[test]
fn a_package_that_is_no_driver_is_named() {
    let place = folder("no-driver");
    fs::create_dir_all(place.join("src")).unwrap();
    fs::write(place.join("Cargo.toml"), "[workspace]\n[package]\nname = \"plain\"\nversion = \"0.1.0\"\n").unwrap();
    fs::write(place.join("src/lib.rs"), "").unwrap();
    let output = program().arg("build").current_dir(&place).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("the package plain has no driver"), "{}", printed(&output));
}

#[test]
fn names_that_are_not_valid_utf_8_are_errors_and_not_panics() {
    let odd = OsStr::from_bytes(b"a\xFF.sys");
    for command in ["inspect", "verify"] {
        let output = program().arg(command).arg(odd).current_dir(folder("odd")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {}", printed(&output));
        assert!(!printed(&output).contains("panicked"), "{command}: {}", printed(&output));
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [&["--help"][..], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = program().args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!printed(&output).contains("panicked"), "{arguments:?}: {}", printed(&output));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", printed(&output));
    }
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let pages = folder("man");
    assert!(run(&["man", pages.to_str().unwrap()]).status.success());
    let zsh = printed(&run(&["completions", "zsh"]));
    for command in [
        "new",
        "init",
        "build",
        "check",
        "test",
        "run",
        "matrix",
        "fuzz",
        "list",
        "trace",
        "framework",
        "inspect",
        "verify",
        "package",
        "deploy",
        "editor",
        "clean",
        "setup",
        "completions",
        "man",
    ] {
        assert!(pages.join(format!("cargo-driver-{command}.1")).is_file(), "{command}");
        assert!(zsh.contains(&format!("'{command}:")), "{command}");
    }
    // A page has the text of `--help`. The program's own has the list of commands.
    for page in fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path()) {
        let name = page.file_stem().unwrap().to_str().unwrap();
        let is_list = name == "cargo-driver" || name.ends_with("-help") || name.contains("-help-");
        assert!(is_list || fs::read_to_string(&page).unwrap().contains("Example"), "{name} has no example");
    }
}
