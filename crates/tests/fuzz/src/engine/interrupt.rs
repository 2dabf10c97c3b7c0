//! Ctrl-C as a wish: it is noted, and the run ends at the next input.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed since [`watch`].
pub(super) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// From here on, Ctrl-C does not end the process.
#[cfg(unix)]
pub(super) fn watch() {
    const SIGINT: i32 = 2;

    extern "C" fn note(_: i32) {
        ASKED.store(true, Ordering::Relaxed);
    }

    unsafe extern "C" {
        fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    }

    // SAFETY: `signal` is C's own, linked with every program; the handler only stores to an atomic, which is allowed in
    // any state of the process.
    unsafe { signal(SIGINT, note) };
}

/// From here on, Ctrl-C does not end the process.
#[cfg(windows)]
pub(super) fn watch() {
    extern "system" fn note(_: u32) -> i32 {
        ASKED.store(true, Ordering::Relaxed);
        1
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
    }

    // SAFETY: the declaration is that of consoleapi.h; the handler runs on a thread of its own and only stores to an atomic.
    unsafe { SetConsoleCtrlHandler(note, 1) };
}

/// Ctrl-C cannot be caught here: it ends the process, without a summary.
#[cfg(not(any(unix, windows)))]
pub(super) fn watch() {}
