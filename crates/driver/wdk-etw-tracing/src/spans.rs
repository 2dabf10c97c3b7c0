//! The table of open spans: the number of handles of each span, and the metadata for its stop event.

use core::num::NonZeroU64;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use tracing_core::Metadata;
use tracing_core::span::Id;

/// The maximum number of open spans.
///
/// ```
/// const { assert!(wdk_etw_tracing::SPANS >= 64, "the requests that this driver takes at a time") };
/// ```
pub const SPANS: usize = 128;

/// The number of low bits of an id that are the index of the entry. The bits above them are a number that is never
/// reused.
const INDEX_BITS: u32 = SPANS.trailing_zeros() + 1;

struct Span {
    /// The id, or 0 while the entry is free.
    id: AtomicU64,
    handles: AtomicU32,
    /// How often the span was entered without a place in the table of current spans.
    unrecorded: AtomicU32,
    /// The call site's `Metadata<'static>`.
    metadata: AtomicPtr<()>,
}

static TABLE: [Span; SPANS] = [const {
    Span {
        id: AtomicU64::new(0),
        handles: AtomicU32::new(0),
        unrecorded: AtomicU32::new(0),
        metadata: AtomicPtr::new(ptr::null_mut()),
    }
}; SPANS];

/// The number of the next span, so that no id is used twice.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The id of all spans that do not fit into the table.
const LOST: u64 = 1 << (INDEX_BITS - 1);

/// Marks an entry that is being written. No span has this id.
const RESERVED: u64 = u64::MAX;

/// Adds a span with one handle. Returns `None` if the table is full.
pub(crate) fn open(metadata: &'static Metadata<'static>) -> Option<Id> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let start = usize::try_from(number).unwrap_or_default();
    let (index, span) = (0..SPANS)
        .map(|step| (start.wrapping_add(step)) % SPANS)
        .filter_map(|index| TABLE.get(index).map(|span| (index, span)))
        .find(|(_, span)| span.id.compare_exchange(0, RESERVED, Ordering::Acquire, Ordering::Relaxed).is_ok())?;
    let id = (number << INDEX_BITS) | u64::try_from(index).unwrap_or_default();
    span.handles.store(1, Ordering::Relaxed);
    span.unrecorded.store(0, Ordering::Relaxed);
    span.metadata.store(ptr::from_ref(metadata).cast_mut().cast(), Ordering::Relaxed);
    span.id.store(id, Ordering::Release);
    NonZeroU64::new(id).map(Id::from_non_zero_u64)
}

/// Returns the id of a span that does not fit into the table.
pub(crate) fn lost() -> Id {
    Id::from_non_zero_u64(NonZeroU64::MIN.saturating_add(LOST - 1))
}

/// Returns whether a span with this id is open.
pub(crate) fn is_open(id: &Id) -> bool {
    find(id).is_some()
}

/// Returns the id of a span from its number, if the span is open.
pub(crate) fn open_id(number: u64) -> Option<Id> {
    let id = Id::from_non_zero_u64(NonZeroU64::new(number)?);
    is_open(&id).then_some(id)
}

/// Counts that a span was entered without being recorded.
pub(crate) fn enter_unrecorded(id: &Id) {
    if let Some(span) = find(id) {
        span.unrecorded.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns whether a span was entered without being recorded, and removes that from the count.
pub(crate) fn exit_unrecorded(id: &Id) -> bool {
    let less = |count: u32| count.checked_sub(1);
    find(id).is_some_and(|span| span.unrecorded.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok())
}

/// Adds a handle to a span.
pub(crate) fn clone(id: &Id) {
    if let Some(span) = find(id) {
        span.handles.fetch_add(1, Ordering::Relaxed);
    }
}

/// Removes a handle from a span. If it was the last one, removes the span and returns its metadata.
pub(crate) fn close(id: &Id) -> Option<&'static Metadata<'static>> {
    let span = find(id)?;
    if span.handles.fetch_sub(1, Ordering::AcqRel) != 1 {
        return None;
    }
    let metadata = metadata_of(span);
    span.id.store(0, Ordering::Release);
    metadata
}

/// Returns the metadata of an open span.
pub(crate) fn metadata(id: &Id) -> Option<&'static Metadata<'static>> {
    find(id).and_then(metadata_of)
}

fn metadata_of(span: &Span) -> Option<&'static Metadata<'static>> {
    let metadata = span.metadata.load(Ordering::Relaxed).cast_const().cast::<Metadata<'static>>();
    // SAFETY: null, or made from a `&'static Metadata<'static>` in `open`.
    unsafe { metadata.as_ref() }
}

fn find(id: &Id) -> Option<&'static Span> {
    let id = id.into_u64();
    let index = usize::try_from(id & ((1 << INDEX_BITS) - 1)).ok()?;
    TABLE.get(index).filter(|span| span.id.load(Ordering::Acquire) == id)
}
