//! Gets the list of built files from cargo itself, because their location in a target folder differs between versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// The number of files that this process has copied.
static COPIES: AtomicU32 = AtomicU32::new(0);

/// Runs a `cargo build` and returns the programs and dynamic libraries that it built or found up to date, with their
/// symbols.
///
/// # Errors
///
/// Returns cargo's output if it failed.
pub fn built(command: &mut Command) -> Result<Vec<PathBuf>, String> {
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .output()
        .map_err(|error| format!("{} could not be started: {error}", command.get_program().display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().flat_map(files).collect())
}

/// Returns the files of one message.
fn files(line: &str) -> Vec<PathBuf> {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let kinds = message["target"]["kind"].as_array();
    let is_final = kinds.into_iter().flatten().any(|kind| kind == "bin" || kind == "cdylib");
    let names = message["filenames"].as_array().filter(|_| is_final);
    names.into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from).collect()
}

/// Returns the file with this name.
///
/// # Errors
///
/// Returns an error if no file has this name.
pub fn named<'a>(files: &'a [PathBuf], name: &str) -> Result<&'a Path, String> {
    let found = files.iter().find(|file| file.file_name().is_some_and(|own| own == name));
    found.map(PathBuf::as_path).ok_or_else(|| format!("cargo built no {name}"))
}

/// Copies files to a folder. Identical files are not changed; others are replaced atomically, because they may be in
/// use.
pub(super) fn copy(files: &[PathBuf], folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for file in files {
        let describe = |error| format!("{}: {error}", file.display());
        let bytes = fs::read(file).map_err(describe)?;
        let copy = folder.join(file.file_name().unwrap_or_default());
        if fs::read(&copy).is_ok_and(|old| old == bytes) {
            continue;
        }
        // Tests of one program copy at the same time, too.
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let fresh = copy.with_extension(format!("new{}-{number}", std::process::id()));
        fs::write(&fresh, bytes).and_then(|()| fs::rename(&fresh, &copy)).map_err(describe)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::files;
    use std::path::Path;

    #[test]
    fn programs_and_drivers_are_found_and_libraries_of_the_build_are_not() {
        let message = |kind: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"]}},"filenames":["/t/new/a.exe","/t/a.pdb"]}}"#
            )
        };
        assert_eq!(files(&message("bin")), [Path::new("/t/new/a.exe"), Path::new("/t/a.pdb")]);
        assert_eq!(files(&message("cdylib")).len(), 2);
        assert!(files(&message("proc-macro")).is_empty());
        assert!(files(r#"{"reason":"build-finished","success":true}"#).is_empty());
        assert!(files("no message").is_empty());
    }
}
