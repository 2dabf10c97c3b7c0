//! The sample driver at work under a session: what `cargo xtask demo` shows.
//!
//! A session is started through `etw-session` on the ETW that the driver will write to, `nt-host` loads the driver's `.sys`,
//! and the driver is put to work ([`run`]). What it traced is read back from the session's own file and shown
//! ([`show`]), and written as JSON Lines and as a page ([`files`]). Nothing is shown that is not in that file, except
//! what session control returned.
//!
//! Exit codes: 0 done; 1 it could not be done, or the driver did something wrong; 2 wrong usage.

mod args;
mod files;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
mod show;
mod trace;

use std::process::ExitCode;

use args::Options;
use clap::Parser as _;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    match demo(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the driver, shows its trace, writes the files.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn demo(options: &Options) -> Result<(), String> {
    let files = files::Files::prepare(&options.output)?;
    let outcome = run::run(options, &files.etl)?;
    let trace = trace::Trace::read(&files.etl)?;
    files.write(&trace, options.os.name())?;
    nt_host::cli::print(&show::all(&outcome, &trace, &files));
    if outcome.findings.is_empty() { Ok(()) } else { Err("the driver did something wrong".into()) }
}

/// Drivers are for x86-64, and so is what runs them.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn demo(_: &Options) -> Result<(), String> {
    Err("the driver can be run on Linux on x86-64 only".into())
}
