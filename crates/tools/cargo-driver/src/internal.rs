//! The programs that are built into this one. It starts itself again to run one of them, so that each has a process of its own
//! with its output and exit code.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use command_line::{error, exit};

/// The argument before the name of a built-in program.
const WORD: &str = "--internal-program";

/// The command that runs a built-in program.
pub(crate) fn command(name: &str) -> Vec<OsString> {
    let own = env::current_exe().map_or_else(|_| "cargo-driver".into(), OsString::from);
    [own, WORD.into(), name.into()].into_iter().chain(command_line::words()).collect()
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
        Some("driver-package") => driver_package::cli::main(named),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Some("nt-host") => nt_host::cli::main(named),
        _ => {
            error(&format!("{} does not run on this host", program.display()));
            ExitCode::from(exit::UNSUPPORTED)
        }
    }
}
