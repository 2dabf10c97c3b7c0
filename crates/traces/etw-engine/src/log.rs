//! The record of calls and of findings.
//!
//! Both lists are bounded and keep their oldest entries, so that a long run cannot exhaust memory. The record of calls
//! has a lock. When it is full or turned off, a call only touches atomics.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use etw_types::{EventDescriptor, EventInfoClass, Guid, NtStatus};

use crate::sync::lock;
use crate::{Engine, Finding, Routine};

/// The maximum number of calls, and of findings, that are kept.
const KEPT: usize = 1 << 16;

/// One call of a routine, in the order in which calls began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The routine.
    pub routine: Routine,
    /// The registration handle: the argument, or the new handle after a successful registration; 0 if there is none.
    pub handle: u64,
    /// What the call was about.
    pub subject: Subject,
    /// The status that the call returned; `STATUS_PENDING` (0x103) until it returns. A Boolean result is recorded as
    /// `Success` or `Unsuccessful`, a lookup as `Success` or `EntryPointNotFound`.
    pub status: NtStatus,
}

/// What a [`Call`] was about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Only the handle.
    None,
    /// The GUID to register.
    Provider(Guid),
    /// The kind of information to set.
    Class(EventInfoClass),
    /// The event to write or to test.
    Event(EventDescriptor),
    /// The code of an activity id operation.
    Control(u32),
    /// The routine or module to look up.
    Name(String),
}

/// A call that has begun: its position in the record, or `None` if it is not recorded.
#[derive(Clone, Copy)]
pub(crate) struct Begun(Option<u64>);

/// The record of one engine.
pub(crate) struct Log {
    calls: Mutex<Calls>,
    findings: Mutex<Vec<Finding>>,
    /// Whether calls are recorded at all.
    recording: AtomicBool,
    /// Whether the record is full.
    full: AtomicBool,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Calls {
    kept: Vec<Call>,
    /// How many calls were cleared before the first kept one.
    cleared: u64,
}

impl Log {
    pub(crate) fn new(recording: bool) -> Self {
        Self {
            calls: Mutex::default(),
            findings: Mutex::default(),
            recording: AtomicBool::new(recording),
            full: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn begin(&self, routine: Routine, handle: u64, subject: Subject) -> Begun {
        if self.recording.load(Ordering::Relaxed) { self.record(routine, handle, subject) } else { Begun(None) }
    }

    #[inline(never)]
    fn record(&self, routine: Routine, handle: u64, subject: Subject) -> Begun {
        if self.full.load(Ordering::Acquire) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Begun(None);
        }
        let mut calls = lock(&self.calls);
        if calls.kept.len() >= KEPT {
            self.full.store(true, Ordering::Release);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Begun(None);
        }
        let position = calls.cleared + calls.kept.len() as u64;
        calls.kept.push(Call { routine, handle, subject, status: NtStatus::Pending });
        Begun(Some(position))
    }

    #[inline]
    pub(crate) fn end(&self, begun: Begun, handle: Option<u64>, status: NtStatus) {
        if let Some(position) = begun.0 {
            self.complete(position, handle, status);
        }
    }

    #[inline(never)]
    fn complete(&self, position: u64, handle: Option<u64>, status: NtStatus) {
        let mut calls = lock(&self.calls);
        let index = position.checked_sub(calls.cleared).and_then(|index| usize::try_from(index).ok());
        if let Some(call) = index.and_then(|index| calls.kept.get_mut(index)) {
            call.status = status;
            call.handle = handle.unwrap_or(call.handle);
        }
    }

    pub(crate) fn find(&self, finding: Finding) {
        let mut findings = lock(&self.findings);
        if findings.len() < KEPT {
            findings.push(finding);
        }
    }
}

impl Engine {
    /// Returns the calls so far, in the order in which they began. Only the first 65,536 are kept.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.inner().log.calls).kept.clone()
    }

    /// Returns the number of recorded calls of `routine`.
    #[must_use]
    pub fn count_calls(&self, routine: Routine) -> usize {
        let calls = lock(&self.inner().log.calls);
        calls.kept.iter().filter(|call| call.routine == routine).count()
    }

    /// Returns the number of calls that were not recorded because the record was full.
    #[must_use]
    pub fn calls_dropped(&self) -> u64 {
        self.inner().log.dropped.load(Ordering::Relaxed)
    }

    /// Removes all recorded calls.
    pub fn clear_calls(&self) {
        let mut calls = lock(&self.inner().log.calls);
        calls.cleared += calls.kept.len() as u64;
        calls.kept.clear();
        self.inner().log.full.store(false, Ordering::Release);
    }

    /// Sets whether calls are recorded. On by default unless the engine's options say otherwise. Without a record, the
    /// write path takes no lock from the first event on.
    pub fn record_calls(&self, record: bool) {
        self.inner().log.recording.store(record, Ordering::Relaxed);
    }

    /// Returns the mistakes detected so far, oldest first.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        lock(&self.inner().log.findings).clone()
    }

    /// Records a call that is handled outside the engine, such as the lookup of a routine. If a failure of `routine` is
    /// scripted, it is returned and `body` does not run.
    pub fn record(&self, routine: Routine, subject: Subject, body: impl FnOnce() -> NtStatus) -> NtStatus {
        self.run(routine, 0, subject, body)
    }

    /// Runs a routine and records the call. If a failure is scripted, returns it instead of running `body`.
    pub(crate) fn run(
        &self,
        routine: Routine,
        handle: u64,
        subject: Subject,
        body: impl FnOnce() -> NtStatus,
    ) -> NtStatus {
        let inner = self.inner();
        let begun = inner.log.begin(routine, handle, subject);
        let status = inner.script.take(routine).unwrap_or_else(body);
        inner.log.end(begun, None, status);
        status
    }
}
