//! Threads that are used again: starting one takes longer than most requests.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread as std_thread;

use nt_kernel::lock;
use nt_verifier::verify;

/// A function to run once, and what is dropped when its thread can run the next one.
type Task = (Box<dyn FnOnce() + Send>, Sender<()>);

/// The threads without a task.
#[derive(Default)]
pub(super) struct Spare(Mutex<Vec<Sender<Task>>>);

impl Spare {
    /// Runs a function on a thread without a task, or on a new one. Drops `done` afterwards.
    pub(super) fn run(&'static self, function: impl FnOnce() + Send + 'static, done: Sender<()>) {
        let thread = lock(&self.0).pop().unwrap_or_else(|| self.start());
        // The thread exists as long as it has a task, so it takes this one.
        let _ = thread.send((Box::new(function), done));
    }

    fn start(&'static self) -> Sender<Task> {
        let (sender, tasks) = mpsc::channel::<Task>();
        let own = sender.clone();
        let serve = move || {
            for (function, done) in tasks {
                function();
                lock(&self.0).push(own.clone());
                drop(done);
            }
        };
        if let Err(error) = std_thread::Builder::new().name("client".into()).spawn(serve) {
            verify::refused_with("a thread", &error);
        }
        sender
    }
}
