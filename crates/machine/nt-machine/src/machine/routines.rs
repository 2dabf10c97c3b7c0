//! The routines that this host has.

use nt_verifier::exception;
use nt_verifier::routine::{Fails, KERNEL, Routine};
use windows_releases::Release as Os;
use windows_releases::{documented, first_with_routine};

/// How far this host supports a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
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
pub fn support(name: &str, os: Os) -> Support {
    if let Some(first) = first_with_routine(name).filter(|first| *first > os) {
        return Support::Newer(first);
    }
    match find(name) {
        Some(routine) if routine.fixed => Support::Fixed,
        Some(_) => Support::Implemented,
        None if name == "__chkstk" => Support::Implemented,
        None if nt_kernel::data::is_variable(name) => Support::Data,
        None => Support::Trapped,
    }
}

/// The module of the framework's functions, and of the routines that bind a driver to it.
const FRAMEWORK: &str = "wdf01000.sys";
const FRAMEWORK_LOADER: &str = "wdfldr.sys";

/// A routine, a variable or a function of the framework, with what is stated about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineInfo {
    /// The module that exports it.
    pub module: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The kinds of its parameters and of its result, like `u32, pointer -> status`. `None` for variables, and for
    /// functions that this host lacks.
    pub signature: Option<String>,
    /// The highest IRQL at which it may be called: 15 for any IRQL.
    pub irql: Option<u8>,
    /// The first release that has it. `None` if every release has it.
    pub since: Option<Os>,
    /// Whether a call can be made to fail.
    pub can_fail: bool,
    /// How far this host supports it.
    pub support: Support,
    /// The address of its page on Microsoft Learn.
    pub page: Option<String>,
    /// The source file of this project that declares it, as the compiler was given it. `None` for variables, and for routines that
    /// this host lacks.
    pub file: Option<&'static str>,
}

impl RoutineInfo {
    fn new(module: &'static str, name: &'static str, routine: Option<&Routine>, support: Support) -> Self {
        let documented = documented(name);
        Self {
            module,
            name,
            signature: routine.map(|routine| routine.signature.to_string()),
            irql: routine.map(|routine| routine.irql),
            since: documented.and_then(|documented| documented.since),
            can_fail: routine.is_some_and(|routine| routine.fails != Fails::Never),
            support,
            page: documented.map(|documented| documented.url()),
            file: routine.map(|routine| routine.file),
        }
    }

    /// Returns whether this is a function of the framework, which no driver imports by name.
    #[must_use]
    pub fn is_of_framework(&self) -> bool {
        self.module == FRAMEWORK
    }
}

/// Returns the table of everything that drivers can call or read here: routines and variables by name, then the functions
/// of the framework by index, including those that this host lacks.
#[must_use]
pub fn all_routines(os: Os) -> Vec<RoutineInfo> {
    let exports = kernel_routines().map(|routine| (routine.module, routine));
    let exports = exports.chain(loader_routines().map(|routine| (FRAMEWORK_LOADER, routine)));
    // Names in parentheses are internal: no driver can import them.
    let exports = exports.filter(|(_, routine)| !routine.name.starts_with('('));
    let mut table: Vec<RoutineInfo> = exports
        .map(|(module, routine)| RoutineInfo::new(module, routine.name, Some(routine), support(routine.name, os)))
        .chain(
            nt_kernel::data::names()
                .chain(["__chkstk"])
                .map(|name| RoutineInfo::new(KERNEL, name, None, support(name, os))),
        )
        .collect();
    table.sort_by_key(|routine| routine.name);
    table.extend((0..).zip(nt_framework::functions()).map(|(index, entry)| {
        let since = first_with_function(index);
        let support = match (since.filter(|since| *since > os), entry.routine) {
            (Some(since), _) => Support::Newer(since),
            (None, Some(routine)) if routine.fixed => Support::Fixed,
            (None, Some(_)) => Support::Implemented,
            (None, None) => Support::Trapped,
        };
        RoutineInfo { since, ..RoutineInfo::new(FRAMEWORK, entry.name, entry.routine, support) }
    }));
    table
}

/// Returns the first release whose framework has the function with this index. Returns `None` if every release has it.
fn first_with_function(index: u32) -> Option<Os> {
    let first = Os::ALL.into_iter().find(|release| index < release.kmdf().functions)?;
    Some(first).filter(|first| *first != Os::Win7)
}

/// Returns the routines of the kernel and of the other modules that drivers import from, except the framework's loader.
pub(super) fn kernel_routines() -> impl Iterator<Item = &'static Routine> {
    let others = exception::ROUTINES
        .iter()
        .chain(nt_filters::ROUTINES)
        .chain(nt_network::ROUTINES)
        .chain(nt_crypto::ROUTINES)
        .chain(nt_hid::ROUTINES);
    nt_kernel::routines().chain(others.copied().flatten())
}

