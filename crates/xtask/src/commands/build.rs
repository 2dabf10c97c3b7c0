//! `cargo xtask build`: everything that runs on Windows.

use std::fs;

use crate::cli::Command;
use crate::context::Context;
use crate::error::Error;
use crate::setup::{self, TARGET, note};
use crate::steps::{Outcome, Step, run_all};

pub(super) const COMMAND: Command = Command {
    name: "build",
    summary: "Builds the images for Windows",
    details: "\
Installs what is missing, then builds the small driver images that the tests
inspect, for x86_64-pc-windows-msvc, into target/images.
",
    flags: &[],
    run,
};

/// The images have a workspace of their own, with their own profile and lock file.
pub(super) const IMAGES_MANIFEST: &str = "crates/image-tests/images/Cargo.toml";
const IMAGES_TARGET_DIR: &str = "target/images";

/// Finds or installs the toolchain for Windows and keeps it in the context.
pub(super) const SETUP: Step = Step { name: "set-up", what: "a toolchain for Windows", required: true, run: set_up };

const IMAGES: Step =
    Step { name: "images", what: "release images for x86_64-pc-windows-msvc", required: false, run: images };

fn run(context: &Context) -> Result<(), Error> {
    run_all(context, &[SETUP, IMAGES])
}

fn set_up(context: &Context) -> Result<Outcome, Error> {
    if context.windows.get().is_none() {
        let toolchain = setup::ensure_windows(context)?;
        note(&format!("using {}", toolchain.description));
        // A second set-up would find the same, so a value already there may stay.
        let _ = context.windows.set(toolchain);
    }
    Ok(Outcome::Passed)
}

fn images(context: &Context) -> Result<Outcome, Error> {
    let Some(toolchain) = context.windows.get() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    toolchain
        .cargo(context, "build")
        .args(["--release", "--locked", "--manifest-path", IMAGES_MANIFEST])
        .args(["--target-dir", IMAGES_TARGET_DIR])
        .run()?;
    let folder = format!("{IMAGES_TARGET_DIR}/{TARGET}/release");
    for (name, size) in executables(context, &folder) {
        note(&format!("{folder}/{name} ({size} bytes)"));
    }
    Ok(Outcome::Passed)
}

/// Name and size of each image in a folder, sorted by name.
fn executables(context: &Context, folder: &str) -> Vec<(String, u64)> {
    let entries = fs::read_dir(context.path(folder));
    let mut found: Vec<(String, u64)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let size = entry.metadata().ok()?.len();
            let is_image = entry.path().extension()? == "exe";
            is_image.then_some((name, size))
        })
        .collect();
    found.sort();
    found
}
