//! Synchronisation: time and the scheduler, the IRQL, dispatcher objects, DPCs, locks, threads.

pub(crate) mod dpc;
pub(crate) mod event;
mod filter_locks;
mod interleave;
pub(crate) mod irql;
pub(crate) mod process;
mod queue;
pub(crate) mod resource;
pub(crate) mod scheduler;
mod shared_lock;
mod sleepers;
pub(crate) mod spinlock;
mod state;
pub(crate) mod thread;
pub(crate) mod timer;
mod turns;
pub(crate) mod waiters;
pub(crate) mod worker;

use crate::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[
    dpc::ROUTINES,
    event::ROUTINES,
    filter_locks::ROUTINES,
    irql::ROUTINES,
    process::ROUTINES,
    queue::ROUTINES,
    resource::ROUTINES,
    shared_lock::ROUTINES,
    spinlock::ROUTINES,
    thread::ROUTINES,
    timer::ROUTINES,
];
