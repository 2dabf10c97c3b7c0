//! Gaps: what a run should have exercised and did not.
//!
//! A gap is not a mistake of the driver, but a run with a gap is not clean: the checks had nothing to check. While the
//! driver runs, routines note what it looked for and did not find. If a device then does not start, these notes become
//! the advice.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of gaps that are kept. A run with one is incomplete, however many there are.
const MAX_GAPS: usize = 256;
/// The maximum number of notes that are kept.
const MAX_NOTES: usize = 8;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// The kind of a gap.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum GapKind {
            $($(#[$doc])* $name,)*
        }

        impl GapKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the name of the kind in reports and on the command line.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }
        }
    };
}

kinds! {
    /// `DriverEntry` failed, so nothing else of the driver ran.
    NotLoaded = "not-loaded",
    /// `AddDevice` or `EvtDriverDeviceAdd` failed or created no device.
    NotAdded = "not-added",
    /// The driver added a device, but the device did not start or wake up, or the driver reported that it failed.
    NotStarted = "not-started",
    /// A request, an open or an interrupt did not reach the driver.
    NotReached = "not-reached",
    /// The driver refused the orderly removal of its device.
    NotRemoved = "not-removed",
    /// The driver did not make the call that should fail.
    NotFailed = "not-failed",
    /// The run ended before its last step.
    NotFinished = "not-finished",
}

impl fmt::Display for GapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Something that a run should have exercised and did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The kind.
    pub kind: GapKind,
    /// What happened, with the status.
    pub detail: String,
    /// What may help: options of the command line, and what the driver looked for and did not find.
    pub advice: Vec<String>,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)?;
        self.advice.iter().try_for_each(|advice| write!(f, "; {advice}"))
    }
}

/// The gaps of a run, and the notes for the next one.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    gaps: Vec<Gap>,
    notes: Vec<String>,
}

fn gaps() -> Option<MutexGuard<'static, Gaps>> {
    let verifier = super::VERIFIER.find()?;
    Some(verifier.gaps.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(super) type Shared = Mutex<Gaps>;

/// Notes what the driver looked for and did not find, as advice for the user.
pub fn note(advice: String) {
    if let Some(mut gaps) = gaps() {
        gaps.notes.retain(|known| *known != advice);
        if gaps.notes.len() == MAX_NOTES {
            gaps.notes.remove(0);
        }
        gaps.notes.push(advice);
    }
}

/// Forgets the notes: what follows does not depend on them.
pub fn forget_notes() {
    if let Some(mut gaps) = gaps() {
        gaps.notes.clear();
    }
}

/// Records a gap. The notes since the last [`forget_notes`] are its advice, the last one first: it is the closest to the
/// failure.
pub fn add(kind: GapKind, detail: String) {
    let notes = gaps().map(|gaps| gaps.notes.iter().rev().cloned().collect()).unwrap_or_default();
    add_with(kind, detail, notes);
}

/// Records a gap with advice.
pub fn add_with(kind: GapKind, detail: String, advice: Vec<String>) {
    let gap = Gap { kind, detail, advice };
    if let Some(mut gaps) = gaps()
        && gaps.gaps.len() < MAX_GAPS
    {
        gaps.gaps.push(gap);
    }
}

/// Returns whether no more gaps are kept, so that there is no need to describe one.
pub fn are_enough() -> bool {
    gaps().is_none_or(|gaps| gaps.gaps.len() >= MAX_GAPS)
}

/// Returns the gaps so far.
pub fn all() -> Vec<Gap> {
    gaps().map(|gaps| gaps.gaps.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Gap, GapKind};

    #[test]
    fn a_gap_is_one_line_with_its_advice() {
        let kind = GapKind::NotStarted;
        let detail = "EvtDeviceD0Entry failed".to_owned();
        let gap = Gap { kind, detail, advice: vec!["try --resource line".into()] };
        assert_eq!(gap.to_string(), "not-started: EvtDeviceD0Entry failed; try --resource line");
        assert_eq!(Gap { advice: Vec::new(), ..gap }.to_string(), "not-started: EvtDeviceD0Entry failed");
    }
}
