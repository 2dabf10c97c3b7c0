//! What is different on Windows: paths and names of devices. Nothing here builds a driver.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Output;

use crate::{folder, printed, program};

/// A new folder on a path with a drive, a space and a letter beyond ASCII.
fn place(name: &str) -> PathBuf {
    absolute(folder(&format!("windows {name} Ω"))).unwrap()
}

fn run_in(place: &Path, arguments: &[&str]) -> Output {
    program().args(arguments).current_dir(place).output().unwrap()
}

/// The clone of this repository, as a user names it.
fn clone() -> String {
    let clone = absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join(r"..\..\..")).unwrap();
    clone.into_os_string().into_string().unwrap()
}

#[test]
fn a_new_driver_names_the_clone_with_a_path_that_every_tool_reads() {
    let place = place("new");
    let full = place.join("full");
    let full = full.to_str().unwrap();
    for (given, dir) in [("my-driver", "my-driver"), (r".\below\adder", "below/adder"), (full, "full")] {
        let output = run_in(&place, &["new", given, "--wdk-etw", &clone()]);
        assert_eq!(output.status.code(), Some(0), "{given}: {}", printed(&output));
        let dir = place.join(dir);
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let path = manifest["dependencies"]["wdk-etw"]["path"].as_str().unwrap();
        // A verbatim path takes no slashes, and many programs do not take it.
        assert!(!path.starts_with(r"\\?\"), "{path}");
        assert!(dir.join(path).join("Cargo.toml").is_file(), "{path}");
        let settings = fs::read_to_string(dir.join(".vscode/settings.json")).unwrap();
        assert!(settings.contains("rust-analyzer"), "{settings}");
        assert!(!printed(&output).contains(r"\\?\"), "{}", printed(&output));
    }
}

#[test]
fn names_of_devices_are_refused() {
    let place = place("devices");
    for name in ["con", "NUL", "aux", "com1"] {
        let output = run_in(&place, &["new", name, "--wdk-etw", &clone()]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", printed(&output));
        assert!(printed(&output).contains("cannot be the name of a driver"), "{name}: {}", printed(&output));
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "files are left");
}

#[test]
fn a_missing_file_is_named_as_it_was_given() {
    let place = place("missing");
    for given in [r"C:\no such folder\a.sys", r"missing folder\a.sys", "C:missing.sys"] {
        for command in ["inspect", "verify"] {
            let output = run_in(&place, &[command, given]);
            assert_eq!(output.status.code(), Some(2), "{command} {given}: {}", printed(&output));
            assert!(printed(&output).contains(given), "{command} {given}: {}", printed(&output));
        }
    }
}
