//! What a test scripts: upcoming failures, and routines that this system does not have.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use etw_types::NtStatus;

use crate::Engine;
use crate::sync::lock;

/// A routine of the provider interface, in kernel or user mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Routine {
    /// `EtwRegister`, `EventRegister`.
    Register,
    /// `EtwUnregister`, `EventUnregister`.
    Unregister,
    /// `EtwSetInformation`, `EventSetInformation`.
    SetInformation,
    /// `EtwEventEnabled`, `EventEnabled`.
    EventEnabled,
    /// `EtwProviderEnabled`, `EventProviderEnabled`.
    ProviderEnabled,
    /// `EtwWrite`.
    Write,
    /// `EtwWriteTransfer`, `EventWriteTransfer`.
    WriteTransfer,
    /// `EtwWriteEx`, `EventWriteEx`.
    WriteEx,
    /// `EtwWriteString`, `EventWriteString`.
    WriteString,
    /// `EtwActivityIdControl`, `EventActivityIdControl`.
    ActivityIdControl,
    /// `MmGetSystemRoutineAddress`, `GetProcAddress`.
    FindRoutine,
    /// `GetModuleHandleExW`.
    FindModule,
    /// `FreeLibrary`.
    FreeModule,
}

/// The script of one engine.
#[derive(Default)]
pub(crate) struct Script {
    failures: Mutex<HashMap<Routine, VecDeque<NtStatus>>>,
    /// The number of failures still queued. If it is 0, no lock is taken.
    pending: AtomicUsize,
    hidden: Mutex<BTreeSet<String>>,
}

impl Script {
    /// Removes and returns the scripted status of the next call of `routine`, or `None` if there is none.
    #[inline]
    pub(crate) fn take(&self, routine: Routine) -> Option<NtStatus> {
        if self.pending.load(Ordering::Acquire) == 0 { None } else { self.take_queued(routine) }
    }

    #[cold]
    fn take_queued(&self, routine: Routine) -> Option<NtStatus> {
        let status = lock(&self.failures).get_mut(&routine)?.pop_front()?;
        self.pending.fetch_sub(1, Ordering::AcqRel);
        Some(status)
    }
}

impl Engine {
    /// Makes the next call of `routine` do nothing and return `status`. Several scripted failures queue up.
    ///
    /// Routines that return a Boolean return false; those that return an address return null.
    pub fn fail_next(&self, routine: Routine, status: NtStatus) {
        let script = &self.inner().script;
        lock(&script.failures).entry(routine).or_default().push_back(status);
        script.pending.fetch_add(1, Ordering::AcqRel);
    }

    /// Makes lookups of the routine or module `name` fail, as on a Windows version that does not have it.
    pub fn hide_routine(&self, name: &str) {
        lock(&self.inner().script.hidden).insert(name.to_ascii_lowercase());
    }

    /// Reverts [`Engine::hide_routine`].
    pub fn show_routine(&self, name: &str) {
        lock(&self.inner().script.hidden).remove(&name.to_ascii_lowercase());
    }

    /// Returns whether the routine or module `name` is hidden. The comparison ignores case.
    #[must_use]
    pub fn is_hidden(&self, name: &str) -> bool {
        lock(&self.inner().script.hidden).contains(&name.to_ascii_lowercase())
    }
}
