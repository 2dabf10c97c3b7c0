//! Ctrl-C before a program handles it by itself: it ends at once, with the exit code of the family.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Whether the program ends at once.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// From now on an interrupt ends the program with [`INTERRUPTED`](crate::exit::INTERRUPTED). On Windows the system does that.
pub(crate) fn watch() {
    #[cfg(unix)]
    {
        use signal_hook::{consts::SIGINT, flag};
        // Without a handler the signal ends the program, too.
        let _ = flag::register_conditional_shutdown(SIGINT, crate::exit::INTERRUPTED.into(), Arc::clone(&ENDS));
    }
}

/// From now on the program itself handles interrupts.
pub fn handles_interrupts() {
    ENDS.store(false, Ordering::SeqCst);
}
