//! Ctrl-C. Until a program handles interrupts itself, an interrupt ends it at once with
//! [`INTERRUPTED`](crate::exit::INTERRUPTED).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

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
