//! The program `driver-package`.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods)]

use std::process::ExitCode;

fn main() -> ExitCode {
    driver_package::cli::main(std::env::args_os())
}
