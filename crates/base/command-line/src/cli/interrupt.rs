//! Ctrl-C. Until a program handles interrupts itself, an interrupt removes what is incomplete and ends it at once with
//! [`INTERRUPTED`](crate::exit::INTERRUPTED).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Whether an interrupt ends the program at once.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
/// Whether there was an interrupt that did not end the program.
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// Makes an interrupt end the program with [`INTERRUPTED`](crate::exit::INTERRUPTED). On Windows this does nothing:
/// the system ends the program.
pub(crate) fn watch() {
    #[cfg(unix)]
    {
        use signal_hook::{consts::SIGINT, flag};
        // An error can be ignored: without a handler the signal also ends the program.
        let _ = flag::register_conditional_shutdown(SIGINT, crate::exit::INTERRUPTED.into(), Arc::clone(&ENDS));
        let _ = flag::register(SIGINT, Arc::clone(&INTERRUPTED));
    }
}

/// From now on the program handles interrupts itself, and an interrupt no longer ends it.
pub fn handles_interrupts() {
    ENDS.store(false, Ordering::SeqCst);
}

/// While this exists, an interrupt does not end the program: the work that must not be left half-done asks for it and
/// cleans up.
#[derive(Debug)]
pub struct Deferred(());

impl Deferred {
    /// Defers interrupts from now on.
    #[must_use = "interrupts end the program again when this is dropped"]
    pub fn begin() -> Self {
        ENDS.store(false, Ordering::SeqCst);
        Self(())
    }

    /// Whether there was an interrupt. The program must end with [`INTERRUPTED`](crate::exit::INTERRUPTED) soon.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::SeqCst)
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        ENDS.store(true, Ordering::SeqCst);
    }
}

/// Incomplete files and folders, which an interrupt removes.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An incomplete file or folder. While this exists, an interrupt removes it before it ends the program. In a program that handles
/// interrupts itself, and on Windows, this does nothing.
#[derive(Debug)]
pub struct Partial(Option<PathBuf>);

impl Partial {
    /// Creates something whose path an interrupt removes from now on. Without a path, as for a device, there is nothing to remove.
    ///
    /// # Errors
    ///
    /// The error of `make`.
    pub fn create<T, E>(
        make: impl FnOnce() -> Result<T, E>,
        path: impl FnOnce(&T) -> Option<PathBuf>,
    ) -> Result<(T, Self), E> {
        // The thread that removes it waits for this lock.
        let mut partial = PARTIAL.lock().unwrap_or_else(PoisonError::into_inner);
        let is_handled = partial.is_empty() && !ENDS.load(Ordering::SeqCst);
        if is_handled || !remover::is_running() {
            return Ok((make()?, Self(None)));
        }
        ENDS.store(false, Ordering::SeqCst);
        let created = make().map(|created| {
            let path = path(&created);
            partial.extend(path.clone());
            (created, Self(path))
        });
        resume(&partial);
        created
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let Some(path) = &self.0 else { return };
        let mut partial = PARTIAL.lock().unwrap_or_else(PoisonError::into_inner);
        partial.retain(|other| other != path);
        resume(&partial);
    }
}

/// If nothing is incomplete any more, lets interrupts end the program again, as one does that came meanwhile.
fn resume(partial: &[PathBuf]) {
    if partial.is_empty() {
        ENDS.store(true, Ordering::SeqCst);
        if INTERRUPTED.load(Ordering::SeqCst) {
            std::process::exit(crate::exit::INTERRUPTED.into());
        }
    }
}

/// A thread that waits for interrupts, because a signal handler can neither lock nor remove a folder.
#[cfg(unix)]
mod remover {
    use std::fs;
    use std::sync::{LazyLock, PoisonError};
    use std::thread;

    use signal_hook::consts::SIGINT;
    use signal_hook::iterator::Signals;

    use super::PARTIAL;

    /// Starts the thread if there is none. Without it, an interrupt ends the program and leaves the files.
    pub(super) fn is_running() -> bool {
        static RUNS: LazyLock<bool> = LazyLock::new(|| {
            let Ok(mut signals) = Signals::new([SIGINT]) else { return false };
            let remove = move || signals.forever().for_each(|_| remove_all());
            thread::Builder::new().name("interrupts".into()).spawn(remove).is_ok()
        });
        *RUNS
    }

    /// Removes everything that is incomplete and ends the program. Nothing can be completed meanwhile.
    fn remove_all() {
        let partial = PARTIAL.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &*partial {
            // The program may still add files to a folder.
            let _ = fs::remove_file(path).is_ok() || (0..3).any(|_| fs::remove_dir_all(path).is_ok());
        }
        if !partial.is_empty() {
            std::process::exit(crate::exit::INTERRUPTED.into());
        }
    }
}

#[cfg(not(unix))]
mod remover {
    pub(super) fn is_running() -> bool {
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use signal_hook::{consts::SIGINT, low_level::raise};

    use super::{Deferred, watch};

    #[test]
    fn an_interrupt_does_not_end_work_that_defers_it() {
        watch();
        let deferred = Deferred::begin();
        assert!(!deferred.is_interrupted());
        raise(SIGINT).unwrap();
        assert!(deferred.is_interrupted());
    }
}
