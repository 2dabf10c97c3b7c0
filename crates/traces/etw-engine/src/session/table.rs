//! The running sessions: their names, GUIDs, logger ids and files.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use etw_types::Win32Error;
use etw_types::session::{KERNEL_LOGGER_NAME, mode};

use super::SessionCore;
use super::properties::Plan;
use crate::EngineOptions;
use crate::sync::lock;

/// Logger ids below this one belong to the kernel's own sessions.
const RESERVED: u16 = 2;
/// The maximum number of private sessions, and of those among them that are in-process.
const MAX_PRIVATE: usize = 8;
const MAX_IN_PROC: usize = 3;

/// The number of stopped sessions whose file errors are kept.
const MAX_STOPPED: usize = 64;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Sessions {
    running: BTreeMap<u64, Arc<SessionCore>>,
    last: u64,
    /// The handles of the last stopped sessions whose file had an error, and the error.
    file_errors: VecDeque<(u64, String)>,
}

impl Sessions {
    /// Returns a new handle. As on Windows, its low 16 bits are the logger id.
    pub(super) fn next_handle(&mut self, logger_id: u16) -> u64 {
        self.last += 1;
        self.last << 16 | u64::from(logger_id)
    }

    /// Returns the smallest logger id that no session has, or 0 for the kernel logger.
    pub(super) fn logger_id(&self, name: &str) -> u16 {
        if name.eq_ignore_ascii_case(KERNEL_LOGGER_NAME) {
            return 0;
        }
        let is_free = |id: &u16| self.running.values().all(|session| session.logger_id != *id);
        (RESERVED..u16::MAX).find(is_free).unwrap_or(u16::MAX)
    }

    /// Checks whether another session can be started. Returns the first reason why not.
    pub(super) fn admit(&self, plan: &Plan, options: &EngineOptions) -> Result<(), Win32Error> {
        let requested = &plan.properties;
        let same = |session: &Arc<SessionCore>| {
            same_name(&session.name, &requested.name) || (!requested.guid.is_zero() && session.guid == requested.guid)
        };
        if self.running.values().any(same) {
            return Err(Win32Error::AlreadyExists);
        }
        if requested.log_file.as_deref().is_some_and(|path| self.writes(path)) {
            return Err(Win32Error::BadPathname);
        }
        let count = |which: &dyn Fn(&SessionCore) -> bool| self.running.values().filter(|core| which(core)).count();
        let with = |bits: u32| count(&|core| lock(&core.plan).has(bits));
        let full = self.running.len() >= options.max_sessions
            || (plan.is_system && count(&SessionCore::is_system) >= options.max_system_sessions)
            || (plan.has(mode::PRIVATE_LOGGER) && with(mode::PRIVATE_LOGGER) >= MAX_PRIVATE)
            || (plan.has(mode::PRIVATE_IN_PROC) && with(mode::PRIVATE_IN_PROC) >= MAX_IN_PROC);
        if full { Err(Win32Error::NoSystemResources) } else { Ok(()) }
    }

    /// Whether a session writes to this file.
    pub(super) fn writes(&self, path: &Path) -> bool {
        self.running.values().any(|core| lock(&core.plan).properties.log_file.as_deref() == Some(path))
    }

    pub(super) fn insert(&mut self, core: &Arc<SessionCore>) {
        self.running.insert(core.id, Arc::clone(core));
    }

    /// Removes a session that has stopped, and keeps the error of its file.
    pub(super) fn remove(&mut self, handle: u64, file_error: Option<String>) {
        if self.running.remove(&handle).is_none() {
            return;
        }
        self.file_errors.extend(file_error.map(|error| (handle, error)));
        if self.file_errors.len() > MAX_STOPPED {
            self.file_errors.pop_front();
        }
    }

    /// Returns the error of the file of a stopped session.
    pub(super) fn file_error(&self, handle: u64) -> Option<String> {
        self.file_errors.iter().find(|(stopped, _)| *stopped == handle).map(|(_, error)| error.clone())
    }

    pub(crate) fn get(&self, handle: u64) -> Option<Arc<SessionCore>> {
        self.running.get(&handle).cloned()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<SessionCore>> {
        self.running.values().find(|core| same_name(&core.name, name)).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<SessionCore>> {
        self.running.values().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }
}

/// Compares names without regard to case.
fn same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
