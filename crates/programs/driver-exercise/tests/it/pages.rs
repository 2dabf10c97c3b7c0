//! The pages of this repository show the evidence that it has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::root;
use driver_exercise::{Evidence, page};

#[test]
fn the_page_and_the_row_show_all_evidence_and_nothing_else() {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join("docs/evidence"))
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    let all: Vec<Evidence> = files.iter().map(|path| Evidence::read(path).unwrap()).collect();
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    assert_eq!(read("docs/evidence.md"), page::page(&all), "run `cargo xtask evidence`");
    assert!(read("README.md").lines().any(|line| line == page::row(&all)), "run `cargo xtask evidence`");
}

#[test]
fn an_output_never_replaces_an_input() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outputs");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    let names = ["evidence.json", "driver.sys", "Cargo.toml", "README.md"];
    for name in names {
        fs::write(dir.join(name), name).unwrap();
    }
    for line in [
        "page evidence.json --out evidence.json",
        "page evidence.json --out README.md --readme README.md",
        "page evidence.json --out page.md --readme evidence.json",
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "expect driver.sys --etl driver.sys",
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "expect driver.sys --etl Cargo.toml",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driver-exercise"));
        let output = command.args(line.split(' ')).current_dir(&dir).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        assert!(errors.contains(" is the input ") || errors.contains(" are the same file, "), "{line}: {errors}");
        for name in names {
            assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), name, "{line}");
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), names.len(), "{line}");
    }
}

/// The page and the row belong together: a README that has no row is found before the page is written.
#[test]
fn no_page_is_written_without_the_row() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outputs-row");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("README.md"), "# No table\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_driver-exercise"));
    let output =
        command.args(["page", "--out", "page.md", "--readme", "README.md"]).current_dir(&dir).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("no line begins with"), "{errors}");
    assert!(!dir.join("page.md").exists(), "{errors}");
}

/// The client and the expected trace may be in the package's folder, in which a run writes files of these names.
#[test]
fn a_run_keeps_the_client_and_the_trace_that_it_was_given() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outputs-run");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(dir.join("package/logs")).unwrap();
    let manifest =
        "[package]\nname = \"driver\"\n[package.metadata.exercise]\ndevice = '\\\\.\\D'\nrequests = [\"22E000::8\"]\n";
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    let names = ["driver-client.exe", "windows.etl", "logs/expected.etl", "package.psd1"];
    for name in names {
        fs::write(dir.join("package").join(name), name).unwrap();
    }
    for (options, reason) in [
        ("--client package/driver-client.exe", " is the input "),
        ("--client other.exe --expected package/windows.etl", " is the input "),
        ("--client other.exe --expected package/logs/expected.etl", " would be removed with the input "),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driver-exercise"));
        command.args(["run", "--package", "package", "--out", "out"]).args(options.split(' ')).current_dir(&dir);
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {errors}");
        assert!(errors.contains(reason), "{options}: {errors}");
        let given = options.rsplit_once(' ').map(|(_, path)| dir.join(path)).unwrap();
        assert!(fs::read_to_string(&given).is_ok_and(|text| given.ends_with(text)), "{options}");
    }
}
