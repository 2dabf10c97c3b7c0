//! A client that changes its buffer while the driver uses it: after the driver's first read of some bytes, they have
//! another value. A driver that checks what it reads from a program, and then reads it again, does not notice.
//!
//! The pages of the buffer are inaccessible until the bytes are read, or the buffer is freed with its request. The fault
//! handler makes them accessible for one instruction, which runs with the trap flag set, and decides in the trap after it.
//! Any thread may read: a driver can lock the buffer in the client's thread and use it in another one. What a run does must
//! not depend on which of them comes first.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nt_processor::layer_state::{LayerState, lock_from_handler};
use nt_processor::memory::{GuestPtr, PAGE, Protection, protect};

use super::interrupted::Context;

/// The maximum number of bytes that an instruction reads at once, except for wide vector instructions.
const WIDEST: u64 = 16;
/// The number of bytes that change.
const WIDTH: u64 = 4;

/// A buffer whose bytes will change or have changed. It ends when the buffer is freed.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Its pages.
    start: u64,
    size: u64,
    /// The address of the bytes, and their later value.
    at: u64,
    value: u32,
    is_changed: bool,
}

impl Buffer {
    const fn contains(&self, address: u64) -> bool {
        address >= self.start && address - self.start < self.size
    }

    /// Makes the pages accessible if the bytes have changed.
    fn protect(&self) {
        protect(self.start, self.size, if self.is_changed { Protection::ReadWrite } else { Protection::None });
    }
}

/// An instruction that runs with the trap flag set: the buffer's first page, and whether it reads the bytes.
#[derive(Clone, Copy)]
struct Step {
    start: u64,
    reads: bool,
}

/// The buffers that change.
#[derive(Debug, Default)]
pub struct Buffers(Mutex<Vec<Buffer>>);

static BUFFERS: LayerState<Buffers> = LayerState::new();

/// Sets the place for the buffers. Later calls have no effect.
pub fn attach(buffers: &'static Buffers) {
    BUFFERS.attach(buffers);
}

/// Returns the buffers, if a machine was started.
fn buffers() -> Option<MutexGuard<'static, Vec<Buffer>>> {
    Some(BUFFERS.find()?.0.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the buffers for the handler of a fault.
fn buffers_from_handler() -> Option<MutexGuard<'static, Vec<Buffer>>> {
    lock_from_handler(&BUFFERS.find()?.0)
}

thread_local! {
    /// The offset and the later value of the bytes that change in the next buffer.
    static NEXT: Cell<Option<(u32, u32)>> = const { Cell::new(None) };
    static STEP: Cell<Option<Step>> = const { Cell::new(None) };
}

/// Makes four bytes of the next buffer change.
pub fn request(offset: u32, value: u32) {
    NEXT.set(Some((offset, value)));
}

/// Called when the driver is about to get the buffer of a program. If its bytes are to change, they will.
pub fn watch(buffer: GuestPtr<u8>, length: u64) {
    let Some((offset, value)) = NEXT.take().filter(|(offset, _)| u64::from(*offset) + WIDTH <= length) else { return };
    let start = buffer.address() / PAGE * PAGE;
    let size = buffer.at(length).address().next_multiple_of(PAGE) - start;
    let buffer = Buffer { start, size, at: buffer.at(offset.into()).address(), value, is_changed: false };
    if let Some(mut buffers) = buffers() {
        buffers.push(buffer);
        buffer.protect();
    }
}

/// Returns whether an address is in a buffer whose bytes will change, so that it exists but cannot be read without a fault.
pub fn is_watched(address: u64) -> bool {
    buffers().is_some_and(|buffers| buffers.iter().any(|buffer| buffer.contains(address)))
}

/// Called before the memory of an allocation is freed: an access to it is a mistake of the driver from now on. Other
/// allocations can be in the same pages.
pub fn freed(start: u64, size: u64) {
    let Some(mut buffers) = buffers() else { return };
    buffers.retain(|buffer| {
        let is_over = start <= buffer.at && buffer.at < start + size;
        if is_over {
            protect(buffer.start, buffer.size, Protection::ReadWrite);
        }
        !is_over
    });
}

/// Lets an instruction access the buffer, after a page fault at an address. Returns whether the fault was such an access.
pub(super) fn begin(address: u64, writes: bool, context: &mut Context<'_>) -> bool {
    let Some(buffers) = buffers_from_handler() else { return false };
    let Some(buffer) = buffers.iter().find(|buffer| buffer.contains(address)) else { return false };
    // If another thread has just read the bytes, the instruction works now.
    if !buffer.is_changed {
        let reads = !writes && address < buffer.at + WIDTH && address + WIDEST > buffer.at;
        context.step(true);
        STEP.set(Some(Step { start: buffer.start, reads }));
    }
    protect(buffer.start, buffer.size, Protection::ReadWrite)
}

/// Changes the bytes after the instruction that read them, or makes the buffer inaccessible again. Returns whether there
/// was such an instruction.
pub(super) fn end(context: &mut Context<'_>) -> bool {
    let Some(Step { start, reads }) = STEP.take() else { return false };
    context.step(false);
    let Some(mut buffers) = buffers_from_handler() else { return true };
    // The buffer may have been freed meanwhile.
    let Some(buffer) = buffers.iter_mut().find(|buffer| buffer.start == start) else { return true };
    if reads && !buffer.is_changed {
        let _ = GuestPtr::<u32>::new(buffer.at).write(buffer.value);
        buffer.is_changed = true;
    }
    buffer.protect();
    true
}
