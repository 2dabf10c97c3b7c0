//! The programs that are built into this one. It starts itself again to run one of them, so that each has a process of its own
//! with its output and exit code.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use command_line::{error, exit};

use crate::mc;

/// The argument before the name of a built-in program.
const WORD: &str = "--internal-program";

/// The built-in programs.
const PROGRAMS: [&str; 5] = ["driver-package", "nt-host", "mc", "stampinf", "inf2cat"];

/// The command that runs a built-in program; empty if there is no such program.
pub(crate) fn command(name: &str) -> Vec<OsString> {
    if !PROGRAMS.contains(&name) {
        return Vec::new();
    }
    let own = env::current_exe().map_or_else(|_| "cargo-driver".into(), OsString::from);
    // A stand-in has the options of Microsoft's program.
    let is_stand_in = !["driver-package", "nt-host"].contains(&name);
    let shared = if is_stand_in { Vec::new() } else { command_line::words() };
    [own, WORD.into(), name.into()].into_iter().chain(shared).collect()
}

/// The name and the arguments of a built-in program, if the command line asks for one.
pub(crate) fn parse(words: &[OsString]) -> Option<(&OsString, &[OsString])> {
    match words {
        [_, word, program, rest @ ..] if word == WORD => Some((program, rest)),
        _ => None,
    }
}

/// Runs a built-in program.
pub(crate) fn run(program: &OsString, words: &[OsString]) -> ExitCode {
    let named = std::iter::once(program.clone()).chain(words.iter().cloned());
    match program.to_str() {
        Some("mc") => mc::main(named),
        Some("stampinf") => driver_package::cli::stampinf::main(named),
        Some("inf2cat") => driver_package::cli::inf2cat::main(named),
        Some("driver-package") => driver_package::cli::main_in_cargo_driver(named),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Some("nt-host") => nt_host_cli::main_in_cargo_driver(named),
        _ => {
            error(&format!("{} does not run on this host", program.display()));
            ExitCode::from(exit::UNSUPPORTED)
        }
    }
}
