//! The program that `cargo xtask bench` runs.

use std::process::ExitCode;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    eprintln!("the bench runs on Linux on x86-64 only: it steps through images and runs drivers there");
    ExitCode::from(2)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    bench::cli::main(std::env::args_os())
}
