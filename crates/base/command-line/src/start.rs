//! Looks at standard output before Rust's runtime does: it opens `/dev/null` in place of one that is missing, so that later files
//! do not get its number. The output would then be lost without an error.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

static HAD_STDOUT: AtomicBool = AtomicBool::new(true);
const STDOUT_FILENO: c_int = 1;
const F_GETFD: c_int = 1;

unsafe extern "C" {
    fn fcntl(file: c_int, command: c_int, ...) -> c_int;
}

/// The C library calls the functions of this section before `main`. They may have fewer parameters than it passes.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: the C library has this function with this signature. The command has no third argument, and only returns flags.
    let flags = unsafe { fcntl(STDOUT_FILENO, F_GETFD) };
    HAD_STDOUT.store(flags != -1, Ordering::Relaxed);
}

/// Returns whether the program was started with a standard output.
pub(crate) fn had_stdout() -> bool {
    HAD_STDOUT.load(Ordering::Relaxed)
}
