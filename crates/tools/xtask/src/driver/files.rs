//! What a build leaves behind, copied to where it is looked for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checksum;
use crate::error::Error;
use crate::setup::note;

/// Copies every driver in `built` to `folder` as `.sys`, with its `.pdb` and `.map`, and the workspace's `.inx` files.
pub(super) fn collect(built: &Path, workspace: &Path, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(folder).map_err(|error| describe(folder, &error))?;
    let mut images = Vec::new();
    for library in with_extension(built, "dll") {
        let named = |extension: &str| folder.join(library.file_name().unwrap_or_default()).with_extension(extension);
        let image = named("sys");
        let mut bytes = fs::read(&library).map_err(|error| describe(&library, &error))?;
        checksum::write_checksum(&mut bytes)
            .ok_or_else(|| Error::Failed(format!("{}: not an image of a driver", library.display())))?;
        put(&image, &bytes)?;
        // Debug information has the driver's name already; the map is where the linker put it.
        copy_if_there(&library.with_extension("pdb"), &named("pdb"))?;
        let map = library.file_name().map(|name| built.join("deps").join(name).with_extension("map"));
        if let Some(map) = map {
            copy_if_there(&map, &named("map"))?;
        }
        let size = fs::metadata(&image).map_or(0, |data| data.len());
        note(&format!("{} ({size} bytes)", image.display()));
        images.push(image);
    }
    for inx in with_extension(workspace, "inx") {
        copy(&inx, &folder.join(inx.file_name().unwrap_or_default()))?;
    }
    if images.is_empty() {
        let text = "the package has no driver: its [lib] needs crate-type = [\"cdylib\"]";
        return Err(Error::Failed(text.into()));
    }
    Ok(images)
}

fn with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    paths
}

fn copy_if_there(from: &Path, to: &Path) -> Result<(), Error> {
    if from.exists() { copy(from, to) } else { Ok(()) }
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let bytes = fs::read(from).map_err(|error| describe(from, &error))?;
    put(to, &bytes)
}

/// Leaves an equal file alone, so that what depends on it is not made again.
fn put(to: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(to, bytes).map_err(|error| describe(to, &error))
}

/// Leaves an equal file alone.
pub(super) fn write_if_changed(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| describe(folder, &error))?;
    }
    fs::write(path, text).map_err(|error| describe(path, &error))
}

pub(super) fn describe(path: &Path, error: &io::Error) -> Error {
    Error::Failed(format!("{}: {error}", path.display()))
}
