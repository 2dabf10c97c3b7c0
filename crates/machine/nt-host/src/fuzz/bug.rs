//! What a session finds, and who sees it.

use std::time::Duration;

use super::input::Input;
use crate::Finding;

/// When a session ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) time: Option<Duration>,
    pub(super) executions: Option<u64>,
}

/// The numbers of a session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of sequences that ran.
    pub executions: u64,
    /// The number of requests that were sent.
    pub requests: u64,
    /// The number of processes that were started, without those that made inputs smaller.
    pub processes: u64,
    /// The number of inputs that did something new.
    pub corpus: usize,
    /// The number of distinct mistakes.
    pub bugs: usize,
    /// The time since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Returns the number of requests per second.
    #[must_use]
    pub fn rate(&self) -> u64 {
        let milliseconds = u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        self.requests.saturating_mul(1000) / milliseconds
    }
}

/// A mistake of the driver, and the input that leads to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bug {
    /// The mistake.
    pub finding: Finding,
    /// The smallest input that was found.
    pub input: Input,
    /// Whether the input leads to the mistake each time. Otherwise it depends on chance, such as the order of threads.
    pub is_reproduced: bool,
    /// The time from the start to the finding.
    pub found_after: Duration,
    /// The number of sequences that had run.
    pub executions: u64,
}

/// Sees what a session finds while it runs.
///
/// ```no_run
/// use nt_host::{Bug, Fuzz, NtHost, Progress, Watcher};
///
/// /// Ends the session at the first mistake.
/// #[derive(Default)]
/// struct First(Option<Bug>);
///
/// impl Watcher for First {
///     fn bug(&mut self, bug: &Bug) {
///         self.0.get_or_insert_with(|| bug.clone());
///     }
///
///     fn progress(&mut self, _: &Progress) -> bool {
///         self.0.is_none()
///     }
/// }
///
/// let mut first = First::default();
/// let harvest = Fuzz::new(NtHost::builder().driver("my_driver.sys")).run_with(&mut first)?;
/// println!("{}: {:?}", harvest.summary(), first.0);
/// # Ok::<(), nt_host::Error>(())
/// ```
pub trait Watcher {
    /// An input did something new.
    fn input(&mut self, _input: &Input) {}
    /// The driver made a mistake.
    fn bug(&mut self, _bug: &Bug) {}
    /// A batch has ended. Returns whether the session continues.
    fn progress(&mut self, _progress: &Progress) -> bool {
        true
    }
}
