//! The threads that wait for dispatcher objects, and how a wait changes the objects that it acquires.
//!
//! An object that is signaled satisfies waits at once, in the order in which they began, although the threads continue
//! later. So a synchronization event that is set twice releases two threads, and a notification event that is set and
//! reset releases all.

use nt_processor::layout::{DISPATCHER_HEADER, KMUTANT};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use windows_constants::object::{
    EventSynchronizationObject, MutantObject, QueueObject, SemaphoreObject, TimerSynchronizationObject,
};

/// A dispatcher object of any kind.
pub type Waitable = GuestPtr<DISPATCHER_HEADER>;

/// A thread that waits for one or all of some dispatcher objects.
struct Waiter {
    /// Orders the waits by when they began.
    number: u64,
    thread: GuestPtr<Opaque>,
    objects: Vec<Waitable>,
    all: bool,
    /// The result, if the wait is satisfied. The thread may not have noticed yet.
    satisfied: Option<u32>,
}

/// The waits of all threads.
#[derive(Default)]
pub(super) struct Waiters {
    /// The waits by the addresses of their thread objects.
    by_thread: SortedMap<u64, Waiter>,
    /// The addresses of thread objects, by the address of an object and the number of the wait for it.
    by_object: SortedMap<(u64, u64), u64>,
    /// The number of waits so far.
    waits: u64,
}

impl Waiters {
    /// Acquires objects for a thread. Returns the result of its wait, or `None` if it has to wait; then it is among the
    /// waiting threads until a later call returns something else, or [`Self::remove`].
    pub(super) fn poll(
        &mut self,
        thread: GuestPtr<Opaque>,
        objects: &[Waitable],
        all: bool,
    ) -> Result<Option<u32>, Fault> {
        let waiter = self.by_thread.get(&thread.address());
        let is_waiting = waiter.is_some();
        let satisfied = waiter.and_then(|waiter| waiter.satisfied);
        let result = if satisfied.is_some() { Ok(satisfied) } else { acquire(objects, all, thread) };
        match (&result, is_waiting) {
            (Ok(None), false) => self.insert(thread, objects, all),
            (Ok(Some(_)) | Err(_), true) => {
                self.remove(thread);
            }
            _ => {}
        }
        result
    }

    fn insert(&mut self, thread: GuestPtr<Opaque>, objects: &[Waitable], all: bool) {
        self.waits += 1;
        let number = self.waits;
        self.by_object.extend(objects.iter().map(|object| ((object.address(), number), thread.address())));
        let waiter = Waiter { number, thread, objects: objects.to_vec(), all, satisfied: None };
        self.by_thread.insert(thread.address(), waiter);
    }

    /// Ends a thread's wait. Returns the result if the wait is satisfied.
    pub(super) fn remove(&mut self, thread: GuestPtr<Opaque>) -> Option<u32> {
        let waiter = self.by_thread.remove(&thread.address())?;
        for object in &waiter.objects {
            self.by_object.remove(&(object.address(), waiter.number));
        }
        waiter.satisfied
    }

    /// Satisfies the waits that an object allows now.
    pub(super) fn satisfy(&mut self, object: Waitable) {
        let waits = self.by_object.range((object.address(), 0)..=(object.address(), u64::MAX));
        for thread in waits.map(|(_, thread)| thread) {
            let waiter = self.by_thread.get_mut(thread).filter(|waiter| waiter.satisfied.is_none());
            if let Some(waiter) = waiter {
                // Its other objects may be gone. That is for the waiting thread to notice.
                waiter.satisfied = acquire(&waiter.objects, waiter.all, waiter.thread).unwrap_or_default();
            }
        }
    }
}

/// Returns whether a thread could acquire an object now.
fn is_free(object: Waitable, thread: GuestPtr<Opaque>) -> Result<bool, Fault> {
    Ok(object.SignalState().read()? > 0
        || (object.Type().read()? == MutantObject && object.cast::<KMUTANT>().OwnerThread().read()? == thread))
}

/// Changes the state of an object as a satisfied wait of a thread does.
fn take(object: Waitable, thread: GuestPtr<Opaque>) -> Result<(), Fault> {
    let state = object.SignalState();
    match object.Type().read()? {
        EventSynchronizationObject | TimerSynchronizationObject => state.write(0),
        QueueObject | SemaphoreObject => state.change(|state| state.wrapping_sub(1)).map(drop),
        MutantObject => {
            state.change(|state| state.wrapping_sub(1))?;
            object.cast::<KMUTANT>().OwnerThread().write(thread)
        }
        _ => Ok(()),
    }
}

/// Acquires one or all objects for a thread. Returns the index of the acquired object, or 0 for all, or `None` if they
/// are not free.
fn acquire(objects: &[Waitable], all: bool, thread: GuestPtr<Opaque>) -> Result<Option<u32>, Fault> {
    let mut free = Vec::new();
    for (index, object) in (0..).zip(objects) {
        match is_free(*object, thread)? {
            true => free.push((index, *object)),
            false if all => return Ok(None),
            false => {}
        }
    }
    if !all {
        free.truncate(1);
    }
    for (_, object) in &free {
        take(*object, thread)?;
    }
    Ok(if all { Some(0) } else { free.first().map(|(index, _)| *index) })
}
