//! The current span of each thread.
//!
//! The kernel has no thread-local storage for drivers, so a table in the image has an entry for each span that a thread
//! has entered. It works without locks at any IRQL:
//!
//! - The thread's address selects a row. Only the thread itself adds its entries, or code that interrupts it and ends
//!   before it continues. So a thread, and what interrupts it, sees its entries in the order of its own program.
//! - An entry has one owner from the change of `thread` from 0 until it is 0 again. `span` is set after that and is
//!   removed first, by one compare-exchange, so that an entry is removed once even if two threads try.
//! - A span can be left on another thread than the one that entered it. That thread searches the whole table.
//! - If a row is full, the entries of spans that are closed are removed. If it is still full, the span is not recorded:
//!   its events belong to the span around it, and the span counts that, so that leaving it removes no entry of another
//!   thread.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use tracing_core::span::Id;

use crate::spans;

/// The number of rows in the table.
const ROWS: usize = 64;

/// The number of entries in a row: how many spans a thread can have entered, if no other thread shares the row.
const ENTRIES: usize = 16;

/// A span that a thread has entered.
struct Entry {
    /// The thread, or 0 while the entry is free.
    thread: AtomicUsize,
    /// The span's id, or 0 while the entry is added or removed.
    span: AtomicU64,
    /// Higher than those of the spans that the thread entered before.
    order: AtomicU32,
}

static TABLE: [[Entry; ENTRIES]; ROWS] = [const {
    [const { Entry { thread: AtomicUsize::new(0), span: AtomicU64::new(0), order: AtomicU32::new(0) } }; ENTRIES]
}; ROWS];

/// An entry of a thread, as it was read.
struct Entered {
    entry: &'static Entry,
    span: u64,
    order: u32,
}

impl Entry {
    /// Returns what the entry contains if it belongs to `thread`.
    fn read(&'static self, thread: usize) -> Option<Entered> {
        if self.thread.load(Ordering::Relaxed) != thread {
            return None;
        }
        let span = self.span.load(Ordering::Relaxed);
        (span != 0).then(|| Entered { entry: self, span, order: self.order.load(Ordering::Relaxed) })
    }

    /// Frees the entry if it is that of `span`. Returns `false` if it is not, or no longer.
    fn remove(&self, span: u64) -> bool {
        let is_removed = self.span.compare_exchange(span, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_removed {
            self.thread.store(0, Ordering::Release);
        }
        is_removed
    }
}

/// Returns the row of a thread.
fn row(thread: usize) -> &'static [Entry] {
    // Thread objects are large. The product mixes the bits above their alignment into the bits that select the row.
    let mixed = (thread as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - ROWS.trailing_zeros());
    TABLE.get(usize::try_from(mixed).unwrap_or_default()).map_or(&[], |row| row)
}

/// Returns the entries of a thread, in no particular order.
fn entered(thread: usize) -> impl Iterator<Item = Entered> {
    row(thread).iter().filter_map(move |entry| entry.read(thread))
}

/// Returns the span that the thread entered last and has not left.
pub(crate) fn current(thread: usize) -> Option<Id> {
    let newest = entered(thread).max_by_key(|entered| entered.order)?;
    spans::open_id(newest.span)
}

/// Records that a thread entered a span. Returns `false` if the span is open and there is no room.
pub(crate) fn enter(thread: usize, span: &Id) -> bool {
    if !spans::is_open(span) {
        return true;
    }
    let order = entered(thread).map(|entered| entered.order.saturating_add(1)).max().unwrap_or_default();
    let row = row(thread);
    let free = claim(row, thread).or_else(|| {
        remove_closed(row);
        claim(row, thread)
    });
    let Some(entry) = free else {
        spans::enter_unrecorded(span);
        return false;
    };
    entry.order.store(order, Ordering::Relaxed);
    entry.span.store(span.into_u64(), Ordering::Relaxed);
    true
}

