//! The metadata of call sites, made when each is first traced.
//!
//! A table of the image, filled without a lock: an entry belongs to the first call site that takes it, for good. Its metadata is written
//! once, by the thread that takes it from `EMPTY` to `FILLING`; from `READY` on nothing changes, and everybody reads.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use tracing_core::Metadata;

use crate::values::Shape;

/// How many call sites have their metadata kept.
///
/// ```
/// const { assert!(wdk_etw_tracing::SITES >= 32, "the call sites of this driver") };
/// ```
pub const SITES: usize = 64;

/// Bytes of the metadata of a call site that is kept.
const SIZE: usize = 256;

/// How many entries are tried for a call site.
const TRIES: usize = 8;

const EMPTY: u8 = 0;
const FILLING: u8 = 1;
const READY: u8 = 2;

/// What is kept of a call site.
struct Encoded {
    shape: Shape,
    bytes: [u8; SIZE],
    length: usize,
}

struct Site {
    /// The call site's `Metadata`, or null.
    key: AtomicPtr<()>,
    state: AtomicU8,
    /// Initialised when `READY`. Not before, so that the table takes no space in the file.
    encoded: UnsafeCell<MaybeUninit<Encoded>>,
}

// SAFETY: `encoded` is written by the one that takes `state` to `FILLING`, and read by others only after they have seen `READY`, which is
// stored behind the writing.
unsafe impl Sync for Site {}

static TABLE: [Site; SITES] = [const {
    Site {
        key: AtomicPtr::new(ptr::null_mut()),
        state: AtomicU8::new(EMPTY),
        encoded: UnsafeCell::new(MaybeUninit::uninit()),
    }
}; SITES];

/// The entry of a call site; `None` if there is no room for it.
fn site(metadata: &'static Metadata<'static>) -> Option<&'static Site> {
    let key = ptr::from_ref(metadata).cast_mut().cast::<()>();
    // Metadata lies side by side in the image; the product spreads it.
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

/// The kept metadata of a call site for events of `shape`.
pub(crate) fn find(metadata: &'static Metadata<'static>, shape: &Shape) -> Option<&'static [u8]> {
    let site = site(metadata)?;
    if site.state.load(Ordering::Acquire) != READY {
        return None;
    }
    // SAFETY: the entry is `READY`, so it is not written any more.
    let encoded = unsafe { &*site.encoded.get() };
    // SAFETY: `READY`: it was written.
    let encoded = unsafe { encoded.assume_init_ref() };
    if encoded.shape == *shape { encoded.bytes.get(..encoded.length) } else { None }
}

/// Keeps the metadata of a call site, if nothing is kept of it yet.
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
    // SAFETY: this call alone took the entry to `FILLING`, and no thread reads it before `READY`.
    unsafe { site.encoded.get().write(MaybeUninit::new(encoded)) };
    site.state.store(READY, Ordering::Release);
}
