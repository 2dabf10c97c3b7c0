//! `cargo driver` with a driver that builds in a second: its settings, its tests and its reports.
#![cfg(test)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod json;
mod results;
mod settings;
mod toolchain;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Writes the driver of `probe.rs` with these settings. Drivers share one folder for compiled crates, so each has a name of its own.
fn driver(name: &str, settings: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("src")).unwrap();
    fs::write(place.join("src/lib.rs"), include_str!("probe.rs")).unwrap();
    set(&place, settings);
    place
}

/// Writes the manifest of a driver, with other settings.
fn set(place: &Path, settings: &str) {
    let name = place.file_name().unwrap().to_str().unwrap();
    let manifest = format!(
        "[workspace]\n[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
         [profile.release]\npanic = \"abort\"\n[package.metadata.driver]\n{settings}\n"
    );
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
}

/// The command line, in the folder of a driver.
fn command(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
    command.arg("driver").args(arguments).current_dir(place);
    // The kit and the crates that other tests compiled are used again.
    command.env("CARGO_DRIVER_CACHE", repository().join("target/driver"));
    for name in ["CARGO_TARGET_DIR", "GITHUB_ACTIONS", "NT_HOST_FRAMEWORK", "WDKContentRoot"] {
        command.env_remove(name);
    }
    command
}

fn run(place: &Path, arguments: &[&str]) -> Output {
    command(place, arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

/// Runs a command with `--json`, which must succeed, and returns what it printed to standard output.
#[track_caller]
fn report(place: &Path, arguments: &[&str]) -> Value {
    let output = run(place, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", printed(&output));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", printed(&output)))
}
