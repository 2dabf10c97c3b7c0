//! Ctrl-C: the driver's process is told to end the run, and what was traced so far is kept. The second time everything
//! ends at once.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nt_machine::END_RUN;

/// The process that runs the driver.
static CHILD: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt ends the run of this process, not this one.
pub(super) fn watch(child: u32) {
    CHILD.store(child.cast_signed(), Ordering::SeqCst);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: every byte is zero, which is a valid value for each field: integers, an empty set, no restorer.
        let action = unsafe { action.assume_init_mut() };
        action.sa_sigaction = (on_interrupt as *const ()).expose_provenance();
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the structure is complete; the handler has the form that the flags promise. Without it an interrupt
        // ends this process, and the child then ends by itself.
        unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
    }
}

/// Whether there was an interrupt.
pub(super) fn came() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

extern "C" fn on_interrupt(_: i32) {
    let child = CHILD.load(Ordering::SeqCst);
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        // SAFETY: a child of this process that was not waited for, so that the number is still its own.
        unsafe { libc::kill(child, libc::SIGKILL) };
        // SAFETY: ends this process, which a handler may do.
        unsafe { libc::_exit(130) };
    }
    // SAFETY: as before; the child ends its run and answers.
    unsafe { libc::kill(child, END_RUN) };
}
