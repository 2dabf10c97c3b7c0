//! Which release has a routine.

use crate::{Release, first_with_routine};

impl Release {
    /// Returns whether the kernel of this release has a routine, according to [`routines`](crate::routines).
    #[must_use]
    pub fn has_routine(self, name: &str) -> bool {
        first_with_routine(name).is_none_or(|first| first <= self)
    }

    /// Returns a message about a routine that this release lacks, with the first release that has it, or `None` if this
    /// release has the routine.
    #[must_use]
    pub fn lacks(self, routine: &str) -> Option<String> {
        let first = first_with_routine(routine).filter(|first| *first > self)?;
        Some(format!("{self} has no {routine}; the first release that has it is {}", first.described()))
    }
}
