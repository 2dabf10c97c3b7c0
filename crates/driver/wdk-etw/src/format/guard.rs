//! Limits recursion: formatting can log, which formats again.
//!
//! Text is formatted by other code (`Display` and `Debug`), which may itself log. The kernel has no thread-local
//! storage for a counter, so a thread is recorded in a table while it formats:
//!
//! - The key is the thread's object. Code that interrupts a thread (an APC, a DPC, an interrupt) has the same object
//!   and may log too. Therefore a thread can have [`DEPTH`] entries and not only one. Beyond that, the text is not
//!   formatted.
//! - Only the thread itself adds and removes its entries, or code that interrupts it and ends before it continues. So
//!   the count that a thread reads is exact, whatever other processors do. No lock is needed: entries are single
//!   atomics.
//! - A thread's entries are in one row of the table, which its address selects. If the row is full, the thread is
//!   treated as if it had too many entries: the text is omitted, but the event is written.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::backend::Mode;

/// Maximum number of entries of a thread: itself, interrupted by an APC, a DPC and an interrupt, or nested as deep.
const DEPTH: usize = 4;

/// The number of rows in the table.
const ROWS: usize = 128;

/// The number of entries in a row. They fill one cache line.
const ENTRIES: usize = 8;

/// A row of the table. An entry is 0 or the address of a thread that formats.
#[repr(align(64))]
struct Row([AtomicUsize; ENTRIES]);

static TABLE: [Row; ROWS] = [const { Row([const { AtomicUsize::new(0) }; ENTRIES]) }; ROWS];

/// Permission to format, until it is dropped.
#[derive(Debug)]
pub struct Formatting<M: Mode> {
    entry: &'static AtomicUsize,
    mode: PhantomData<fn() -> M>,
}

impl<M: Mode> Formatting<M> {
    /// Returns a permission to format, or `None` if the thread has too many entries.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn enter() -> Option<Self> {
        Self::enter_as(M::current_thread())
    }

    fn enter_as(thread: usize) -> Option<Self> {
        // Thread objects are large. The product mixes the bits above their alignment into the bits that select the row.
        let mixed = (thread as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - ROWS.trailing_zeros());
        let Row(row) = TABLE.get(usize::try_from(mixed).unwrap_or_default())?;
        if row.iter().filter(|entry| entry.load(Ordering::Relaxed) == thread).count() >= DEPTH {
            return None;
        }
        let free =
            row.iter().find(|entry| entry.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok())?;
        Some(Self { entry: free, mode: PhantomData })
    }
}

impl<M: Mode> Drop for Formatting<M> {
    fn drop(&mut self) {
        self.entry.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::{DEPTH, ENTRIES, Formatting, ROWS};
    use crate::Kernel;

    #[test]
    fn a_thread_may_enter_as_often_as_interrupts_can_nest() {
        let mut entered: Vec<_> = (0..DEPTH).map(|_| Formatting::<Kernel>::enter_as(0x1000)).collect();
        assert!(entered.iter().all(Option::is_some));
        assert!(Formatting::<Kernel>::enter_as(0x1000).is_none());
        entered.pop();
        assert!(Formatting::<Kernel>::enter_as(0x1000).is_some(), "leaving makes room");
        assert!(Formatting::<Kernel>::enter_as(0x1000).is_some(), "and leaves by being dropped");
        drop(entered);

        // Miri takes minutes to fill the table, and the code above already covers what Miri can check.
        if cfg!(miri) {
            return;
        }
        // The table is global, so this is part of the same test: a full row accepts no more entries, and is empty again
        // later.
        let threads = (1..).map(|index| 0xFFFF_8000_0000_0000 + index * 0x40);
        let mut entered = Vec::new();
        let mut refused = 0;
        for thread in threads.take(10 * ENTRIES * ROWS) {
            match Formatting::<Kernel>::enter_as(thread) {
                Some(guard) => entered.push(guard),
                None => refused += 1,
            }
        }
        assert!(entered.len() > ENTRIES * ROWS / 2, "rows are used evenly: {}", entered.len());
        assert!(refused > 0);
        drop(entered);
        assert!(Formatting::<Kernel>::enter_as(0xFFFF_8000_0000_0040).is_some());
    }
}
