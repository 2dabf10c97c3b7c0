//! The command `wdk-kit`.

use std::process::ExitCode;

fn main() -> ExitCode {
    wdk_kit::cli::main(std::env::args_os().skip(1))
}
