//! Synchronisation: time and the scheduler, the IRQL, dispatcher objects, DPCs, locks, threads.

pub mod dpc;
pub mod event;
mod filter_locks;
mod interleave;
pub mod irql;
pub mod process;
mod queue;
pub mod resource;
pub mod scheduler;
mod shared_lock;
mod sleepers;
pub mod spinlock;
mod state;
pub mod thread;
pub mod timer;
mod turns;
pub mod waiters;
pub mod worker;

use nt_verifier::routine::Routine;

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
