//! The `nt-host` command.

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    nt_host_cli::main(std::env::args_os())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    eprintln!("nt-host runs on Linux on x86-64 only");
    ExitCode::from(2)
}
