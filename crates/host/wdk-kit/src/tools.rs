//! The programs that make libraries: clang, llvm-dlltool, llvm-lib; and LLVM's programs by the names of Microsoft's.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;

/// All three are there.
pub(crate) struct Tools(());

impl Tools {
    /// Looks in `PATH`; the error lists what is missing.
    pub(crate) fn find() -> Result<Self, Vec<&'static str>> {
        let missing: Vec<_> = ["clang", "llvm-dlltool", "llvm-lib"].into_iter().filter(|name| !exists(name)).collect();
        if missing.is_empty() { Ok(Self(())) } else { Err(missing) }
    }

    /// Runs one of them; its output is the error when it fails.
    #[expect(clippy::unused_self, reason = "the value is the proof that the tools exist")]
    pub(crate) fn run(&self, name: &str, arguments: &[&OsStr]) -> Result<(), Error> {
        let output = Command::new(name).args(arguments).output().map_err(|error| Error(format!("{name}: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(Error(format!("{name} {arguments:?} failed: {}", text.trim())))
    }
}

/// What build scripts start, and which program of LLVM's does the same. Clang and llvm-rc know by the name what is meant.
const NAMES: [(&str, &str); 5] =
    [("clang-cl", "clang"), ("cl.exe", "clang"), ("rc", "llvm-rc"), ("rc.exe", "llvm-rc"), ("lib.exe", "llvm-lib")];

/// Makes a folder in which LLVM's programs have the names of Microsoft's, and returns it. What is not installed is left out.
///
/// # Errors
///
/// If a link cannot be made.
pub fn write_tools(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
    for (name, program) in NAMES {
        let link = folder.join(name);
        let Some(program) = in_path(program, folder) else { continue };
        if fs::read_link(&link).is_ok_and(|old| old == program) {
            continue;
        }
        let _ = fs::remove_file(&link);
        // Another build may have made it meanwhile.
        make_link(&program, &link)
            .or_else(|error| if link.exists() { Ok(()) } else { Err(error) })
            .map_err(|error| Error::io(&link, &error))?;
    }
    Ok(folder.to_path_buf())
}

fn in_path(program: &str, except: &Path) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).filter(|folder| folder != except);
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(unix)]
pub(crate) fn make_link(real: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(real, link)
}

#[cfg(not(unix))]
pub(crate) fn make_link(real: &Path, link: &Path) -> std::io::Result<()> {
    fs::copy(real, link).map(drop)
}

/// Any answer will do: llvm-dlltool has no flag that merely asks it whether it is there.
fn exists(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
