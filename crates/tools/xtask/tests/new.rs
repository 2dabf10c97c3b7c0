//! `cargo xtask new`: a driver of each kind, made outside of the repository in a folder with a space in its name, builds, runs
//! and passes its tests as it is.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Runs a command; panics with what it said if it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}

fn xtask(folder: &Path) -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.current_dir(folder);
    xtask
}

#[test]
fn a_new_driver_of_each_kind_builds_and_passes_its_tests() {
    let folder = std::env::temp_dir().join(format!("xtask new {}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (kind, name) in [("--kmdf", "new-kmdf"), ("--wdm", "new-wdm")] {
        let image = repository().join("target/driver/x64").join(name.replace('-', "_")).with_extension("sys");
        let _ = fs::remove_file(&image);
        run(xtask(&folder).args(["new", name, kind]));
        let driver = folder.join(name);
        run(xtask(&driver).args(["build", "--manifest-path", "Cargo.toml"]));
        assert!(image.is_file(), "{}", image.display());
        assert!(!driver.join("target").exists(), "nothing is built in the driver's folder");
        // What the repository's own tests have compiled is used again.
        let said = run(Command::new(env!("CARGO"))
            .args(["test", "--manifest-path", "host-tests/Cargo.toml"])
            .env("CARGO_TARGET_DIR", repository().join("target"))
            .current_dir(&driver));
        assert!(said.contains("2 passed"), "{said}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_with_files_and_a_wrong_name_are_refused() {
    let folder = std::env::temp_dir().join(format!("xtask-new-refused-{}", std::process::id()));
    fs::create_dir_all(folder.join("taken")).unwrap();
    fs::write(folder.join("taken/file"), "").unwrap();
    for (arguments, word) in [
        (&["new", "taken"][..], "not empty"),
        (&["new", "1st"], "cannot be the name"),
        (&["new"], "takes one NAME"),
        (&["new", "a", "b"], "takes one NAME"),
        (&["new", "a", "--wdm", "--kmdf"], "either"),
    ] {
        let output = xtask(&folder).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
