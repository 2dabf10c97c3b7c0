//! Runs the sample driver under a trace session and shows its events, for `cargo xtask demo`.
//!
//! The demo starts a session with `etw-session`, loads the driver's `.sys` with `nt-host` and sends it requests ([`run`]). Then
//! it reads the events back from the session's file, shows them ([`show`]), and writes them as JSON Lines and as a page
//! ([`files`]). The events that are shown all come from that file.

mod args;
mod files;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
mod show;
mod trace;

use std::process::ExitCode;

use args::Options;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use command_line::Activity;
use command_line::{end, exit};

fn main() -> ExitCode {
    let options: Options = match command_line::parse(std::env::args_os()) {
        Ok(options) => options,
        Err(code) => return code,
    };
    match demo(&options) {
        Ok(()) => end(exit::SUCCESS),
        Err(Failure { code, reason }) => {
            eprintln!("error: {reason}");
            end(code)
        }
    }
}

/// Why the demo failed, and its exit code.
struct Failure {
    code: u8,
    reason: String,
}

impl Failure {
    fn usage(reason: String) -> Self {
        Self { code: exit::USAGE, reason }
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { code: exit::FAILED, reason }
    }
}

/// Runs the driver, shows its trace, writes the files.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn demo(options: &Options) -> Result<(), Failure> {
    let files = files::Files::prepare(&options.output).map_err(Failure::usage)?;
    let activity = Activity::begin("running the driver");
    let outcome = run::run(options, &files.draft)?;
    let trace = trace::Trace::read(&files.draft).map_err(Failure::usage)?;
    files.write(&trace, &outcome).map_err(Failure::usage)?;
    drop(activity);
    command_line::print(&show::all(&outcome, &trace, &files));
    if outcome.findings.is_empty() {
        Ok(())
    } else {
        Err(Failure { code: exit::FINDINGS, reason: "the driver has findings; they are listed in the summary".into() })
    }
}

/// Only Linux on x86-64 can run drivers.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn demo(_: &Options) -> Result<(), Failure> {
    Err(Failure { code: exit::UNSUPPORTED, reason: "the driver can be run on Linux on x86-64 only".into() })
}
