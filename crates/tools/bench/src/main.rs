//! The command behind `cargo xtask bench`.

use std::process::ExitCode;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    eprintln!("the bench runs on Linux on x86-64 only: it steps through images and runs drivers there");
    ExitCode::from(2)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect::<Result<Vec<_>, _>>();
    match words {
        Ok(words) => bench::cli::main(&words),
        Err(word) => {
            eprintln!("the argument `{}` is not valid UTF-8", word.as_encoded_bytes().escape_ascii());
            ExitCode::from(2)
        }
    }
}
