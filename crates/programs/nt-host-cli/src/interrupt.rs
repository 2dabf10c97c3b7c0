//! Ctrl-C, SIGTERM and SIGHUP: make the driver's process end the run and keeps the trace so far. A second Ctrl-C ends everything at once.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nt_machine::END_RUN;

/// The process that runs the driver.
static CHILD: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes interrupts end the run in the child process, instead of this process.
pub(super) fn watch(child: u32) {
    CHILD.store(child.cast_signed(), Ordering::SeqCst);
    install();
}

/// Makes the first interrupt one that [`was_interrupted`] reports, instead of the end of this process.
pub(super) fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: all bytes are zero, which is a valid value of each field: integers, an empty set, no restorer.
        let action = unsafe { action.assume_init_mut() };
        action.sa_sigaction = (on_interrupt as *const ()).expose_provenance();
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the structure is complete, and the handler has the signature that the flags require. If the call
        // fails, an interrupt ends this process, and the child then exits by itself.
        unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
    }
}

/// Returns whether there was an interrupt.
pub(super) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

extern "C" fn on_interrupt(_: i32) {
    // 0 would be every process of this group.
    let child = Some(CHILD.load(Ordering::SeqCst)).filter(|child| *child != 0);
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        // SAFETY: this child has not been waited for, so the process ID is still its own.
        child.map(|child| unsafe { libc::kill(child, libc::SIGKILL) });
        // SAFETY: exits this process, which a signal handler may do.
        unsafe { libc::_exit(130) };
    }
    // SAFETY: as above. The child ends its run and replies.
    child.map(|child| unsafe { libc::kill(child, END_RUN) });
}
