//! The verifier: what a driver must not do, and the record of what it did.
//!
//! It is always on. A finding is recorded when it happens, in memory that outlives the process that runs the driver.
//! The process that started the run adds names and source lines later.

pub mod calls;
mod findings;
pub mod gap;
pub mod locks;
mod microsoft;
mod notify;
mod record;
mod rule;

pub use calls::Calls;
pub use findings::{Findings, Printed};
pub use gap::{Gap, GapKind};
pub use microsoft::MicrosoftRule;
pub use microsoft::{Breach, Kmdf, Wdm};
pub use notify::{END_RUN, RunEvent};
pub use record::Record;
pub use rule::Rule;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nt_processor::coverage::callbacks;
use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::layer_state::LayerState;

/// The state of the verifier.
#[derive(Debug)]
pub struct Verifier {
    findings: Findings,
    channel: notify::Channel,
    /// Whether the run has ended with a bug check.
    stopped: AtomicBool,
    /// Whether the driver under test is bound to a framework. Microsoft has rules of its own for such drivers.
    framework: AtomicBool,
    remembered: calls::Remembered,
    gaps: gap::Shared,
}

static VERIFIER: LayerState<Verifier> = LayerState::new();

impl Verifier {
    /// Creates a verifier that records in `findings`. Fails if there is no pipe for its events.
    pub fn new(findings: Findings) -> io::Result<Self> {
        let channel = notify::Channel::new()?;
        let remembered = calls::Remembered::default();
        let gaps = gap::Shared::default();
        let stopped = AtomicBool::new(false);
        let framework = AtomicBool::new(false);
        Ok(Self { findings, channel, stopped, framework, remembered, gaps })
    }

    /// Waits for an event of the threads that run the driver, for at most `time`.
    pub fn listen(&self, time: Duration) -> RunEvent {
        self.channel.listen(time)
    }

    /// Returns the memory for findings.
    pub const fn findings(&self) -> Findings {
        self.findings
    }
}

/// Makes this the verifier of this process. Later calls have no effect.
pub fn attach(verifier: &'static Verifier) {
    if VERIFIER.attach(verifier) {
        notify::catch_end_of_run();
    }
}

/// Called when the driver under test is bound to a framework.
pub fn framework_bound() {
    if let Some(verifier) = VERIFIER.find() {
        verifier.framework.store(true, Ordering::SeqCst);
    }
}

/// Returns whether the driver under test is bound to a framework.
fn is_framework_driver() -> bool {
    VERIFIER.find().is_some_and(|verifier| verifier.framework.load(Ordering::SeqCst))
}

/// Signals an event to the thread that listens.
pub fn signal(event: RunEvent) {
    if let Some(verifier) = VERIFIER.find() {
        verifier.channel.signal(event);
    }
}

/// Appends debug output of the driver.
pub fn print(text: &str) {
    if let Some(verifier) = VERIFIER.find() {
        let (start, length) = verifier.findings.print(text);
        callbacks::printed(start, length, thread::number());
    }
}

/// Appends a line of the host about the driver to the debug output.
pub fn announce(line: &str) {
    if let Some(verifier) = VERIFIER.find() {
        let (start, length) = verifier.findings.announce(line);
        callbacks::printed(start, length, thread::number());
    }
}

/// The place in the driver's code that a finding belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// An instruction, or the start of a routine.
    Code(u64),
    /// The return address of a call.
    Call(u64),
}

impl From<u64> for At {
    fn from(from: u64) -> Self {
        Self::Call(from)
    }
}

/// Records a finding at the call that the driver is making on this thread.
pub fn find(breach: impl Into<Breach>, detail: std::fmt::Arguments<'_>) {
    let site = thread::site();
    find_at(breach, site.map(|site| site.routine), site.map_or(0, |site| site.from), detail);
}

/// Records a finding at an address of the driver's code.
pub fn find_at(breach: impl Into<Breach>, routine: Option<&str>, at: impl Into<At>, detail: std::fmt::Arguments<'_>) {
    let at = at.into();
    let (address, is_call) = match at {
        At::Code(address) => (address, false),
        At::Call(address) => (address, true),
    };
    if let Some(verifier) = VERIFIER.find() {
        let place = image::offset(address);
        let calls = Calls::to(address);
        verifier.findings.add(&Record::new(breach, thread::irql(), routine, place, is_call, calls, detail));
    }
}

/// Records a finding that ends the run, notifies the host, and never returns: the driver's thread must not continue.
pub fn stop(breach: impl Into<Breach>, routine: Option<&str>, at: impl Into<At>, detail: std::fmt::Arguments<'_>) -> ! {
    find_at(breach, routine, at, detail);
    if let Some(verifier) = VERIFIER.find() {
        verifier.stopped.store(true, Ordering::SeqCst);
    }
    signal(RunEvent::Crashed);
    park()
}

/// Like [`stop`], for the case that memory of the host may be overwritten: walks no stack, takes no lock.
pub(crate) fn stop_at_once(rule: Rule, at: u64, detail: std::fmt::Arguments<'_>) -> ! {
    end(rule, at, detail);
    park()
}

/// Records a finding that ends the run, on a thread that does not run the driver. Walks no stack, takes no lock.
pub fn end(rule: Rule, at: u64, detail: std::fmt::Arguments<'_>) {
    if let Some(verifier) = VERIFIER.find() {
        let place = image::offset(at);
        verifier.findings.add(&Record::new(rule, 0, None, place, false, Calls::default(), detail));
        verifier.stopped.store(true, Ordering::SeqCst);
    }
    signal(RunEvent::Crashed);
}

/// Ends the run because Linux refuses something that the host needs, with the error of the last system call. That is not a mistake
/// of the driver, and must not become a failure that it has to handle. Walks no stack, takes no lock.
pub fn refused(what: &str) -> ! {
    refused_with(what, &io::Error::last_os_error())
}

/// Like [`refused`], with an error.
pub fn refused_with(what: &str, error: &io::Error) -> ! {
    let limits = "raise the limits of this process (ulimit -v, -u, -n, the container's) or free memory";
    stop_at_once(Rule::Host, 0, format_args!("Linux refuses {what}: {error}; {limits}"))
}

/// Returns whether the run has ended with a bug check.
#[inline]
pub fn is_stopped() -> bool {
    VERIFIER.find().is_some_and(|verifier| verifier.stopped.load(Ordering::SeqCst))
}

/// Blocks the calling thread forever.
pub fn park() -> ! {
    loop {
        // SAFETY: the call waits for a signal and has no preconditions.
        unsafe { libc::pause() };
    }
}
