//! A real WDK on a system that tells `Ntddk.h` from `ntddk.h`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tools::make_link;
use crate::{Error, layout};

/// Makes a folder that looks like the WDK at `wdk` to the stand-in and to clang; returns it.
///
/// `wdk` is what `WDKContentRoot` is on Windows, with `Include` and `Lib`, or the folder of a `NuGet` package, which has them in
/// `c`. Folders are linked under the names that are looked for, libraries too, and an overlay makes clang find headers
/// whatever the case of their names.
///
/// # Errors
///
/// If the folder is no WDK, or a file cannot be written.
pub fn real(wdk: &Path, out: &Path) -> Result<PathBuf, Error> {
    let wdk = fs::canonicalize(wdk).map_err(|error| Error::io(wdk, &error))?;
    let source = [wdk.clone(), wdk.join("c")].into_iter().find(|folder| child(folder, "Include").is_some());
    let source =
        source.ok_or_else(|| Error(format!("{} is no WDK: it has neither Include nor c/Include", wdk.display())))?;
    let root = out.join("wdk").join(wdk.to_string_lossy().trim_start_matches('/').replace('/', "+"));
    let _ = fs::remove_dir_all(&root);
    let include = child(&source, "Include").unwrap_or_default();
    let library = child(&source, "Lib").ok_or_else(|| Error(format!("{} has no Lib folder", source.display())))?;
    mirror(&include, &root.join("Include"), &|name| name.to_owned())?;
    mirror(&library, &root.join("Lib"), &canonical)?;
    layout::write(&root.join("overlay.yaml"), &overlay(&root.join("Include"))?)?;
    Ok(root)
}

fn child(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| path.file_name().is_some_and(|own| own.eq_ignore_ascii_case(name)))
}

/// The names that folders and libraries are looked for by.
fn canonical(name: &str) -> String {
    const NAMES: [&str; 10] = [
        "km",
        "x64",
        "ARM64",
        "wdf",
        "kmdf",
        "BufferOverflowFastFailK.lib",
        "WdfLdr.lib",
        "WdfDriverEntry.lib",
        "VhfKm.lib",
        "arm64rt.lib",
    ];
    NAMES
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name))
        .map_or_else(|| name.to_ascii_lowercase(), |known| (*known).to_owned())
}

/// Real folders with a link for each file.
fn mirror(from: &Path, to: &Path, rename: &dyn Fn(&str) -> String) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(|error| Error::io(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| Error::io(from, &error))?.flatten() {
        let name = rename(&entry.file_name().to_string_lossy());
        let (path, target) = (entry.path(), to.join(name));
        if path.is_dir() {
            mirror(&path, &target, rename)?;
        } else if !target.exists() {
            make_link(&path, &target).map_err(|error| Error::io(&target, &error))?;
        }
    }
    Ok(())
}

/// Clang's description of a file system in which case does not matter.
fn overlay(include: &Path) -> Result<String, Error> {
    let mut text = String::from("{ \"version\": 0, \"case-sensitive\": \"false\", \"roots\": [\n");
    let mut folders = vec![include.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| Error::io(&folder, &error))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
        files.sort();
        let _ = write!(text, "{{ \"type\": \"directory\", \"name\": {:?}, \"contents\": [", folder.to_string_lossy());
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
