//! The driver's image in memory: which addresses are its own, and which were.
//!
//! Read by the fault handler, so what it needs is in atomics.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernel::lock;
use crate::kernel::pool::paging;
use crate::loader::Mapped;
use crate::memory::Region;
use crate::verify;

static BASE: AtomicU64 = AtomicU64::new(0);
static SIZE: AtomicU64 = AtomicU64::new(0);
static UNLOADED: Mutex<Vec<Region>> = Mutex::new(Vec::new());
static CURRENT: Mutex<Option<Mapped>> = Mutex::new(None);

/// Makes an image the loaded one.
pub(crate) fn loaded(image: Mapped) {
    let region = image.region();
    paging::set_sections(image.pageable());
    verify::calls::forget();
    *lock(&CURRENT) = Some(image);
    SIZE.store(region.size, Ordering::SeqCst);
    BASE.store(region.base, Ordering::SeqCst);
    if let Some(arena) = verify::arena() {
        arena.set_base(region.base);
    }
}

/// Takes the image away; its addresses are remembered.
pub(crate) fn unload() {
    let image = lock(&CURRENT).take();
    if let Some(image) = image {
        paging::set_sections(Vec::new());
        image.withdraw();
        lock(&UNLOADED).push(image.region());
        BASE.store(0, Ordering::SeqCst);
    }
}

fn region() -> Region {
    Region { base: BASE.load(Ordering::SeqCst), size: SIZE.load(Ordering::SeqCst) }
}

/// Whether an address is in the loaded image.
pub(crate) fn is_loaded(address: u64) -> bool {
    let region = region();
    region.base != 0 && region.contains(address)
}

/// Where the image begins or began that an address belongs to.
pub(crate) fn base_of(address: u64) -> Option<u64> {
    rva(address).map(|rva| address - rva)
}

/// Whether an address is in an image that was unloaded.
pub(crate) fn is_unloaded(address: u64) -> bool {
    !is_loaded(address)
        && UNLOADED.try_lock().is_ok_and(|unloaded| unloaded.iter().any(|region| region.contains(address)))
}

/// Whether an address is or was the driver's.
pub(crate) fn contains(address: u64) -> bool {
    is_loaded(address) || is_unloaded(address)
}

/// How many bytes from an address on can be read without leaving its page.
pub(crate) fn readable_from(address: u64) -> u64 {
    if is_loaded(address) { crate::memory::PAGE - address % crate::memory::PAGE } else { 0 }
}

/// The address relative to its image, where it is in one.
pub(crate) fn rva(address: u64) -> Option<u64> {
    if is_loaded(address) {
        return Some(address - region().base);
    }
    let unloaded = UNLOADED.try_lock().ok()?;
    unloaded.iter().find(|region| region.contains(address)).map(|region| address - region.base)
}

/// Why an address of the loaded image cannot be used.
pub(crate) fn explain(address: u64) -> String {
    let rva = rva(address).unwrap_or_default();
    format!("image+{rva:#x} does not allow this: it is read-only, not executable, or was discarded after DriverEntry")
}
