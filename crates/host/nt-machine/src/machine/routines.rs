//! The routines that this host has.

use windows_releases::first_with_routine;

use crate::Os;
use crate::routine::{Fails, Routine};
use crate::{exception, kernel, wdf};

/// How far this host supports a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is implemented.
    Implemented,
    /// It always returns the same value and does nothing.
    Fixed,
    /// It is a variable that this host has.
    Data,
    /// This release of Windows does not have it. Contains the first release that does.
    Newer(Os),
    /// It is not implemented: a call ends the run with a finding that names it.
    Trapped,
}

/// Returns how far this host supports a routine or variable of the modules that it models.
#[must_use]
pub fn known(name: &str, os: Os) -> Known {
    if let Some(first) = first_with_routine(name).filter(|first| *first > os) {
        return Known::Newer(first);
    }
    match find(name) {
        Some(routine) if routine.fixed => Known::Fixed,
        Some(_) => Known::Implemented,
        None if name == "__chkstk" => Known::Implemented,
        None if kernel::data::is_variable(name) => Known::Data,
        None => Known::Trapped,
    }
}

/// A routine, a variable or a function of the framework, and how far this host supports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its owner: `kernel` for imports by name, `framework` for functions of KMDF.
    pub of: &'static str,
    /// Its name.
    pub name: &'static str,
    /// How far this host supports it.
    pub known: Known,
}

/// Returns everything that this host has, sorted by name, followed by all functions of the framework, including those
/// that it lacks.
#[must_use]
pub fn everything(os: Os) -> Vec<Listed> {
    let imports = all().map(|routine| routine.name).chain(kernel::data::names()).chain(["__chkstk"]);
    // Names in parentheses are internal: no driver can import them.
    let imports = imports.filter(|name| !name.starts_with('('));
    let mut listed: Vec<Listed> = imports.map(|name| Listed { of: "kernel", name, known: known(name, os) }).collect();
    listed.sort_by_key(|listed| listed.name);
    let functions = wdf::functions().map(|entry| {
        let known = match entry.routine {
            Some(routine) if routine.fixed => Known::Fixed,
            Some(_) => Known::Implemented,
            None => Known::Trapped,
        };
        Listed { of: "framework", name: entry.name, known }
    });
    listed.extend(functions);
    listed
}

/// Returns all routines of the kernel and of the framework's loader.
pub(super) fn all() -> impl Iterator<Item = &'static Routine> {
    kernel::routines().chain(exception::ROUTINES.into_iter().flatten()).chain(wdf::LOADER).chain(wdf::LIBRARY)
}

/// Returns the names of all routines that this host has, of the kernel and of the framework's loader.
pub fn routines() -> impl Iterator<Item = &'static str> {
    all().map(|routine| routine.name)
}

/// Returns the kinds of a routine's parameters and of its result, like `u32, pointer -> status`. Returns `None` if this
/// host does not have the routine, or has it without a signature.
#[must_use]
pub fn signature(name: &str) -> Option<String> {
    let framework = wdf::functions().find(|entry| entry.name == name).and_then(|entry| entry.routine);
    find(name).or(framework)?.signature.map(|signature| signature.to_string())
}

fn find(name: &str) -> Option<&'static Routine> {
    all().find(|routine| routine.name == name)
}

/// Returns whether a routine of the kernel or a function of the framework can be made to fail.
#[must_use]
pub fn can_fail(name: &str) -> bool {
    let framework = wdf::functions().find(|entry| entry.name == name).and_then(|entry| entry.routine);
    find(name).or(framework).is_some_and(|routine| routine.fails != Fails::Never)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Known, all, everything, known};
    use crate::Os;
    use crate::routine::{Fails, Routine};
    use crate::wdf;

    #[test]
    fn each_routine_is_there_once() {
        let names: BTreeSet<&str> = all().map(|routine| routine.name).collect();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn routines_that_remove_something_are_never_made_to_fail() {
        let verbs = [
            "Cancel",
            "Clear",
            "Close",
            "Delete",
            "Dereference",
            "Deregister",
            "Detach",
            "Disconnect",
            "Free",
            "Release",
            "Remove",
            "Stop",
            "UnRegister",
            "Unlock",
            "Unmap",
            "Unmark",
            "Unregister",
        ];
        let framework = wdf::functions().filter_map(|entry| entry.routine);
        let can_fail: Vec<&Routine> = all().chain(framework).filter(|routine| routine.fails != Fails::Never).collect();
        assert!(can_fail.len() > 200, "{}", can_fail.len());
        // `WdfRequestMarkCancelableEx` cancels nothing.
        let removes = |name: &str| verbs.iter().any(|verb| name.replace("Cancelable", "").contains(verb));
        let wrong: Vec<&str> = can_fail.iter().map(|routine| routine.name).filter(|name| removes(name)).collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn older_systems_lack_what_came_later() {
        assert_eq!(known("EtwSetInformation", Os::Win7), Known::Newer(Os::Win10_1507));
        assert_eq!(known("EtwSetInformation", Os::Win10_1507), Known::Implemented);
        assert_eq!(known("KeFooBar", Os::NEWEST), Known::Trapped);
        assert_eq!(known("KeQueryActiveGroupCount", Os::NEWEST), Known::Fixed);
        assert_eq!(known("ExEventObjectType", Os::NEWEST), Known::Data);
    }

    #[test]
    fn everything_is_listed_once_and_the_framework_in_full() {
        let listed = everything(Os::NEWEST);
        let names: BTreeSet<&str> = listed.iter().map(|listed| listed.name).collect();
        assert_eq!(names.len(), listed.len());
        assert_eq!(listed.iter().filter(|listed| listed.of == "framework").count(), 458);
        assert!(!listed.iter().any(|listed| listed.of == "kernel" && listed.known == Known::Trapped));
    }
}
