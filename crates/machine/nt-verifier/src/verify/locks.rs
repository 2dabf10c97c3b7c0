//! Which thread holds which lock, and in which order locks are acquired.
//!
//! Locks are identified by their addresses. For each pair of locks that was ever held at the same time, the order is
//! remembered. The opposite order is a potential deadlock.

use nt_processor::image;
use nt_processor::sorted::{SortedMap, SortedSet};

use super::{Breach, Kmdf, Rule, Wdm};

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// A spin lock.
    Spin,
    /// A queued spin lock.
    Queued,
    /// The cancel spin lock.
    Cancel,
    /// A spin lock of the framework.
    Framework,
    /// The lock of an interrupt object of the framework.
    Interrupt,
    /// A wait lock of the framework.
    Wait,
    /// A lock that does not raise the IRQL to `DISPATCH_LEVEL`.
    Mutex,
}

impl LockKind {
    /// Names Microsoft's rules about acquiring and releasing such a lock.
    pub fn breach(self, rule: Rule) -> Breach {
        let names: &[Wdm] = match self {
            Self::Spin if super::is_framework_driver() => {
                return Breach::from(rule).named_all(&[Kmdf::Spinlock, Kmdf::SpinlockDpc, Kmdf::SpinlockRelease]);
            }
            Self::Spin => &[Wdm::SpinLock, Wdm::SpinLockDpc, Wdm::SpinlockRelease],
            Self::Queued => &[Wdm::QueuedSpinLock, Wdm::QueuedSpinLockRelease],
            Self::Cancel => &[Wdm::CancelSpinLock, Wdm::CancelSpinlockRelease],
            Self::Framework => {
                return Breach::from(rule).named_all(&[Kmdf::WdfSpinlock, Kmdf::WdfSpinlockRelease]);
            }
            Self::Interrupt => {
                return Breach::from(rule).named_all(&[Kmdf::WdfInterruptLock, Kmdf::WdfInterruptLockRelease]);
            }
            Self::Wait => return Breach::from(rule).named_all(&[Kmdf::WdfWaitlock, Kmdf::WdfWaitlockRelease]),
            Self::Mutex => &[],
        };
        Breach::from(rule).named_all(names)
    }
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    address: u64,
    /// The return address of the call that acquired it.
    from: u64,
    kind: LockKind,
}

/// The locks of a run.
#[derive(Debug, Default)]
pub struct Locks {
    /// The locks that each thread holds.
    held: SortedMap<u32, Vec<Held>>,
    /// First lock, second lock, and the return address of the call that acquired the second.
    order: SortedMap<u64, SortedMap<u64, u64>>,
}

impl Locks {
    /// Records that a thread acquired a lock. Returns the address of the driver's code that acquires these locks in the
    /// opposite order, if there is any.
    pub fn acquired(&mut self, kind: LockKind, thread: u32, lock: u64, from: u64) -> Option<u64> {
        let held = self.held.get_or_default(thread);
        let before: Vec<u64> = held.iter().map(|held| held.address).collect();
        held.push(Held { address: lock, from, kind });
        let mut opposite = None;
        for first in before {
            opposite = opposite.or_else(|| self.path(lock, first));
            self.order.get_or_default(first).get_or_insert_with(lock, || from);
        }
        opposite
    }

    /// Returns the address of the code that acquired the last lock, if the recorded orders lead from one lock to the
    /// other.
    fn path(&self, from: u64, to: u64) -> Option<u64> {
        let mut seen = SortedSet::from_iter([from]);
        let mut pending = vec![from];
        while let Some(lock) = pending.pop() {
            for (next, site) in self.order.get(&lock).into_iter().flat_map(SortedMap::iter) {
                if *next == to {
                    return Some(*site);
                }
                if seen.insert(*next) {
                    pending.push(*next);
                }
            }
        }
        None
    }

    /// Records that a lock was released, by the thread that holds it or by another one.
    pub fn released(&mut self, thread: u32, lock: u64) {
        let holder = match self.held.get(&thread) {
            Some(held) if held.iter().any(|held| held.address == lock) => Some(thread),
            _ => self.held.iter().find(|(_, held)| held.iter().any(|held| held.address == lock)).map(|(t, _)| *t),
        };
        if let Some(held) = holder.and_then(|holder| self.held.get_mut(&holder)) {
            held.retain(|held| held.address != lock);
        }
    }

    /// Returns the number of locks that a thread holds.
    pub fn held_by(&self, thread: u32) -> usize {
        self.held.get(&thread).map_or(0, Vec::len)
    }

    /// Returns the kind of the lock that a thread acquired last and still holds, and the code that acquired it.
    pub fn newest_of(&self, thread: u32) -> Option<(LockKind, u64)> {
        self.held.get(&thread)?.last().map(|held| (held.kind, held.from))
    }

    /// Returns whether a thread holds a spin lock of any kind. A lock of a framework that is an image does not count: it
    /// is the framework that decides what a driver may do in a callback under this lock.
    pub fn holds_spin_lock(&self, thread: u32) -> bool {
        let is_spin = |held: &Held| !matches!(held.kind, LockKind::Mutex | LockKind::Wait);
        let held = self.held.get(&thread).into_iter().flatten();
        held.into_iter().any(|held| is_spin(held) && !image::is_framework(held.from))
    }

    /// Removes the held locks that `wanted` selects by the code that acquired them, and returns that code.
    pub fn take_held(&mut self, wanted: impl Fn(u64) -> bool) -> Vec<u64> {
        let held = self.held.values_mut().flat_map(|held| held.extract_if(.., |held| wanted(held.from)));
        held.map(|held| held.from).collect()
    }

    /// Forgets every order, because the memory of the locks is reused.
    pub fn forget_order(&mut self) {
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{LockKind, Locks};

    #[test]
    fn the_opposite_order_is_detected_on_any_thread() {
        let mut locks = Locks::default();
        assert_eq!(locks.acquired(LockKind::Mutex, 1, 0xA, 10), None);
        assert_eq!(locks.acquired(LockKind::Mutex, 1, 0xB, 11), None);
        locks.released(1, 0xB);
        locks.released(1, 0xA);
        assert_eq!(locks.acquired(LockKind::Mutex, 2, 0xB, 20), None);
        assert_eq!(locks.acquired(LockKind::Mutex, 2, 0xA, 21), Some(11));
    }

    #[test]
    fn a_circle_of_three_is_detected() {
        let mut locks = Locks::default();
        for (first, second) in [(1, 2), (2, 3)] {
            locks.acquired(LockKind::Mutex, 1, first, first);
            assert_eq!(locks.acquired(LockKind::Mutex, 1, second, second), None);
            locks.released(1, first);
            locks.released(1, second);
        }
        locks.acquired(LockKind::Mutex, 1, 3, 30);
        assert!(locks.acquired(LockKind::Mutex, 1, 1, 31).is_some());
    }

    #[test]
    fn held_locks_are_counted_and_returned() {
        let mut locks = Locks::default();
        locks.acquired(LockKind::Mutex, 1, 5, 50);
        assert_eq!(locks.held_by(1), 1);
        assert_eq!(locks.newest_of(1), Some((LockKind::Mutex, 50)));
        assert!(!locks.holds_spin_lock(1));
        locks.released(2, 5);
        assert_eq!(locks.held_by(1), 0);
        locks.acquired(LockKind::Mutex, 1, 5, 51);
        assert_eq!(locks.take_held(|_| true), [51]);
    }
}
