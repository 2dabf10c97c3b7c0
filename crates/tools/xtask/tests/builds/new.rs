//! Tests of `cargo xtask new`. The tests of `cargo-driver` check that a new driver builds, runs and passes its tests.

use std::fs;
use std::path::Path;
use std::process::Command;

fn xtask(folder: &Path) -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.current_dir(folder);
    xtask
}

#[test]
fn a_new_driver_of_each_kind_is_written() {
    let folder = std::env::temp_dir().join(format!("xtask new {}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (kind, name) in [("--kmdf", "new-kmdf"), ("--wdm", "new-wdm")] {
        let output = xtask(&folder).args(["new", name, kind]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            folder.join(name).join("src/lib.rs").is_file() && folder.join(name).join("host-tests/Cargo.toml").is_file()
        );
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
        (&["new", "a", "--wdm", "--kmdf"], "is one of"),
    ] {
        let output = xtask(&folder).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
