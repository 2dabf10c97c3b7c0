//! Paths of the drivers under test.
#![allow(dead_code, reason = "each test program uses a part of this")]

pub(crate) mod c;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();

/// The folder with the broken drivers; the first call builds them.
pub(crate) fn folder() -> &'static Path {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
    let built = FOLDER.get_or_init(|| test_support::images::build_all(&workspace, "nt-host-drivers", false));
    match built {
        Ok(folder) => folder,
        Err(reason) => panic!("no driver to run: {reason}"),
    }
}

/// The path of a broken driver.
pub(crate) fn broken(name: &str) -> PathBuf {
    folder().join(format!("{name}.exe"))
}

/// The path of a copy whose name ends with `_clean`. A driver with such a name does not make its mistake.
pub(crate) fn clean(name: &str) -> PathBuf {
    let path = folder().join(format!("{name}_clean.sys"));
    // Another test may be reading the file, so replace it atomically.
    let fresh = folder().join(format!("{name}_{:?}.tmp", std::thread::current().id()));
    fs::copy(broken(name), &fresh).expect("a copy of the driver");
    fs::rename(&fresh, &path).expect("the copy under its name");
    path
}

/// Runs `nt-host run` with a driver. Returns the exit code and everything that it prints.
pub(crate) fn run(driver: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(driver).args(arguments).output();
    let output = output.expect("the command");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// The line number of the `// BUG` mark in a driver's source. A mark alone on its line marks the line before.
pub(crate) fn marked_line(name: &str) -> Option<u32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/src/bin").join(format!("{name}.rs"));
    let source = fs::read_to_string(path).expect("the driver's source");
    let marked = (1..).zip(source.lines()).find(|(_, line)| line.ends_with("// BUG"));
    marked.map(|(number, line)| if line.trim() == "// BUG" { number - 1 } else { number })
}

/// The path of an image that `cargo xtask build` made.
pub(crate) fn built(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let path = root.join("target/driver/x64").join(name);
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}
