//! Builds all images with one cargo invocation, once per test program.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::cargo;
use super::image::Image;
use super::toolchain::Toolchain;

static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
static KEY_VALUES: OnceLock<Result<PathBuf, String>> = OnceLock::new();

/// Returns the image of this name. The first call builds all of them.
///
/// # Panics
///
/// Panics if the images cannot be built or this one is missing, because a test without an image must not pass.
#[must_use]
pub fn image(name: &str) -> Image {
    read(&file(name))
}

/// Returns the file of the image of this name. Its PDB is in the same folder.
///
/// # Panics
///
/// Panics if the images cannot be built.
#[must_use]
pub fn file(name: &str) -> PathBuf {
    place(FOLDER.get_or_init(|| build("images")), name)
}

/// Returns the image of a driver that logs key-values.
///
/// # Panics
///
/// Panics for the same reasons as [`image`].
#[must_use]
pub fn image_with_key_values() -> Image {
    read(&place(KEY_VALUES.get_or_init(|| build("images-kv")), "log_kv"))
}

fn place(folder: &Result<PathBuf, String>, name: &str) -> PathBuf {
    match folder {
        Ok(folder) => folder.join(format!("{name}.exe")),
        Err(reason) => panic!("no image to inspect: {reason}"),
    }
}

fn read(path: &Path) -> Image {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    match Image::parse(&bytes) {
        Ok(image) => image,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn build(name: &str) -> Result<PathBuf, String> {
    build_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name), name, true)
}

/// Builds every image of a workspace for Windows, with `target/NAME` as cargo's target folder. Returns the folder with
/// copies of the images and their symbols: `target/built/NAME`.
///
/// # Errors
///
/// Returns what is missing, or the compiler's message.
pub fn build_all(workspace: &Path, name: &str, release: bool) -> Result<PathBuf, String> {
    let toolchain = Toolchain::find()?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(3).unwrap_or(here);
    let target_dir = root.join("target").join(name);
    let profile = if release { "release" } else { "dev" };
    let mut command = toolchain.command("build", profile, &workspace.join("Cargo.toml"), &target_dir);
    let files = cargo::built(command.arg("--locked"))
        .map_err(|said| format!("cargo build of {} failed:\n{said}", workspace.display()))?;
    let folder = root.join("target/built").join(name);
    cargo::copy(&files, &folder)?;
    Ok(folder)
}
