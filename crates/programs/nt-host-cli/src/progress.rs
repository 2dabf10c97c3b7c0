//! The progress of a run and its result, which the steps add to and the reports show.

use std::io::{IsTerminal as _, Write as _};

use command_line::exit::{FAILED, FINDINGS, INTERRUPTED, SUCCESS};
use command_line::{escaped, print};
use etw_types::NtStatus;

use nt_host::{Error, Gap, GapKind, Report};

/// The result of a run: the exit code, its name in the JSON report, and a sentence.
pub(super) struct Verdict {
    pub(super) code: u8,
    pub(super) result: &'static str,
    pub(super) text: String,
}

impl Verdict {
    pub(super) fn new(code: u8, text: impl Into<String>) -> Self {
        let result = match code {
            SUCCESS => "clean",
            FAILED => "failed",
            FINDINGS => "findings",
            INTERRUPTED => "interrupted",
            _ => "incomplete",
        };
        Self { code, result, text: text.into() }
    }
}

/// The result of a client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// The kind of the request.
    pub(super) what: &'static str,
    /// The control code, if it has one.
    pub(super) code: u32,
    pub(super) status: NtStatus,
    /// The output in hexadecimal.
    pub(super) output: String,
    /// Whether the request reached the driver.
    pub(super) arrived: bool,
}

impl Sent {
    /// Creates the result of a request that could not be sent. `status` is the reason.
    pub(super) const fn not_sent(what: &'static str, code: u32, status: NtStatus) -> Self {
        Self { what, code, status, output: String::new(), arrived: false }
    }
}

/// Separates what the driver or the system refused from errors that end the run.
pub(super) fn status_of<T>(result: Result<T, Error>) -> Result<Result<T, NtStatus>, Error> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Status(status)) => Ok(Err(status)),
        Err(error) => Err(error),
    }
}

/// Returns whether the progress line is shown.
pub(super) fn shows_progress() -> bool {
    std::io::stderr().is_terminal() && !command_line::is_quiet()
}

/// The progress of a run: a line on a terminal, and the results of the requests.
pub(super) struct Progress {
    line: bool,
    prints: bool,
    /// The result of each request.
    pub(super) requests: Vec<Sent>,
    /// The requests that the clients could not send.
    pub(super) gaps: Vec<Gap>,
    /// What the memory of the client held at the end of its steps, in hexadecimal, with the addresses.
    pub(super) memory: Vec<(u64, String)>,
    /// Whether the driver was unloaded; `None` if the run did not come that far.
    pub(super) unloaded: Option<bool>,
}

impl Progress {
    pub(super) fn new(prints: bool) -> Self {
        Self { line: prints && shows_progress(), prints, ..Self::mute() }
    }

    /// Creates a progress that shows only the line.
    pub(super) fn line() -> Self {
        Self { line: shows_progress(), ..Self::mute() }
    }

    /// Creates a progress that shows nothing.
    pub(super) const fn mute() -> Self {
        let requests = Vec::new();
        Self { line: false, prints: false, requests, gaps: Vec::new(), memory: Vec::new(), unloaded: None }
    }

    pub(super) fn step(&mut self, what: &str) {
        if self.line {
            eprint!("\r\x1b[K{what} …");
            let _ = std::io::stderr().flush();
        }
    }

    /// Adds the requests that the clients could not send to the gaps of a report.
    pub(super) fn complete(&self, report: Report, allowed: &[GapKind]) -> Report {
        let own = self.gaps.iter().filter(|gap| !allowed.contains(&gap.kind));
        let gaps = report.gaps().iter().chain(own).cloned().collect();
        report.with_gaps(gaps)
    }

    /// Returns what a reader must know about a run that reached its end.
    pub(super) const fn remark(&self) -> &'static str {
        if matches!(self.unloaded, Some(false)) {
            "; the driver has no unload routine, so it stays loaded and leaks are not checked"
        } else {
            ""
        }
    }

    pub(super) fn note(&mut self, what: &str) {
        self.end();
        if self.prints {
            print(&format!("{}\n", escaped(what)));
        }
    }

    pub(super) fn end(&mut self) {
        if self.line {
            eprint!("\r\x1b[K");
        }
    }
}
