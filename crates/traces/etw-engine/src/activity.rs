//! Activity ids: creates new ones, and keeps those of threads and of I/O requests.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use etw_types::{Guid, NtStatus};
use windows_constants::tracing::{
    EVENT_ACTIVITY_CTRL_CREATE_ID, EVENT_ACTIVITY_CTRL_CREATE_SET_ID, EVENT_ACTIVITY_CTRL_GET_ID,
    EVENT_ACTIVITY_CTRL_GET_SET_ID, EVENT_ACTIVITY_CTRL_SET_ID,
};

use crate::log::Subject;
use crate::sync::lock;
use crate::{Engine, Routine};

/// Marks ids that an engine created; any fixed value would do.
const MARK: u16 = 0xE700;

/// The activity ids of one engine.
#[derive(Default)]
pub(crate) struct Activities {
    created: AtomicU64,
    threads: Mutex<HashMap<ThreadId, Guid>>,
    /// By the addresses of the requests.
    irps: Mutex<HashMap<u64, Guid>>,
}

impl Engine {
    /// `EtwActivityIdControl`: code 1 reads the thread's id into `id`, 2 sets it from `id`, 3 creates a new id, 4 sets
    /// the thread's id and returns the old one, 5 sets a newly created id and returns the old one.
    ///
    /// Returns `InvalidParameter` for any other code. On system threads, returns `NotSupported` for every code except 3
    /// (see [`Engine::set_system_threads`]). On failure `id` is unchanged.
    pub fn activity_id_control(&self, code: u32, id: &mut Guid) -> NtStatus {
        let stores = !self.inner().system_threads.load(Ordering::Relaxed);
        self.activity_control(code, id, stores)
    }

    /// `EventActivityIdControl`: the same in user mode, where every thread can store an id.
    pub fn user_activity_id_control(&self, code: u32, id: &mut Guid) -> NtStatus {
        self.activity_control(code, id, true)
    }

    /// Returns the activity id of the calling thread; zero until one is set. User mode uses it for events that are
    /// written without an activity id.
    #[must_use]
    pub fn thread_activity(&self) -> Guid {
        lock(&self.inner().activities.threads).get(&thread::current().id()).copied().unwrap_or(Guid::ZERO)
    }

    /// `IoGetActivityIdIrp`: returns the activity id of the I/O request at this address, if it has one.
    #[must_use]
    pub fn irp_activity(&self, irp: u64) -> Option<Guid> {
        lock(&self.inner().activities.irps).get(&irp).copied()
    }

    /// `IoSetActivityIdIrp`: sets the activity id of the I/O request at this address, or removes it when the request ends.
    pub fn set_irp_activity(&self, irp: u64, id: Option<Guid>) {
        let mut irps = lock(&self.inner().activities.irps);
        match id {
            Some(id) => drop(irps.insert(irp, id)),
            None => drop(irps.remove(&irp)),
        }
    }

    fn activity_control(&self, code: u32, id: &mut Guid, stores: bool) -> NtStatus {
        let subject = Subject::Control(code);
        self.run(Routine::ActivityIdControl, 0, subject, || match code {
            EVENT_ACTIVITY_CTRL_CREATE_ID => {
                *id = self.create_activity();
                NtStatus::Success
            }
            EVENT_ACTIVITY_CTRL_GET_ID
            | EVENT_ACTIVITY_CTRL_SET_ID
            | EVENT_ACTIVITY_CTRL_GET_SET_ID
            | EVENT_ACTIVITY_CTRL_CREATE_SET_ID
                if !stores =>
            {
                NtStatus::NotSupported
            }
            EVENT_ACTIVITY_CTRL_GET_ID => {
                *id = self.thread_activity();
                NtStatus::Success
            }
            EVENT_ACTIVITY_CTRL_SET_ID => {
                self.replace_activity(*id);
                NtStatus::Success
            }
            EVENT_ACTIVITY_CTRL_GET_SET_ID => {
                *id = self.replace_activity(*id);
                NtStatus::Success
            }
            EVENT_ACTIVITY_CTRL_CREATE_SET_ID => {
                *id = self.replace_activity(self.create_activity());
                NtStatus::Success
            }
            _ => NtStatus::InvalidParameter,
        })
    }

    fn replace_activity(&self, id: Guid) -> Guid {
        lock(&self.inner().activities.threads).insert(thread::current().id(), id).unwrap_or(Guid::ZERO)
    }

    /// Creates an id that is never zero and is unique in this process.
    pub fn create_activity(&self) -> Guid {
        let inner = self.inner();
        let count = inner.activities.created.fetch_add(1, Ordering::Relaxed);
        let [a, b, c, d, e, f, g, h] = count.to_be_bytes();
        Guid::from_fields(
            u32::from_be_bytes([e, f, g, h]),
            u16::from_be_bytes([c, d]),
            MARK | u16::from_be_bytes([a, b]),
            inner.number.to_be_bytes(),
        )
    }
}
