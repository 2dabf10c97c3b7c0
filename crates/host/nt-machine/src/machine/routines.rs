//! Which routines this host has.

use windows_releases::first_with_routine;

use crate::Os;
use crate::routine::{Fails, Routine};
use crate::{exception, kernel, wdf};

/// What this host knows about a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It has it.
    Implemented,
    /// It returns a fixed value, whatever was done before, and does nothing.
    Fixed,
    /// This release of Windows does not have it: the first one that does.
    Newer(Os),
    /// A call of it ends the run, with its name.
    Trapped,
}

/// Whether this host has a routine of ntoskrnl.exe, hal.dll or WDFLDR.SYS.
#[must_use]
pub fn known(name: &str, os: Os) -> Known {
    if let Some(first) = first_with_routine(name).filter(|first| *first > os) {
        return Known::Newer(first);
    }
    match find(name) {
        Some(routine) if routine.fixed => Known::Fixed,
        Some(_) => Known::Implemented,
        None if name == "__chkstk" || kernel::data::is_variable(name) => Known::Implemented,
        None => Known::Trapped,
    }
}

/// All routines of the kernel and the framework's loader.
pub(super) fn all() -> impl Iterator<Item = &'static Routine> {
    kernel::routines().chain(exception::ROUTINES.into_iter().flatten()).chain(wdf::LOADER)
}

/// The names of all routines that this host has, of the kernel and of the framework's loader.
pub fn routines() -> impl Iterator<Item = &'static str> {
    all().map(|routine| routine.name)
}

fn find(name: &str) -> Option<&'static Routine> {
    all().find(|routine| routine.name == name)
}

/// Whether a routine of the kernel or a function of the framework can be made to fail.
#[must_use]
pub fn can_fail(name: &str) -> bool {
    let framework = wdf::functions().find(|entry| entry.name == name).and_then(|entry| entry.routine);
    find(name).or(framework).is_some_and(|routine| routine.fails != Fails::Never)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Known, all, known};
    use crate::Os;

    #[test]
    fn each_routine_is_there_once() {
        let names: BTreeSet<&str> = all().map(|routine| routine.name).collect();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn older_systems_lack_what_came_later() {
        assert_eq!(known("EtwSetInformation", Os::Win7), Known::Newer(Os::Win10_1507));
        assert_eq!(known("EtwSetInformation", Os::Win10_1507), Known::Implemented);
        assert_eq!(known("KeFooBar", Os::NEWEST), Known::Trapped);
        assert_eq!(known("KeQueryActiveGroupCount", Os::NEWEST), Known::Fixed);
    }
}
