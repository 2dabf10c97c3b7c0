//! A table with the metadata of call sites. It is encoded when a call site is first used.
//!
//! The table is a static and needs no lock. An entry belongs to the first call site that takes it and is never freed.
//! The thread that changes its state from `EMPTY` to `FILLING` writes the metadata. After the state is `READY`, the
//! entry does not change, and every thread can read it.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use tracing_core::Metadata;

use crate::values::Shape;

/// The number of call sites in the table.
///
/// ```
/// const { assert!(wdk_etw_tracing::SITES >= 32, "the call sites of this driver") };
/// ```
pub const SITES: usize = 64;

/// Maximum size of the metadata in an entry, in bytes.
const SIZE: usize = 256;

/// The number of entries that are tried for a call site.
const TRIES: usize = 8;

const EMPTY: u8 = 0;
const FILLING: u8 = 1;
const READY: u8 = 2;

/// The metadata of a call site for events of one shape.
struct Encoded {
    shape: Shape,
    bytes: [u8; SIZE],
    length: usize,
}

struct Site {
    /// The call site's `Metadata`, or null.
    key: AtomicPtr<()>,
    state: AtomicU8,
    /// Initialised if the state is `READY`. It is not initialised before, so the table takes no space in the image
    /// file.
    encoded: UnsafeCell<MaybeUninit<Encoded>>,
}

// SAFETY: only the thread that sets `state` to `FILLING` writes `encoded`. It stores `READY` after that, and other
// threads read `encoded` only after they have loaded `READY`.
unsafe impl Sync for Site {}

static TABLE: [Site; SITES] = [const {
    Site {
        key: AtomicPtr::new(ptr::null_mut()),
        state: AtomicU8::new(EMPTY),
        encoded: UnsafeCell::new(MaybeUninit::uninit()),
    }
}; SITES];

/// Returns the entry of a call site, or `None` if the entries for it are taken by others.
fn site(metadata: &'static Metadata<'static>) -> Option<&'static Site> {
    let key = ptr::from_ref(metadata).cast_mut().cast::<()>();
    // The addresses of metadata are close together. The multiplication spreads them over the table.
    let hash = (key.addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SITES.trailing_zeros());
    let start = usize::try_from(hash).unwrap_or_default();
    (0..TRIES).filter_map(|step| TABLE.get((start + step) % SITES)).find(|site| {
        let found = site.key.load(Ordering::Relaxed);
        found == key
            || found.is_null()
                && match site.key.compare_exchange(found, key, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => true,
                    Err(other) => other == key,
                }
    })
}

/// Returns the metadata of a call site for events of `shape`, if it is in the table.
pub(crate) fn find(metadata: &'static Metadata<'static>, shape: &Shape) -> Option<&'static [u8]> {
    let site = site(metadata)?;
    if site.state.load(Ordering::Acquire) != READY {
        return None;
    }
    // SAFETY: the entry is `READY`, so it is not written any more.
    let encoded = unsafe { &*site.encoded.get() };
    // SAFETY: the entry is `READY`, so it was written.
    let encoded = unsafe { encoded.assume_init_ref() };
    if encoded.shape == *shape { encoded.bytes.get(..encoded.length) } else { None }
}

/// Stores the metadata of a call site, if the table has none for it yet.
pub(crate) fn keep(metadata: &'static Metadata<'static>, shape: &Shape, bytes: &[u8]) {
    let Some(site) = site(metadata) else {
        return;
    };
    if bytes.len() > SIZE || site.state.compare_exchange(EMPTY, FILLING, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return;
    }
    let mut encoded = Encoded { shape: *shape, bytes: [0; SIZE], length: 0 };
    if let Some(place) = encoded.bytes.get_mut(..bytes.len()) {
        place.copy_from_slice(bytes);
        encoded.length = bytes.len();
    }
    // SAFETY: only this call set the state to `FILLING`, and no thread reads the entry before it is `READY`.
    unsafe { site.encoded.get().write(MaybeUninit::new(encoded)) };
    site.state.store(READY, Ordering::Release);
}
