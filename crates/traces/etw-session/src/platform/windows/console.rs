//! The console of a tool: interrupts and colours.

use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::System::Console::{
    ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode, GetStdHandle, STD_ERROR_HANDLE, STD_HANDLE, STD_OUTPUT_HANDLE,
    SetConsoleCtrlHandler, SetConsoleMode,
};
use windows_sys::core::BOOL;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HANDLED: AtomicBool = AtomicBool::new(false);

/// Returns whether the user pressed Ctrl-C or closed the window since the first call. From the first call on, these no
/// longer end the process, so that it can stop its sessions; Windows would let the sessions run.
pub fn interrupted() -> bool {
    if !HANDLED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler is a function that exists as long as the process and may run on any thread.
        unsafe { SetConsoleCtrlHandler(Some(on_interrupt), 1) };
    }
    INTERRUPTED.load(Ordering::Relaxed)
}

unsafe extern "system" fn on_interrupt(_event: u32) -> BOOL {
    INTERRUPTED.store(true, Ordering::Relaxed);
    1
}

/// Returns whether the console shows colours. Older consoles must be configured for it.
#[must_use]
pub fn shows_colours() -> bool {
    let has_output = turn_on(STD_OUTPUT_HANDLE);
    let has_error = turn_on(STD_ERROR_HANDLE);
    has_output || has_error
}

/// Enables the processing of colour sequences for one stream.
fn turn_on(stream: STD_HANDLE) -> bool {
    // SAFETY: the function has no preconditions. For a missing stream it returns a null or invalid handle, which the
    // next call rejects.
    let handle = unsafe { GetStdHandle(stream) };
    let mut mode = 0;
    // SAFETY: `mode` is writable; a handle that is not a console is rejected.
    if unsafe { GetConsoleMode(handle, &raw mut mode) } == 0 {
        return false;
    }
    // SAFETY: the handle refers to a console.
    unsafe { SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0 }
}
