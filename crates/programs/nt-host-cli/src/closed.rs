//! Whether the program was started without a standard output (`>&-`).
//!
//! Rust's runtime opens `/dev/null` in its place before `main`, so that later files do not get its number. The output would then
//! be lost without an error. So this looks before the runtime does.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// The C library calls the functions of this section before `main`. They may have fewer parameters than it passes.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: the call only returns a number.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Returns whether there was no standard output.
pub(super) fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
