//! Gives LLVM's programs the names of Microsoft's tools, for build scripts that run them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{FileError, make_link, write_script};
use crate::host::Host;

/// The names of tools that build scripts run, the program of LLVM that does the same, if there is one, and the purpose. Clang and
/// llvm-rc choose their behaviour by the name under which they are run.
const NAMES: [(&str, Option<&str>, &str); 15] = [
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
    ("stampinf", None, "packaging program"),
    ("stampinf.exe", None, "packaging program"),
    ("inf2cat", None, "packaging program"),
    ("inf2cat.exe", None, "packaging program"),
    ("Inf2Cat.exe", None, "packaging program"),
];

/// The start of the message of a script that replaces a tool. Cargo passes the message on as text, so it is found by this start.
const MISSING: &str = "a build script runs ";

/// Creates a folder in which LLVM's programs, and the host's own, have the names of Microsoft's tools. A tool without such a program
/// is a script that fails with a message.
pub(crate) fn link(dir: &Path, host: &Host) -> Result<(), FileError> {
    fs::create_dir_all(dir).map_err(|error| FileError::new(dir, &error))?;
    let path = host.search_path();
    for (name, program, purpose) in NAMES {
        let file = dir.join(name);
        if let Some(command) =
            host.shell_command(&name.trim_end_matches(".exe").to_ascii_lowercase()).filter(|_| program.is_none())
        {
            write_script(&file, &format!("#!/bin/sh\nexec {command} \"$@\"\n"))?;
            continue;
        }
        let Some(program) = program.and_then(|program| in_path(program, &path, dir)) else {
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
            .map_err(|error| FileError::new(&file, &error))?;
    }
    Ok(())
}

/// Returns the message about a missing tool if this line of a build script's output has one.
pub(crate) fn message_in(line: &str) -> Option<&str> {
    line.trim().strip_prefix("error: ").filter(|text| text.starts_with(MISSING))
}

fn missing(name: &str, purpose: &str) -> String {
    let instead = match purpose {
        "resource compiler" => "install llvm-rc (Debian and Ubuntu: apt-get install llvm)",
        "message compiler" => "generate code from manifests with the crate etw-manifest",
        "build program" => "compile C with the crate cc",
        "packaging program" => "`cargo driver package` stamps the .inx and makes the catalog",
        _ => "use another program",
    };
    format!(
        "{MISSING}{name}, the {purpose} of Microsoft's tools, which is missing on this system: {instead}, or run it only if \
         cfg!(windows)"
    )
}

/// Makes a rustdoc that accepts unstable options, and returns it. With `RUSTC_BOOTSTRAP` in the environment of cargo, packages such as
/// `proc-macro2` would be compiled again.
pub(crate) fn unstable_rustdoc(dir: &Path) -> Result<PathBuf, FileError> {
    let file = dir.join("unstable-rustdoc");
    write_script(&file, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec \"$(rustc --print sysroot)/bin/rustdoc\" \"$@\"\n")?;
    Ok(file)
}

fn in_path(program: &str, path: &OsStr, except: &Path) -> Option<PathBuf> {
    let dirs = env::split_paths(path).filter(|dir| dir != except);
    dirs.map(|dir| dir.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::{message_in, missing};

    #[test]
    fn the_message_of_a_script_is_found_in_the_output_of_cargo() {
        let message = missing("mc.exe", "message compiler");
        assert_eq!(message_in(&format!("  error: {message}\n")), Some(message.as_str()));
        assert_eq!(message_in("  error: something else"), None);
    }
}
