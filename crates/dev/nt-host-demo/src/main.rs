//! Runs the sample driver under a trace session and shows its events, for `cargo xtask demo`.
//!
//! The demo starts a session with `etw-session`, loads the driver's `.sys` with `nt-host` and sends it requests ([`run`]). Then
//! it reads the events back from the session's file, shows them ([`show`]), and writes them as JSON Lines and as a page
//! ([`files`]). The events that are shown all come from that file.
//!
//! This is not a program for users: `cargo xtask demo` has the command line, and starts this as
//! `nt-host-demo FILE.sys FOLDER RELEASE`. The first command on a new machine compiles it, so it is built without the crates that
//! a command line needs.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod files;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod show;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use windows_releases::Release;

/// The exit codes, as in docs/conventions.md.
mod exit {
    pub(crate) const FAILED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const FINDINGS: u8 = 3;
    pub(crate) const INCOMPLETE: u8 = 4;
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub(crate) const UNSUPPORTED: u8 = 5;
}

fn main() -> ExitCode {
    match Options::parse(env::args_os().skip(1)).and_then(|options| demo(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, reason }) => {
            eprintln!("error: {}", command_line::escaped(&reason));
            ExitCode::from(code)
        }
    }
}

/// What to run.
struct Options {
    /// The driver's image.
    image: PathBuf,
    /// The folder for demo.etl, demo.json and demo.html.
    output: PathBuf,
    /// The release of Windows to emulate.
    os: Release,
}

impl Options {
    fn parse(words: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let words: Vec<OsString> = words.collect();
        let Ok([image, output, os]) = <[OsString; 3]>::try_from(words) else {
            let reason =
                "the arguments are FILE.sys, FOLDER and RELEASE; `cargo xtask demo` runs this program with them";
            return Err(Failure::usage(reason.into()));
        };
        let os = os.to_string_lossy().parse::<Release>().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { image: image.into(), output: output.into(), os })
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
    let outcome = run::run(options, &files.draft)?;
    let trace = trace::Trace::read(&files.draft).map_err(Failure::usage)?;
    files.write(&trace, &outcome).map_err(Failure::usage)?;
    show::print(&show::all(&outcome, &trace, &files))?;
    if !outcome.findings.is_empty() {
        let reason = "the driver has findings; they are listed in the summary".into();
        return Err(Failure { code: exit::FINDINGS, reason });
    }
    if !outcome.gaps.is_empty() {
        let reason = "the driver was not exercised completely; the gaps are listed in the summary".into();
        return Err(Failure { code: exit::INCOMPLETE, reason });
    }
    if outcome.session.has_losses() {
        let reason = "the session lost events; the trace and the page are incomplete".into();
        return Err(Failure { code: exit::INCOMPLETE, reason });
    }
    Ok(())
}

/// Only Linux on x86-64 can run drivers.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn demo(_: &Options) -> Result<(), Failure> {
    Err(Failure { code: exit::UNSUPPORTED, reason: "the driver can be run on Linux on x86-64 only".into() })
}
