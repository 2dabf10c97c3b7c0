//! Several allocations that end at the same time, such as the buffers of a request: their pages become inaccessible together, in
//! one system call if they are next to each other.

use std::cell::RefCell;

use crate::{kernel, lock};

thread_local! {
    /// The pages that this thread has given back in [`together`], by their starts and sizes.
    static HELD: RefCell<Option<Vec<(u64, u64)>>> = const { RefCell::new(None) };
}

/// Runs `body`, which runs no code of the driver. What this thread frees meanwhile is inaccessible afterwards.
pub fn together(body: impl FnOnce()) {
    HELD.set(Some(Vec::with_capacity(4)));
    body();
    if let Some(mut held) = HELD.take() {
        lock(&kernel().pool).close(&mut held);
    }
}

/// Leaves pages to [`together`]. Returns `false` if this thread does not run it.
pub(super) fn hold(start: u64, size: u64) -> bool {
    HELD.with_borrow_mut(|held| held.as_mut().map(|held| held.push((start, size))).is_some())
}
