//! Finds the programs that make libraries (clang, llvm-dlltool, llvm-lib), and links LLVM's programs under the names of Microsoft's
//! tools.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, layout};

/// Proof that all three programs exist.
pub(crate) struct Tools(());

impl Tools {
    /// Looks in `PATH`. The error has the names of the missing programs.
    pub(crate) fn find() -> Result<Self, Vec<&'static str>> {
        let missing: Vec<_> = ["clang", "llvm-dlltool", "llvm-lib"].into_iter().filter(|name| !exists(name)).collect();
        if missing.is_empty() { Ok(Self(())) } else { Err(missing) }
    }

    /// Runs one of the programs. If it fails, its output is the error.
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

/// The names of tools that build scripts run, the program of LLVM that does the same, if there is one, and the purpose. Clang and
/// llvm-rc choose their behaviour by the name under which they are run.
const NAMES: [(&str, Option<&str>, &str); 10] = [
    ("clang-cl", Some("clang"), "compiler"),
    ("cl.exe", Some("clang"), "compiler"),
    ("lib.exe", Some("llvm-lib"), "librarian"),
    ("rc", Some("llvm-rc"), "resource compiler"),
    ("rc.exe", Some("llvm-rc"), "resource compiler"),
    ("mc", None, "message compiler"),
    ("mc.exe", None, "message compiler"),
    ("ml64.exe", None, "assembler"),
    ("msbuild", None, "build program"),
    ("msbuild.exe", None, "build program"),
];

/// Creates a folder in which LLVM's programs have the names of Microsoft's tools, and returns it. A tool without such a program is a
/// script that fails with a message.
///
/// # Errors
///
/// Fails if a file cannot be created.
pub fn write_tools(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
    for (name, program, purpose) in NAMES {
        let file = folder.join(name);
        let Some(program) = program.and_then(|program| in_path(program, folder)) else {
            write_script(&file, &format!("#!/bin/sh\necho \"error: {}\" >&2\nexit 1\n", missing(name, purpose)))?;
            continue;
        };
        if fs::read_link(&file).is_ok_and(|old| old == program) {
            continue;
        }
        let _ = fs::remove_file(&file);
        // Another build may have created it in the meantime.
        make_link(&program, &file)
            .or_else(|error| if file.exists() { Ok(()) } else { Err(error) })
            .map_err(|error| Error::io(&file, &error))?;
    }
    Ok(folder.to_path_buf())
}

/// Returns the message about a missing tool. `driver-build` recognises the message by its first words.
fn missing(name: &str, purpose: &str) -> String {
    let instead = match purpose {
        "resource compiler" => "install llvm-rc (Debian and Ubuntu: apt-get install llvm)",
        "message compiler" => "generate code from manifests with the crate etw-manifest",
        "build program" => "compile C with the crate cc",
        _ => "use another program",
    };
    format!(
        "a build script runs {name}, the {purpose} of Microsoft's tools, which is missing on this system: {instead}, or run it only \
         if cfg!(windows)"
    )
}

/// Writes an executable script, unless it already exists with the same text.
fn write_script(file: &Path, text: &str) -> Result<(), Error> {
    let is_link = fs::read_link(file).is_ok();
    if !is_link && fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let _ = fs::remove_file(file);
    layout::write(file, text)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(|error| Error::io(file, &error))?;
    }
    Ok(())
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

/// Whether a program can be started. Its exit code is ignored, because llvm-dlltool has no flag that succeeds without other arguments.
fn exists(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