/// Takes a free entry.
fn claim(row: &'static [Entry], thread: usize) -> Option<&'static Entry> {
    row.iter().find(|entry| entry.thread.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok())
}

/// Removes the entries of spans that were closed while they were entered.
fn remove_closed(row: &[Entry]) {
    for entry in row {
        let span = entry.span.load(Ordering::Relaxed);
        if span != 0 && spans::open_id(span).is_none() {
            entry.remove(span);
        }
    }
}

/// Records that a span was left: the newest entry of this thread for it, otherwise an entry of another thread.
pub(crate) fn exit(thread: usize, span: &Id) {
    let id = span.into_u64();
    let own = entered(thread).filter(|entered| entered.span == id).max_by_key(|entered| entered.order);
    if own.is_some_and(|own| own.entry.remove(id)) || spans::exit_unrecorded(span) {
        return;
    }
    let _ = TABLE.iter().flatten().any(|entry| entry.remove(id));
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::vec::Vec;

    use tracing_core::span::Id;
    use tracing_core::{Callsite, Interest, Kind, Level, Metadata, field, identify_callsite};

    use super::{ENTRIES, current, enter, exit};
    use crate::spans;

    struct Site;
    static SITE: Site = Site;
    static METADATA: Metadata<'static> = Metadata::new(
        "span",
        "target",
        Level::INFO,
        None,
        None,
        None,
        field::FieldSet::new(&[], identify_callsite!(&SITE)),
        Kind::SPAN,
    );

    impl Callsite for Site {
        fn set_interest(&self, _: Interest) {}

        fn metadata(&self) -> &Metadata<'_> {
            &METADATA
        }
    }

    /// The tables are statics, so the tests run one at a time.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open() -> Id {
        spans::open(&METADATA).expect("room for a span")
    }

    const HERE: usize = 0xFFFF_8000_0000_1000;
    const THERE: usize = 0xFFFF_8000_0002_3000;

    #[test]
    fn the_span_entered_last_and_not_left_is_current() {
        let _turn = turn();
        let outer = open();
        let inner = open();
        assert_eq!(current(HERE), None);
        assert!(enter(HERE, &outer));
        assert!(enter(HERE, &inner));
        assert_eq!(current(HERE), Some(inner.clone()));
        assert_eq!(current(THERE), None, "another thread has none");
        // Left in another order than entered.
        exit(HERE, &outer);
        assert_eq!(current(HERE), Some(inner.clone()));
        exit(HERE, &inner);
        assert_eq!(current(HERE), None);
        spans::close(&outer);
        spans::close(&inner);
    }

    #[test]
    fn a_span_that_is_entered_again_is_current_until_it_is_left_as_often() {
        let _turn = turn();
        let outer = open();
        let inner = open();
        for span in [&outer, &inner, &outer] {
            assert!(enter(HERE, span));
        }
        assert_eq!(current(HERE), Some(outer.clone()));
        exit(HERE, &outer);
        assert_eq!(current(HERE), Some(inner.clone()), "the last entry of the span was removed, not the first");
        exit(HERE, &inner);
        assert_eq!(current(HERE), Some(outer.clone()));
        exit(HERE, &outer);
        assert_eq!(current(HERE), None);
        spans::close(&outer);
        spans::close(&inner);
    }

    #[test]
    fn a_span_left_on_another_thread_is_left_where_it_was_entered() {
        let _turn = turn();
        let outer = open();
        let moved = open();
        assert!(enter(HERE, &outer));
        assert!(enter(HERE, &moved));
        assert!(enter(THERE, &outer));
        exit(THERE, &moved);
        assert_eq!(current(HERE), Some(outer.clone()));
        assert_eq!(current(THERE), Some(outer.clone()));
        exit(THERE, &outer);
        assert_eq!(current(HERE), Some(outer.clone()), "a thread leaves its own entry first");
        exit(HERE, &outer);
        spans::close(&outer);
        spans::close(&moved);
    }

    #[test]
    fn a_full_row_keeps_its_entries_and_a_closed_span_makes_room() {
        let _turn = turn();
        let spans: Vec<Id> = (0..ENTRIES).map(|_| open()).collect();
        for span in &spans {
            assert!(enter(HERE, span));
        }
        let beyond = open();
        assert!(enter(THERE, &beyond));
        assert!(!enter(HERE, &beyond), "the row is full");
        assert_eq!(current(HERE), spans.last().cloned());
        exit(HERE, &beyond);
        assert_eq!(current(THERE), Some(beyond.clone()), "the entry of another thread is not removed in its place");

        // Closed without being left.
        spans::close(&spans[3]);
        assert!(enter(HERE, &beyond));
        assert_eq!(current(HERE), Some(beyond.clone()));
        exit(HERE, &beyond);
        exit(THERE, &beyond);
        spans::close(&beyond);
        for span in &spans {
            exit(HERE, span);
            spans::close(span);
        }
        assert_eq!(current(HERE), None);
        assert_eq!(current(THERE), None);
    }

    #[test]
    fn a_closed_span_is_not_current() {
        let _turn = turn();
        let span = open();
        assert!(enter(HERE, &span));
        spans::close(&span);
        assert_eq!(current(HERE), None);
        assert!(enter(HERE, &span), "nothing to record");
        exit(HERE, &span);
        assert_eq!(current(HERE), None);
    }

    #[test]
    fn threads_that_enter_and_leave_the_same_spans_leave_no_entries() {
        let _turn = turn();
        let shared = open();
        std::thread::scope(|scope| {
            for index in 0..4_usize {
                let shared = &shared;
                scope.spawn(move || {
                    let thread = HERE + index * 0x100;
                    let own = open();
                    for _ in 0..200 {
                        assert!(enter(thread, shared));
                        assert!(enter(thread, &own));
                        assert_eq!(current(thread), Some(own.clone()));
                        exit(thread, &own);
                        assert_eq!(current(thread), Some(shared.clone()));
                        exit(thread, shared);
                    }
                    assert_eq!(current(thread), None);
                    spans::close(&own);
                });
            }
        });
        spans::close(&shared);
    }
}
