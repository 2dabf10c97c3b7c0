//! The drivers of nt-host's tests, which the tests of programs run, too: those in Rust make one mistake each, those in C use routines.

pub mod c;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::images;

static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository")
}

/// The folder with the sources of the drivers, and of what they share.
fn sources() -> PathBuf {
    repository().join("crates/machine/nt-host/drivers")
}

/// The folder with the broken drivers; the first call builds them.
///
/// # Panics
///
/// Panics if they cannot be built, because a test without a driver must not pass.
#[must_use]
pub fn folder() -> &'static Path {
    let built = FOLDER.get_or_init(|| images::build_all(&sources(), "nt-host-drivers", false));
    match built {
        Ok(folder) => folder,
        Err(reason) => panic!("no driver to run: {reason}"),
    }
}

/// The path of a broken driver.
#[must_use]
pub fn broken(name: &str) -> PathBuf {
    folder().join(format!("{name}.exe"))
}

/// The path of a copy whose name ends with `_clean`. A driver with such a name does not make its mistake.
///
/// # Panics
///
/// Panics if there is no such driver.
#[must_use]
pub fn clean(name: &str) -> PathBuf {
    let path = folder().join(format!("{name}_clean.sys"));
    // Another test, also of another program, may be reading the file, so replace it atomically.
    let unique = format!("{name}_{}_{:?}.tmp", std::process::id(), std::thread::current().id());
    let fresh = folder().join(unique);
    fs::copy(broken(name), &fresh).expect("a copy of the driver");
    fs::rename(&fresh, &path).expect("the copy under its name");
    path
}

/// The line number of the `// BUG` mark in a driver's source. A mark alone on its line marks the line before.
///
/// # Panics
///
/// Panics if there is no such driver.
#[must_use]
pub fn marked_line(name: &str) -> Option<u32> {
    let source = fs::read_to_string(sources().join("src/bin").join(format!("{name}.rs"))).expect("the driver's source");
    let marked = (1..).zip(source.lines()).find(|(_, line)| line.ends_with("// BUG"));
    marked.map(|(number, line)| if line.trim() == "// BUG" { number - 1 } else { number })
}

/// The path of an image that `cargo xtask build` made.
///
/// # Panics
///
/// Panics if it is not there.
#[must_use]
pub fn built(name: &str) -> PathBuf {
    let path = repository().join("target/driver/x64").join(name);
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

/// Creates a folder for the files of a test. `name` is one that no other test uses.
///
/// # Panics
///
/// Panics if it cannot be created.
#[must_use]
pub fn temporary(name: &str) -> PathBuf {
    let folder = repository().join("target/tmp/nt-host").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}
