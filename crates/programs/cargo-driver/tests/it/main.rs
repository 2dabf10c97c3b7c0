//! Messages about wrong input, and help. Nothing here builds a driver.
#![cfg(test)]

// The stand-ins for other programs in these tests are shell scripts.
#[cfg(not(windows))]
mod cache;
#[cfg(not(windows))]
mod framework;
#[cfg(not(windows))]
mod mc;
#[cfg(not(windows))]
mod microsoft;
#[cfg(not(windows))]
mod options;
#[cfg(not(windows))]
mod outputs;
#[cfg(not(windows))]
mod outside;
#[cfg(not(windows))]
mod setup;
#[cfg(not(windows))]
mod shells;
#[cfg(not(windows))]
mod texts;
#[cfg(not(windows))]
mod usage;
#[cfg(windows)]
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
#[cfg(not(windows))]
use std::sync::LazyLock;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The program with the arguments that cargo adds for `cargo driver`.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
    command.arg("driver").env("CARGO_DRIVER_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

/// A folder without a driver, in it or above it. Tests share it, so that none removes it while another one uses it.
#[cfg(not(windows))]
static EMPTY: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join("cargo-driver-empty");
    fs::create_dir_all(&path).unwrap();
    path
});

#[cfg(not(windows))]
fn run(arguments: &[&str]) -> Output {
    program().args(arguments).current_dir(&*EMPTY).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}
