//! Other programs that read PE files, if they are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the output of a program, or why it could not run.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let messages = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program}: {}", messages.lines().last().unwrap_or_default()))
    }
}

/// Returns whether a program is installed. Prints a message to standard error if it is not.
pub(crate) fn is_there(program: &str, probe: &[&str]) -> bool {
    match run(program, probe) {
        Ok(_) => true,
        Err(reason) => {
            eprintln!("skipped the comparison with {program} {}: {reason}", probe.join(" "));
            false
        }
    }
}

/// Creates an empty folder for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Returns images that a real linker created in earlier builds of this repository.
pub(crate) fn linked_images() -> Vec<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().join("target");
    let folders = ["built/images", "driver/x64", "driver/arm64"].map(|folder| target.join(folder));
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_image = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "exe" || extension == "sys");
    let mut images: Vec<_> = entries.map(|entry| entry.path()).filter(is_image).collect();
    images.sort();
    if images.is_empty() {
        eprintln!("no linked image to compare with: `cargo xtask build` makes some");
    }
    images
}
