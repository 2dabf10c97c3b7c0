//! Waits for a debugger that attaches to the driver's process.

use std::fs;
use std::thread;
use std::time::Duration;

/// How often to look for a debugger.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until a debugger is attached to this process and continues it. If the parent ends first, the thread that handles requests ends the process.
pub(crate) fn wait_for_debugger() {
    allow_all();
    while !is_traced() {
        thread::sleep(LOOK);
    }
}

/// Allows every process of the same user to attach. With Yama, a security module of Linux, only a parent may otherwise.
fn allow_all() {
    // SAFETY: the call takes numbers only. It fails without Yama, where nothing has to be allowed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
}

/// Returns whether a debugger is attached.
fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}
