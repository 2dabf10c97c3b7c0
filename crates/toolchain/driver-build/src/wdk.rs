//! Makes a real WDK usable on a system with case-sensitive file names.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{FileError, make_link, write};
use crate::prepare_error::PrepareError;
use crate::stand_in::numbers;

/// Makes a folder with links to the files of the WDK at `wdk`, for the stand-in and for clang. Returns the folder.
///
/// `wdk` is one of these: the folder that `WDKContentRoot` names on Windows, with `Include` and `Lib`; a `NuGet` package, which has
/// them in `c`; a folder with several packages, because the SDK's headers are in a separate package; or the output of xwin, which has
/// them in `sdk` or in `Windows Kits/10`, with or without a folder for the version. The links have the names that builds look for,
/// and an overlay makes clang ignore the case of header names.
///
/// # Errors
///
/// Fails if the folder is not a WDK, or if a file cannot be written.
pub fn link_wdk(wdk: &Path, out: &Path) -> Result<PathBuf, PrepareError> {
    let wdk = dunce::canonicalize(wdk).map_err(|error| FileError::new(wdk, &error))?;
    let parts = parts(&wdk);
    let includes: Vec<PathBuf> = parts.iter().filter_map(|part| child(part, "Include")).collect();
    let libraries: Vec<PathBuf> = parts.iter().filter_map(|part| child(part, "Lib")).collect();
    let is_kernels = |dir: &PathBuf| versioned(dir).iter().any(|(_, inner)| child(inner, "km").is_some());
    for (dirs, name) in [(&includes, "Include"), (&libraries, "Lib")] {
        if !dirs.iter().any(is_kernels) {
            return Err(PrepareError::NotAWdk { dir: wdk, missing: name });
        }
    }
    let versions = includes.iter().filter(|dir| is_kernels(dir)).flat_map(|dir| versioned(dir));
    let version = versions.filter_map(|(version, _)| version).max_by_key(|version| numbers(version));
    let version = version.unwrap_or_else(|| String::from(wdk_kit::VERSION));

    let root = out.join("wdk").join(wdk.to_string_lossy().trim_start_matches('/').replace('/', "+"));
    let _ = fs::remove_dir_all(&root);
    for (dirs, name) in [(&includes, "Include"), (&libraries, "Lib")] {
        let to = root.join(name);
        for dir in dirs {
            for (own, inner) in versioned(dir) {
                mirror(&inner, &to.join(own.as_ref().unwrap_or(&version)))?;
            }
            if let Some(framework) = child(dir, "wdf") {
                mirror(&framework, &to.join("wdf"))?;
            }
        }
    }
    // The stand-in fails without these folders, and not every WDK has them.
    for dir in ["km/crt", "km/ufx/1.1", "shared"] {
        let dir = root.join("Include").join(&version).join(dir);
        fs::create_dir_all(&dir).map_err(|error| FileError::new(&dir, &error))?;
    }
    write(&root.join("overlay.yaml"), &overlay(&root.join("Include"))?)?;
    Ok(root)
}

/// Returns the folders that can contain `Include` and `Lib`.
fn parts(wdk: &Path) -> Vec<PathBuf> {
    let mut parts = vec![wdk.to_path_buf()];
    parts.extend(["c", "sdk", "Windows Kits/10"].map(|name| wdk.join(name)));
    let mut packages: Vec<PathBuf> =
        fs::read_dir(wdk).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    packages.sort();
    for package in packages {
        parts.push(package.join("c"));
        // NuGet's cache has a folder for each version of a package.
        let versions = fs::read_dir(&package).into_iter().flatten().flatten();
        parts.extend(versions.map(|entry| entry.path().join("c")));
    }
    parts
}

/// Returns the folders of versions in `Include` or `Lib`, or the folder itself if `km`, `shared` or `um` are directly in it.
fn versioned(dir: &Path) -> Vec<(Option<String>, PathBuf)> {
    if ["km", "shared", "um"].iter().any(|name| child(dir, name).is_some()) {
        return vec![(None, dir.to_path_buf())];
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let name =
        |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned()).filter(|name| name.starts_with("10."));
    entries.filter_map(|path| name(&path).map(|version| (Some(version), path))).collect()
}

fn child(dir: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| path.file_name().is_some_and(|own| own.eq_ignore_ascii_case(name)))
}

/// Returns the name under which builds look for a folder or a library. xwin uses the processor names of LLVM's targets.
fn canonical(name: &str) -> String {
    const NAMES: [(&str, &str); 8] = [
        ("x86_64", "x64"),
        ("aarch64", "ARM64"),
        ("arm64", "ARM64"),
        ("bufferoverflowfastfailk.lib", "BufferOverflowFastFailK.lib"),
        ("wdfldr.lib", "WdfLdr.lib"),
        ("wdfdriverentry.lib", "WdfDriverEntry.lib"),
        ("vhfkm.lib", "VhfKm.lib"),
        ("fltmgr.lib", "fltMgr.lib"),
    ];
    let lower = name.to_ascii_lowercase();
    NAMES.iter().find(|(known, _)| *known == lower).map_or(lower, |(_, name)| (*name).to_owned())
}

/// Creates real folders with a link for each file. Existing files stay.
fn mirror(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::create_dir_all(to).map_err(|error| FileError::new(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| FileError::new(from, &error))?.flatten() {
        let path = entry.path();
        let target = to.join(canonical(&entry.file_name().to_string_lossy()));
        if path.is_dir() {
            mirror(&path, &target)?;
        } else if !target.exists() {
            make_link(&path, &target).map_err(|error| FileError::new(&target, &error))?;
        }
    }
    Ok(())
}

/// Returns a file system overlay for clang, in which the case of names does not matter.
fn overlay(include: &Path) -> Result<String, FileError> {
    let mut text = String::from("{ \"version\": 0, \"case-sensitive\": \"false\", \"roots\": [\n");
    let mut dirs = vec![include.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        let mut files = Vec::new();
        for entry in fs::read_dir(&dir).map_err(|error| FileError::new(&dir, &error))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                files.push(path);
            }
        }
        files.sort();
        let _ = write!(text, "{{ \"type\": \"directory\", \"name\": {:?}, \"contents\": [", dir.to_string_lossy());
        for (at, file) in files.iter().enumerate() {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let comma = if at > 0 { ", " } else { "" };
            let _ = write!(
                text,
                "{comma}{{ \"type\": \"file\", \"name\": {name:?}, \"external-contents\": {:?} }}",
                file.to_string_lossy()
            );
        }
        text.push_str("] },\n");
    }
    Ok(text.trim_end_matches(",\n").to_owned() + "\n] }\n")
}
