//! Writes to pages that are not writable.

use super::{GuestPtr, PAGE, Protection, protect};

/// Writes bytes of one page, whatever its access rights are, and keeps these rights. Returns whether the bytes were
/// written. Signal handlers may call this.
pub(crate) fn poke(address: u64, bytes: &[u8]) -> bool {
    // The system lets a process write to its own pages in this way, as it lets a debugger. The file is opened for each
    // write, because it stays the memory of this process in one that is forked later.
    // SAFETY: the path is a C string.
    let memory = unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    // SAFETY: the bytes are readable, and the system checks the address.
    let written = unsafe { libc::pwrite(memory, bytes.as_ptr().cast(), bytes.len(), address.cast_signed()) };
    // SAFETY: the file was opened above, and nothing else uses it.
    unsafe { libc::close(memory) };
    if usize::try_from(written) == Ok(bytes.len()) {
        return true;
    }
    // A system that does not allow this: the page becomes writable.
    protect(address / PAGE * PAGE, PAGE, Protection::All) && GuestPtr::<u8>::new(address).write_all(bytes).is_ok()
}
