//! Copies the files of a build to the output folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::artifacts::Artifacts;
use crate::error::Error;
use crate::files::FileError;
use crate::output::note;

/// The name of the linker map. The kit makes the linker write it to the `OUT_DIR` of the driver's build script.
const MAP: &str = "driver.map";

/// Copies every driver that cargo built in `workspace` to `dir` as `.sys`, with its `.pdb` and `.map`, and
/// the `.inx` files of `workspace`. A missing `.pdb` or `.map` is reported; an old one in `dir` is removed.
pub(crate) fn collect(artifacts: &Artifacts, workspace: &Path, dir: &Path) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(dir).map_err(|error| FileError::new(dir, &error))?;
    let mut images = Vec::new();
    let drivers = artifacts.targets.iter().filter(|target| target.manifest.starts_with(workspace));
    for (driver, library) in drivers.filter_map(|driver| Some((driver, driver.file("dll")?))) {
        let named = |extension: &str| dir.join(library.file_name().unwrap_or_default()).with_extension(extension);
        let image = named("sys");
        let bytes = fs::read(library).map_err(|error| FileError::new(library, &error))?;
        put(&image, &bytes)?;
        note(&format!("{} ({} bytes)", image.display(), bytes.len()));
        copy_or_report(driver.file("pdb").cloned(), &named("pdb"), NO_PDB)?;
        copy_or_report(artifacts.out_dir(&driver.package).map(|out| out.join(MAP)), &named("map"), NO_MAP)?;
        images.push(image);
    }
    let mut dirs: Vec<&Path> = artifacts.targets.iter().filter_map(|target| target.manifest.parent()).collect();
    dirs.retain(|dir| dir.starts_with(workspace));
    dirs.push(workspace);
    dirs.sort();
    dirs.dedup();
    for inx in dirs.into_iter().flat_map(|dir| with_extension(dir, "inx")) {
        copy(&inx, &dir.join(inx.file_name().unwrap_or_default()))?;
    }
    if images.is_empty() {
        let text = "the package has no driver: its [lib] needs crate-type = [\"cdylib\"]";
        return Err(Error::Failed(text.into()));
    }
    Ok(images)
}

fn with_extension(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    paths
}

const NO_PDB: &str = "functions and lines of the driver are shown as addresses (does a profile set `strip`?)";
const NO_MAP: &str = "the linker wrote no map (does build.rs call wdk_build::configure_wdk_binary_build?)";

/// Copies a file that a build made besides the image. The image works without it, so a missing file is reported but is not an error.
fn copy_or_report(from: Option<PathBuf>, to: &Path, consequence: &str) -> Result<(), Error> {
    if let Some(from) = from.filter(|from| from.exists()) {
        return copy(&from, to);
    }
    note(&format!("no {}: {consequence}", to.display()));
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::new(to, &error).into()),
        _ => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let bytes = fs::read(from).map_err(|error| FileError::new(from, &error))?;
    Ok(put(to, &bytes)?)
}

/// Writes a file. An equal file is left alone, so that nothing that depends on its time is made again.
fn put(to: &Path, bytes: &[u8]) -> Result<(), FileError> {
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(to, bytes).map_err(|error| FileError::new(to, &error))
}

#[cfg(test)]
mod tests {
    use super::{MAP, collect};
    use crate::artifacts::{Artifacts, Script, Target};
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A workspace in a new folder, with a library that could be a driver.
    fn workspace(name: &str) -> (PathBuf, Artifacts) {
        let root = std::env::temp_dir().join(format!("xtask-files-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("out")).unwrap();
        let mut image = vec![0; 0x200];
        image[0x3c] = 0x80;
        image[0x80..0x84].copy_from_slice(b"PE\0\0");
        fs::write(root.join("anywhere.dll"), image).unwrap();
        fs::write(root.join("anywhere.pdb"), "symbols").unwrap();
        fs::write(root.join("out").join(MAP), "map").unwrap();
        let target = |manifest: PathBuf| Target {
            package: String::from("driver"),
            manifest,
            files: vec![root.join("anywhere.dll"), root.join("anywhere.pdb")],
        };
        let elsewhere = target(Path::new("/elsewhere/Cargo.toml").into());
        let targets = vec![elsewhere, target(root.join("Cargo.toml"))];
        let scripts = vec![Script { package: String::from("driver"), out_dir: root.join("out") }];
        (root, Artifacts { targets, scripts })
    }

    #[test]
    fn a_driver_is_copied_with_its_symbols_and_its_map_from_wherever_they_are() {
        let (root, artifacts) = workspace("all");
        let images = collect(&artifacts, &root, &root.join("driver")).unwrap();
        assert_eq!(images, [root.join("driver/anywhere.sys")]);
        assert_eq!(fs::read(root.join("driver/anywhere.pdb")).unwrap(), b"symbols");
        assert_eq!(fs::read(root.join("driver/anywhere.map")).unwrap(), b"map");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_map_of_an_earlier_build_does_not_stay_beside_a_new_image() {
        let (root, artifacts) = workspace("stale");
        collect(&artifacts, &root, &root.join("driver")).unwrap();
        fs::remove_file(root.join("out").join(MAP)).unwrap();
        collect(&artifacts, &root, &root.join("driver")).unwrap();
        assert!(!root.join("driver/anywhere.map").exists());
        assert!(root.join("driver/anywhere.pdb").exists());
        fs::remove_dir_all(root).unwrap();
    }
}
