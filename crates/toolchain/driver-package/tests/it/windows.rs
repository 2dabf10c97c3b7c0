//! What is different on Windows: paths, names of devices, lines that end with CR LF, and read-only files.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Output};

use crate::common::Driver;
use crate::common::inputs::INX;

/// A new folder on a path with a drive, a space and a letter beyond ASCII, with an image and an `.inx`.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("windows {name} Ω"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    let path = absolute(path).unwrap();
    fs::write(path.join("driver.dll"), Driver { signed: false, ..Driver::default() }.build()).unwrap();
    fs::write(path.join("driver.inx"), INX).unwrap();
    path
}

/// Runs the program. All tests use one key, because making one takes long.
fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_driver-package"));
    program.current_dir(dir).env("SOURCE_DATE_EPOCH", "1700000000").args(arguments).output().unwrap()
}

fn package(dir: &Path, inx: &str, out: &str) -> Output {
    let keys = absolute(Path::new(env!("CARGO_TARGET_TMPDIR")).join("windows keys")).unwrap();
    let keys = keys.to_str().unwrap();
    let inputs = ["--image", "driver.dll", "--inx", inx, "--kmdf", "1.15", "--provider", "MyDriver"];
    run(dir, &[&["package", "--out", out, "--keys", keys][..], &inputs].concat())
}

fn printed(output: &Output) -> String {
    String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).unwrap()
}

#[test]
fn a_package_is_made_verified_and_inspected_on_every_kind_of_path() {
    let dir = folder("package");
    let full = dir.join("full").into_os_string().into_string().unwrap();
    for (out, inx) in [
        (String::from("plain"), "driver.inx"),
        (String::from(r".\with space\x64"), r".\driver.inx"),
        (full.replace('\\', "/"), "../windows package Ω/driver.inx"),
        (format!(r"\\?\{full}-verbatim"), "driver.inx"),
    ] {
        let made = package(&dir, inx, &out);
        assert_eq!(made.status.code(), Some(0), "{out}: {}", printed(&made));
        let verified = run(&dir, &["verify", &out]);
        assert_eq!(verified.status.code(), Some(0), "{out}: {}", printed(&verified));
        let image = format!(r"{}\driver.sys", out.replace('/', r"\"));
        let inspected = run(&dir, &["inspect", &image]);
        assert_eq!(inspected.status.code(), Some(0), "{out}: {}", printed(&inspected));
        assert!(printed(&inspected).contains("Windows would load it"), "{}", printed(&inspected));
    }
}

#[test]
fn an_inx_with_lines_of_windows_makes_the_same_package() {
    let dir = folder("lines");
    fs::create_dir(dir.join("crlf")).unwrap();
    fs::write(dir.join(r"crlf\driver.inx"), INX.replace('\n', "\r\n")).unwrap();
    for (inx, out) in [("driver.inx", "one"), (r"crlf\driver.inx", "other")] {
        let made = package(&dir, inx, out);
        assert_eq!(made.status.code(), Some(0), "{out}: {}", printed(&made));
    }
    let compared = run(&dir, &["compare", "one", "other"]);
    assert_eq!(compared.status.code(), Some(0), "{}", printed(&compared));
}

#[test]
fn a_changed_file_is_not_valid() {
    let dir = folder("changed");
    let made = package(&dir, "driver.inx", "out");
    assert_eq!(made.status.code(), Some(0), "{}", printed(&made));
    let inf = dir.join(r"out\driver.inf");
    let changed = fs::read_to_string(&inf).unwrap().replace("Speed", "Spoed");
    fs::write(&inf, changed).unwrap();
    let verified = run(&dir, &["verify", "out"]);
    assert_eq!(verified.status.code(), Some(1), "{}", printed(&verified));
    assert!(printed(&verified).contains("driver.inf"), "{}", printed(&verified));
}

#[test]
fn a_package_with_a_read_only_file_is_whole_after_the_next_one() {
    let dir = folder("read-only");
    let first = package(&dir, "driver.inx", "out");
    assert_eq!(first.status.code(), Some(0), "{}", printed(&first));
    let inf = dir.join(r"out\driver.inf");
    let mut permissions = fs::metadata(&inf).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&inf, permissions).unwrap();
    let second = package(&dir, "driver.inx", "out");
    assert_eq!(second.status.code(), Some(0), "{}", printed(&second));
    let verified = run(&dir, &["verify", "out"]);
    assert_eq!(verified.status.code(), Some(0), "{}: {}", printed(&second), printed(&verified));
}

#[test]
fn names_of_devices_are_refused() {
    let dir = folder("devices");
    for out in ["nul", "con", "AUX"] {
        let made = package(&dir, "driver.inx", out);
        assert_ne!(made.status.code(), Some(0), "{out}: {}", printed(&made));
        assert!(!printed(&made).contains("panicked"), "{out}: {}", printed(&made));
    }
    let inspected = run(&dir, &["inspect", "nul"]);
    assert_eq!(inspected.status.code(), Some(2), "{}", printed(&inspected));
}
