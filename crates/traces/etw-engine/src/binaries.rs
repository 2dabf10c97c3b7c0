//! Reports the paths of providers' binaries to the sessions that track them.
//!
//! `TraceProviderBinaryTracking` (class 18 of a session) tracks every provider that the session has enabled or will
//! enable. `EventProviderBinaryTrackInfo` (class 0 of a registration) tracks one provider for every session that
//! enables it. Both write a record of the session's own provider, type `WMI_LOG_TYPE_BINARY_PATH`, which maps the
//! provider's GUID to a path: the full path for a user-mode process, the file name for a driver, as the class's
//! documentation says. The documentation also says that a file has these records at its start; the engine leaves them
//! where they were written (our choice). Each registration is reported to a session once.

use std::collections::BTreeSet;

use etw_etl::format::stack::binary_path;
use etw_types::Guid;
use etw_types::session::info::BinaryTracking;

use crate::session::SessionCore;
use crate::state::{Registration, State};
use crate::sync::{lock, read};
use crate::{Engine, Session};

/// A registration whose binary is to be reported to a session.
struct TrackedBinary {
    handle: u64,
    provider: Guid,
    process_id: u32,
    path: String,
}

impl TrackedBinary {
    /// Returns what is known about the binary of a registration, or `None` if nothing is known.
    fn from_registration(handle: u64, registration: &Registration) -> Option<Self> {
        let origin = &registration.origin;
        let path = match &origin.path {
            Some(path) if origin.is_user_mode => path.clone(),
            Some(path) => path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned(),
            None => origin.image.clone(),
        };
        let known = !path.is_empty();
        known.then(|| Self { handle, provider: registration.provider, process_id: origin.process_id, path })
    }
}

impl Engine {
    /// Reports to every session the tracked binaries that it does not know yet. Call this after registrations, requests
    /// or tracking have changed.
    pub(crate) fn report_binaries(&self) {
        for session in self.sessions() {
            self.report_to(&session);
        }
    }

    fn report_to(&self, session: &Session) {
        let all = lock(&session.core.information).get().is_some_and(|BinaryTracking(is_on)| is_on);
        let state = read(&self.inner().state);
        let wanted: Vec<TrackedBinary> = wanted(&state, &session.core, all);
        drop(state);
        let processor = self.options().environment.processor();
        let now = self.now();
        for binary in wanted {
            if lock(&session.core.reported).insert(binary.handle) && !session.core.report(processor, now, &binary) {
                // No buffer was free. The next change tries again.
                lock(&session.core.reported).remove(&binary.handle);
            }
        }
    }
}

/// The registrations that the session enabled, whose binary is tracked and was not reported yet.
fn wanted(state: &State, session: &SessionCore, all: bool) -> Vec<TrackedBinary> {
    let reported: BTreeSet<u64> = lock(&session.reported).clone();
    state
        .registrations()
        .filter(|(handle, registration)| (all || registration.tracked) && !reported.contains(handle))
        .filter(|(_, registration)| state.reaches(session.id(), registration))
        .filter_map(|(handle, registration)| TrackedBinary::from_registration(handle, registration))
        .collect()
}

impl SessionCore {
    fn report(&self, processor: u16, now: u64, binary: &TrackedBinary) -> bool {
        let record = binary_path(self.stamp(now), binary.process_id, &binary.provider, &binary.path);
        record.is_some_and(|record| self.note(processor, &record))
    }
}
