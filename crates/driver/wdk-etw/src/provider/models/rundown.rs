//! Rundown protection: a registration is freed only when no caller uses it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::provider::rundown::Rundown;

/// A rundown protection, and the registration that it protects: freed or not. Its accesses are relaxed, so that only the
/// protection can order them.
struct Model {
    rundown: Rundown,
    is_freed: AtomicBool,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self { rundown: Rundown::new(), is_freed: AtomicBool::new(false) })
    }

    /// Does the same as a writer. Returns whether it may write.
    fn write(&self) -> bool {
        let is_in = self.rundown.acquire();
        if is_in {
            assert!(!self.is_freed.load(Ordering::Relaxed), "written to a registration that is freed");
            self.rundown.release();
        }
        is_in
    }

    /// Does the same as `Provider::unregister`.
    fn unregister(&self) {
        self.rundown.run_down(thread::yield_now);
        self.is_freed.store(true, Ordering::Relaxed);
    }

    /// Does the same as `Provider::register`.
    fn register(&self) {
        self.is_freed.store(false, Ordering::Relaxed);
        self.rundown.open();
    }
}

#[test]
fn a_registration_is_not_freed_while_a_thread_writes() {
    loom::model(|| {
        let model = Model::new();
        let writer = {
            let model = model.clone();
            thread::spawn(move || model.write())
        };
        model.unregister();
        let _ = writer.join().unwrap();
        assert!(!model.write(), "nobody writes after it");
    });
}

#[test]
fn a_registration_is_not_freed_while_two_threads_write() {
    // All orders of three threads are too many. This bound still switches in the middle of each of them.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let model = Model::new();
        let writers = [(); 2].map(|()| {
            let model = model.clone();
            thread::spawn(move || model.write())
        });
        model.unregister();
        for writer in writers {
            let _ = writer.join().unwrap();
        }
        assert!(!model.write(), "nobody writes after it");
    });
}

#[test]
fn a_registration_that_is_made_again_can_be_written_to() {
    loom::model(|| {
        let model = Model::new();
        let writer = {
            let model = model.clone();
            thread::spawn(move || model.write())
        };
        model.unregister();
        model.register();
        let _ = writer.join().unwrap();
        assert!(model.write());
        model.unregister();
    });
}
