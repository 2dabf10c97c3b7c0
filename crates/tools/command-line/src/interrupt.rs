//! Ctrl-C. Until a program handles interrupts itself, an interrupt ends it at once with
//! [`INTERRUPTED`](crate::exit::INTERRUPTED).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Whether an interrupt ends the program at once.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Makes an interrupt end the program with [`INTERRUPTED`](crate::exit::INTERRUPTED). On Windows this does nothing:
/// the system ends the program.
pub(crate) fn watch() {
    #[cfg(unix)]
    {
        use signal_hook::{consts::SIGINT, flag};
        // An error can be ignored: without a handler the signal also ends the program.
        let _ = flag::register_conditional_shutdown(SIGINT, crate::exit::INTERRUPTED.into(), Arc::clone(&ENDS));
    }
}

/// From now on the program handles interrupts itself, and an interrupt no longer ends it.
pub fn handles_interrupts() {
    ENDS.store(false, Ordering::SeqCst);
}
