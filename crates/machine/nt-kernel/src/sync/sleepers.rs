//! The threads that wait, and what wakes each of them.

use std::sync::{Arc, Condvar};

use nt_processor::sorted::{SortedMap, SortedSet};

/// What a thread waits for, apart from its deadline. Only threads that may be able to continue are woken, so that a
/// thousand waiting threads cost nothing while others run.
pub(super) enum Channel {
    /// Anything: it checks the state after each change.
    Any,
    /// A change of one of these dispatcher objects, or the end of a request of the framework with this handle.
    Objects(Vec<u64>),
    /// Nothing.
    Time,
}

/// A waiting thread.
pub(super) struct Sleeper {
    pub(super) deadline: Option<u64>,
    pub(super) channel: Channel,
    /// Wakes the thread.
    pub(super) bell: Arc<Condvar>,
    /// It was woken and has not checked the state yet.
    pub(super) woken: bool,
}

/// The waiting threads by number, and the same threads by what they wait for.
#[derive(Default)]
pub(super) struct Sleepers {
    all: SortedMap<u32, Sleeper>,
    any: SortedSet<u32>,
    by_object: SortedMap<u64, SortedSet<u32>>,
    deadlines: SortedSet<(u64, u32)>,
    /// The number of threads that were woken and have not checked the state yet.
    woken: usize,
}

impl Sleepers {
    pub(super) fn insert(&mut self, thread: u32, sleeper: Sleeper) {
        match &sleeper.channel {
            Channel::Any => drop(self.any.insert(thread)),
            Channel::Objects(objects) => {
                for object in objects {
                    self.by_object.get_or_default(*object).insert(thread);
                }
            }
            Channel::Time => {}
        }
        self.deadlines.extend(sleeper.deadline.map(|deadline| (deadline, thread)));
        self.all.insert(thread, sleeper);
    }

    pub(super) fn remove(&mut self, thread: u32) {
        let Some(sleeper) = self.all.remove(&thread) else { return };
        self.woken -= usize::from(sleeper.woken);
        self.any.remove(&thread);
        if let Some(deadline) = sleeper.deadline {
            self.deadlines.remove(&(deadline, thread));
        }
        let Channel::Objects(objects) = sleeper.channel else { return };
        for object in objects {
            let Some(threads) = self.by_object.get_mut(&object) else { continue };
            threads.remove(&thread);
            if threads.is_empty() {
                self.by_object.remove(&object);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether a thread was woken that has not checked the state yet.
    pub(super) const fn is_one_woken(&self) -> bool {
        self.woken != 0
    }

    /// Returns whether this thread was woken and has not checked the state yet.
    pub(super) fn is_woken(&self, thread: u32) -> bool {
        self.all.get(&thread).is_some_and(|sleeper| sleeper.woken)
    }

    pub(super) fn first_deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    fn wake(&mut self, thread: u32) {
        if let Some(sleeper) = self.all.get_mut(&thread).filter(|sleeper| !sleeper.woken) {
            self.woken += 1;
            sleeper.woken = true;
            sleeper.bell.notify_one();
        }
    }

    /// Wakes the threads that wait for anything.
    pub(super) fn wake_any(&mut self) {
        for thread in self.any.iter().copied().collect::<Vec<_>>() {
            self.wake(thread);
        }
    }

    /// Wakes the threads that wait for an object, and those that wait for anything.
    pub(super) fn wake_object(&mut self, object: u64) {
        let waiting = self.by_object.get(&object).into_iter().flat_map(SortedSet::iter);
        let threads: Vec<u32> = waiting.chain(self.any.iter()).copied().collect();
        for thread in threads {
            self.wake(thread);
        }
    }

    /// Wakes the threads whose deadline has come.
    pub(super) fn wake_due(&mut self, now: u64) {
        let due = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now).map(|(_, thread)| *thread);
        for thread in due.collect::<Vec<_>>() {
            self.wake(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Channel, Sleeper, Sleepers};

    fn sleeper(deadline: Option<u64>, channel: Channel) -> Sleeper {
        Sleeper { deadline, channel, bell: std::sync::Arc::default(), woken: false }
    }

    fn woken(sleepers: &Sleepers) -> Vec<u32> {
        let woken = sleepers.all.iter().filter(|(_, sleeper)| sleeper.woken).map(|(thread, _)| *thread);
        let woken: Vec<u32> = woken.collect();
        assert_eq!(sleepers.is_one_woken(), !woken.is_empty());
        woken
    }

    #[test]
    fn a_change_of_an_object_wakes_only_the_threads_that_it_concerns() {
        let mut sleepers = Sleepers::default();
        sleepers.insert(1, sleeper(None, Channel::Objects(vec![100, 200])));
        sleepers.insert(2, sleeper(None, Channel::Objects(vec![300])));
        sleepers.insert(3, sleeper(Some(50), Channel::Time));
        assert_eq!(woken(&sleepers), [0; 0]);
        sleepers.wake_object(200);
        assert_eq!(woken(&sleepers), [1]);
        sleepers.remove(1);
        assert_eq!(woken(&sleepers), [0; 0]);
        sleepers.wake_object(200);
        sleepers.wake_due(49);
        assert_eq!(woken(&sleepers), [0; 0]);
        sleepers.wake_due(50);
        assert_eq!(woken(&sleepers), [3]);
        sleepers.insert(4, sleeper(None, Channel::Any));
        sleepers.wake_object(700);
        assert_eq!(woken(&sleepers), [3, 4], "a thread that waits for anything is woken by any object");
        sleepers.remove(4);
        sleepers.insert(4, sleeper(None, Channel::Any));
        sleepers.wake_any();
        assert_eq!(woken(&sleepers), [3, 4]);
    }
}