/// Returns the routines of the framework's loader: those that drivers import, and those for libraries.
fn loader_routines() -> impl Iterator<Item = &'static Routine> {
    nt_framework::LOADER.iter().chain(nt_framework::LIBRARY)
}

/// Returns all routines of the kernel and of the framework's loader.
pub(super) fn all() -> impl Iterator<Item = &'static Routine> {
    kernel_routines().chain(loader_routines())
}

fn find(name: &str) -> Option<&'static Routine> {
    all().find(|routine| routine.name == name)
}

/// Returns whether a routine of the kernel or a function of the framework can be made to fail.
#[must_use]
pub fn can_fail(name: &str) -> bool {
    let framework = nt_framework::functions().find(|entry| entry.name == name).and_then(|entry| entry.routine);
    find(name).or(framework).is_some_and(|routine| routine.fails != Fails::Never)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Support, all, all_routines, can_fail, support};
    use nt_verifier::routine::{Fails, Kind, Routine};
    use windows_releases::Release as Os;

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
        let framework = nt_framework::functions().filter_map(|entry| entry.routine);
        let can_fail: Vec<&Routine> = all().chain(framework).filter(|routine| routine.fails != Fails::Never).collect();
        assert!(can_fail.len() > 200, "{}", can_fail.len());
        // `WdfRequestMarkCancelableEx` cancels nothing.
        let removes = |name: &str| verbs.iter().any(|verb| name.replace("Cancelable", "").contains(verb));
        let wrong: Vec<&str> = can_fail.iter().map(|routine| routine.name).filter(|name| removes(name)).collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn a_routine_fails_only_with_a_value_of_the_type_that_it_returns() {
        let framework = nt_framework::functions().filter_map(|entry| entry.routine);
        for routine in all().chain(framework) {
            let result = routine.signature.result;
            let is_possible = match routine.fails {
                Fails::Never => true,
                Fails::Status(_) => matches!(result, Kind::Status | Kind::Unsigned(4) | Kind::Signed(4)),
                Fails::Zero => result != Kind::Void && result != Kind::Status,
            };
            assert!(is_possible, "{} returns {result} and fails with {:?}", routine.name, routine.fails);
        }
    }

    /// Their pages: one always returns `STATUS_SUCCESS`, the other has no result.
    #[test]
    fn routines_that_cannot_fail_are_never_made_to_fail() {
        for name in ["ExInitializeResourceLite", "ExInitializeWorkItem"] {
            assert!(!can_fail(name), "{name}");
        }
    }

    #[test]
    fn older_systems_lack_what_came_later() {
        assert_eq!(support("EtwSetInformation", Os::Win7), Support::Newer(Os::Win10_1507));
        assert_eq!(support("EtwSetInformation", Os::Win10_1507), Support::Implemented);
        assert_eq!(support("KeFooBar", Os::NEWEST), Support::Trapped);
        assert_eq!(support("KeQueryActiveGroupCount", Os::NEWEST), Support::Fixed);
        assert_eq!(support("ExEventObjectType", Os::NEWEST), Support::Data);
    }

    #[test]
    fn each_routine_is_listed_once_and_the_framework_in_full() {
        let table = all_routines(Os::NEWEST);
        let names: BTreeSet<&str> = table.iter().map(|routine| routine.name).collect();
        assert_eq!(names.len(), table.len());
        let (functions, imports): (Vec<_>, Vec<_>) = table.iter().partition(|routine| routine.is_of_framework());
        assert_eq!(functions.len(), nt_framework::functions().count());
        assert!(imports.iter().all(|routine| routine.support != Support::Trapped));
    }

    #[test]
    fn each_row_of_the_table_has_what_its_declaration_and_its_page_state() {
        let table = all_routines(Os::Win10_1809);
        let row = |name: &str| table.iter().find(|routine| routine.name == name).expect("a row").clone();
        let pool = row("ExAllocatePool2");
        assert_eq!(pool.module, "ntoskrnl.exe");
        assert_eq!(pool.irql, Some(2));
        assert!(pool.can_fail);
        assert_eq!(pool.signature.as_deref(), Some("u64, u64, u32 -> pointer"));
        assert_eq!(pool.since, Some(Os::Win10_2004));
        assert_eq!(pool.support, Support::Newer(Os::Win10_2004));
        let page = "https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/nf-wdm-exallocatepool2";
        assert_eq!(pool.page.as_deref(), Some(page));
        assert_eq!(row("WmiFireEvent").module, "wmilib.sys");
        assert_eq!(row("KeStallExecutionProcessor").module, "hal.dll");
        assert_eq!(row("WdfVersionBind").module, "wdfldr.sys");
        assert_eq!(row("WdfDeviceInitSetIoTypeEx").since, Some(Os::Win81));
        assert_eq!(row("WdfDriverCreate").since, None);
        assert_eq!(row("WdfDriverCreate").support, Support::Implemented);
    }
}
