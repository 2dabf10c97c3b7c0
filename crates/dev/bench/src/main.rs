//! The program that `cargo xtask bench` runs.

use std::process::ExitCode;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    eprintln!("the bench runs only on Linux for x86-64, because it executes the code of drivers");
    ExitCode::from(2)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    bench::cli::main(std::env::args_os())
}
