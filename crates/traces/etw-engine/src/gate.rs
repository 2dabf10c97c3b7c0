//! The lock of each provider GUID: serialises its callbacks, and detects deadlocks instead of running into them.
//!
//! In the kernel, a provider's callback runs under a lock of its GUID, and registering or unregistering that GUID takes
//! the same lock. A driver that does so inside its callback hangs. Here the same operation fails at once: a thread that
//! would wait for itself, directly or through other threads, gets [`Blocked`].
//!
//! All gates of one operation are entered together or not at all, so two operations on overlapping sets of GUIDs cannot
//! block each other. A thread must not hold any other lock of the engine while it waits here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use etw_types::Guid;

use crate::sync::lock;

/// The gates of one engine.
#[derive(Default)]
pub(crate) struct Gates {
    table: Mutex<Table>,
    freed: Condvar,
}

/// Why waiting for a gate would never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// This thread is already inside the gate of this GUID.
    Own(Guid),
    /// The thread inside the gate of this GUID waits for this thread, directly or through other threads.
    Cycle(Guid),
}

/// The right to run the callbacks of some GUIDs. The gates are released on drop.
pub(crate) struct Pass<'a> {
    gates: &'a Gates,
    guids: BTreeSet<Guid>,
}

#[derive(Default)]
struct Table {
    owners: BTreeMap<Guid, ThreadId>,
    waiting: HashMap<ThreadId, BTreeSet<Guid>>,
}

impl Gates {
    /// Waits until no thread is inside any of the gates, then enters all of them.
    pub(crate) fn enter(&self, guids: BTreeSet<Guid>) -> Result<Pass<'_>, Blocked> {
        let me = thread::current().id();
        let mut table = lock(&self.table);
        loop {
            if let Some(blocked) = table.blocked(&guids, me) {
                table.waiting.remove(&me);
                return Err(blocked);
            }
            if table.owners_of(&guids).next().is_none() {
                table.waiting.remove(&me);
                table.owners.extend(guids.iter().map(|&guid| (guid, me)));
                return Ok(Pass { gates: self, guids });
            }
            table.waiting.insert(me, guids.clone());
            table = self.wait(table);
        }
    }

    fn wait<'a>(&self, table: MutexGuard<'a, Table>) -> MutexGuard<'a, Table> {
        self.freed.wait(table).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Whether every one of `guids` is behind a gate of this pass.
    pub(crate) fn covers(&self, guids: &BTreeSet<Guid>) -> bool {
        guids.is_subset(&self.guids)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut table = lock(&self.gates.table);
        for guid in &self.guids {
            table.owners.remove(guid);
        }
        drop(table);
        self.gates.freed.notify_all();
    }
}

impl Table {
    fn owners_of<'a>(&'a self, guids: &'a BTreeSet<Guid>) -> impl Iterator<Item = (Guid, ThreadId)> + 'a {
        guids.iter().filter_map(|guid| self.owners.get(guid).map(|&owner| (*guid, owner)))
    }

    /// Returns the gate at which `me` would wait for itself if it waited for `guids`, or `None` if it would not.
    fn blocked(&self, guids: &BTreeSet<Guid>, me: ThreadId) -> Option<Blocked> {
        self.owners_of(guids).find_map(|(guid, owner)| {
            if owner == me {
                Some(Blocked::Own(guid))
            } else {
                self.waits_for(owner, me).then_some(Blocked::Cycle(guid))
            }
        })
    }

    fn waits_for(&self, thread: ThreadId, me: ThreadId) -> bool {
        let mut seen = HashSet::new();
        let mut todo = vec![thread];
        while let Some(thread) = todo.pop() {
            if thread == me {
                return true;
            }
            if seen.insert(thread)
                && let Some(wanted) = self.waiting.get(&thread)
            {
                todo.extend(self.owners_of(wanted).map(|(_, owner)| owner));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::thread;

    use etw_types::Guid;

    use super::{Blocked, Gates};

    const A: Guid = Guid::from_u128(1);
    const B: Guid = Guid::from_u128(2);

    fn set(guids: &[Guid]) -> BTreeSet<Guid> {
        guids.iter().copied().collect()
    }

    #[test]
    fn a_gate_is_free_again_after_its_pass_is_dropped() {
        let gates = Gates::default();
        drop(gates.enter(set(&[A])));
        assert!(gates.enter(set(&[A, B])).is_ok());
    }

    #[test]
    fn entering_twice_on_one_thread_is_refused() {
        let gates = Gates::default();
        let pass = gates.enter(set(&[A, B])).ok();
        assert_eq!(gates.enter(set(&[B])).err(), Some(Blocked::Own(B)));
        drop(pass);
        assert!(gates.enter(set(&[B])).is_ok());
    }

    #[test]
    fn two_threads_that_want_each_others_gate_do_not_hang() {
        let gates = Gates::default();
        let inside = Barrier::new(2);
        let attempt = |mine: Guid, other: Guid| {
            let pass = gates.enter(set(&[mine]));
            inside.wait();
            let second = gates.enter(set(&[other])).err();
            drop(pass);
            second
        };
        let (first, second) = thread::scope(|scope| {
            let thread = scope.spawn(|| attempt(A, B));
            let here = attempt(B, A);
            (thread.join().ok().flatten(), here)
        });
        // The thread that waits last closes the cycle and is refused; the other one continues.
        assert!(matches!((first, second), (Some(Blocked::Cycle(B)), None) | (None, Some(Blocked::Cycle(A)))));
    }
}
