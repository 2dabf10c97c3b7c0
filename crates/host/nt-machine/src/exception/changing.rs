//! A client that changes its buffer while the driver uses it: after the driver's first read of some bytes, they have
//! another value. A driver that checks what it reads from a program, and then reads it again, does not notice.
//!
//! The pages of the buffer are inaccessible until the bytes are read. The fault handler makes them accessible for one
//! instruction, which runs with the trap flag set, and decides in the trap after it. The driver must read the buffer on
//! the thread of its client, as it must on Windows.

use std::cell::Cell;

use super::interrupted::Context;
use crate::memory::{GuestPtr, PAGE, Protection, protect};

/// The maximum number of bytes that an instruction reads at once, except for wide vector instructions.
const WIDEST: u64 = 16;
/// The number of bytes that change.
const WIDTH: u64 = 4;

/// A buffer whose bytes will change.
#[derive(Clone, Copy)]
struct Buffer {
    /// Its pages.
    start: u64,
    size: u64,
    /// The address of the bytes, and their later value.
    at: u64,
    value: u32,
}

thread_local! {
    /// The offset and the later value of the bytes that change in the next buffer.
    static NEXT: Cell<Option<(u32, u32)>> = const { Cell::new(None) };
    static BUFFER: Cell<Option<Buffer>> = const { Cell::new(None) };
    /// Whether the instruction that runs with the trap flag set reads the bytes; `None` if there is no such instruction.
    static STEP: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Makes four bytes of the next buffer change.
pub(crate) fn request(offset: u32, value: u32) {
    NEXT.set(Some((offset, value)));
}

/// Runs `body`, during which the driver gets the buffer of a program. If its bytes are to change, they do. `restore` makes
/// the pages from an address accessible again, unless the buffer was freed meanwhile: the driver may complete its request in
/// `body`, on this thread or another one.
pub(crate) fn during<R>(
    buffer: GuestPtr<u8>,
    length: u64,
    body: impl FnOnce() -> R,
    restore: impl FnOnce(u64, u64),
) -> R {
    let Some((offset, value)) = NEXT.take().filter(|(offset, _)| u64::from(*offset) + WIDTH <= length) else {
        return body();
    };
    let start = buffer.address() / PAGE * PAGE;
    let size = buffer.at(length).address().next_multiple_of(PAGE) - start;
    protect(start, size, Protection::None);
    BUFFER.set(Some(Buffer { start, size, at: buffer.at(offset.into()).address(), value }));
    let result = body();
    if let Some(Buffer { start, size, .. }) = BUFFER.take() {
        restore(start, size);
    }
    result
}

/// Returns whether an address is in a buffer whose bytes will change, so that it exists but cannot be read without a fault.
pub(crate) fn is_watched(address: u64) -> bool {
    BUFFER.get().is_some_and(|buffer| address.wrapping_sub(buffer.start) < buffer.size)
}

/// Called when pages were freed: from now on, an access of this thread to them is a mistake of the driver.
pub(crate) fn withdrawn(start: u64, size: u64) {
    if BUFFER.get().is_some_and(|buffer| start < buffer.start + buffer.size && buffer.start < start + size) {
        BUFFER.set(None);
    }
}

/// Lets an instruction access the buffer, after a page fault at an address. Returns whether the fault was such an access.
pub(super) fn begin(address: u64, writes: bool, context: &mut Context<'_>) -> bool {
    let Some(Buffer { start, size, at, .. }) = BUFFER.get() else { return false };
    if address < start || address - start >= size {
        return false;
    }
    let reads = !writes && address < at + WIDTH && address + WIDEST > at;
    context.step(true);
    STEP.set(Some(reads));
    protect(start, size, Protection::ReadWrite)
}

/// Changes the bytes after the instruction that read them, or makes the buffer inaccessible again. Returns whether there
/// was such an instruction.
pub(super) fn end(context: &mut Context<'_>) -> bool {
    let Some(reads) = STEP.take() else { return false };
    context.step(false);
    if let Some(Buffer { start, size, at, value }) = BUFFER.get() {
        if reads {
            BUFFER.set(None);
            let _ = GuestPtr::<u32>::new(at).write(value);
        } else {
            protect(start, size, Protection::None);
        }
    }
    true
}
