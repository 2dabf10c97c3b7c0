//! Registering and unregistering from several threads: at most one registration, and no handle is lost.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32 as Counter, Ordering};
use loom::thread;

use crate::provider::state::{Lifecycle, Refusal};

/// A lifecycle, and the operating system's side of it: the number of registrations.
struct Model {
    lifecycle: Lifecycle,
    alive: Counter,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self { lifecycle: Lifecycle::new(), alive: Counter::new(0) })
    }

    /// Does the same as `Provider::register`, with a system that always succeeds.
    fn register(&self) -> Result<(), Refusal> {
        self.lifecycle.begin_register()?;
        let alive = self.alive.fetch_add(1, Ordering::SeqCst);
        assert_eq!(alive, 0, "registered twice");
        self.lifecycle.restore_handle(7);
        self.lifecycle.end_registered();
        Ok(())
    }

    /// Does the same as `Provider::unregister`.
    fn unregister(&self) -> Result<(), Refusal> {
        self.lifecycle.begin_unregister()?;
        assert_eq!(self.lifecycle.take_handle(), 7, "the handle of the registration");
        let alive = self.alive.fetch_sub(1, Ordering::SeqCst);
        assert_eq!(alive, 1, "unregistered twice");
        self.lifecycle.end_idle();
        Ok(())
    }
}

#[test]
fn two_threads_that_register_and_unregister_leave_nothing() {
    loom::model(|| {
        let model = Model::new();
        let other = {
            let model = model.clone();
            thread::spawn(move || {
                let _ = model.register();
                let _ = model.unregister();
            })
        };
        let _ = model.register();
        let _ = model.unregister();
        other.join().unwrap();
        // The last call may have failed as busy. One more call ends a registration that is left.
        let left = model.unregister();
        assert_ne!(left, Err(Refusal::Busy));
        assert_eq!(model.alive.load(Ordering::SeqCst), 0);
        assert_eq!(model.lifecycle.handle(), 0);
    });
}

#[test]
fn of_two_registrations_at_once_exactly_one_succeeds() {
    loom::model(|| {
        let model = Model::new();
        let other = {
            let model = model.clone();
            thread::spawn(move || model.register())
        };
        let mine = model.register();
        let theirs = other.join().unwrap();
        assert_eq!([mine, theirs].iter().filter(|result| result.is_ok()).count(), 1);
        assert_eq!(model.unregister(), Ok(()));
    });
}

#[test]
fn of_two_unregistrations_at_once_exactly_one_succeeds() {
    loom::model(|| {
        let model = Model::new();
        assert_eq!(model.register(), Ok(()));
        let other = {
            let model = model.clone();
            thread::spawn(move || model.unregister())
        };
        let mine = model.unregister();
        let theirs = other.join().unwrap();
        assert_eq!([mine, theirs].iter().filter(|result| result.is_ok()).count(), 1);
        assert_eq!(model.alive.load(Ordering::SeqCst), 0);
    });
}

/// A failed unregistration gives the handle back: the provider is still registered and can be unregistered again.
#[test]
fn a_restored_handle_is_seen_by_the_next_unregister() {
    loom::model(|| {
        let model = Model::new();
        assert_eq!(model.register(), Ok(()));
        let other = {
            let model = model.clone();
            thread::spawn(move || {
                if model.lifecycle.begin_unregister().is_ok() {
                    let handle = model.lifecycle.take_handle();
                    model.lifecycle.restore_handle(handle);
                    model.lifecycle.end_registered();
                }
            })
        };
        let mine = model.unregister();
        other.join().unwrap();
        if mine.is_err() {
            assert_eq!(model.unregister(), Ok(()));
        }
        assert_eq!(model.alive.load(Ordering::SeqCst), 0);
    });
}
