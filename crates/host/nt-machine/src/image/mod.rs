//! The driver's image in memory: which addresses belong or belonged to it, and the tables for walks along its calls.
//!
//! The fault handler uses the lookups here, so they neither wait nor allocate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::loader::Layout;
use crate::memory::{PAGE, Region};
use crate::part::Part;
use pe_image::unwind::Functions;

/// The state of the driver's image.
#[derive(Default)]
pub(crate) struct Image {
    /// The base address of the loaded image; 0 if none is loaded.
    base: AtomicU64,
    size: AtomicU64,
    unloaded: Mutex<Vec<Region>>,
    /// Set once: a machine runs one driver, although it may load it many times.
    tables: OnceLock<Tables>,
}

/// The image with its unwind tables. The bytes are those before relocation, which does not change the tables.
struct Tables {
    bytes: Vec<u8>,
    exceptions: (u32, u32),
}

static IMAGE: Part<Image> = Part::new();

/// Makes this the image of this process. Later calls have no effect.
pub(crate) fn attach(image: &'static Image) {
    IMAGE.attach(image);
}

/// Records that an image was loaded.
pub(crate) fn loaded(region: Region, layout: &Layout) {
    let Some(image) = IMAGE.find() else { return };
    let exceptions = layout.exceptions.unwrap_or_default();
    image.tables.get_or_init(|| Tables { bytes: layout.bytes.clone(), exceptions });
    image.size.store(region.size, Ordering::SeqCst);
    image.base.store(region.base, Ordering::SeqCst);
}

/// Records that the image was unloaded, and remembers its addresses.
pub(crate) fn unloaded(region: Region) {
    let Some(image) = IMAGE.find() else { return };
    image.unloaded.lock().unwrap_or_else(PoisonError::into_inner).push(region);
    image.base.store(0, Ordering::SeqCst);
}

/// Returns the functions of the driver.
pub(crate) fn functions() -> Option<Functions<'static>> {
    let tables = IMAGE.find()?.tables.get()?;
    Functions::new(&tables.bytes, tables.exceptions.0, tables.exceptions.1).ok()
}

fn region() -> Option<Region> {
    let image = IMAGE.find()?;
    let region = Region { base: image.base.load(Ordering::SeqCst), size: image.size.load(Ordering::SeqCst) };
    (region.base != 0).then_some(region)
}

/// Returns the unloaded image that contained an address.
fn former(address: u64) -> Option<Region> {
    let unloaded = IMAGE.find()?.unloaded.try_lock().ok()?;
    unloaded.iter().find(|region| region.contains(address)).copied()
}

/// Returns the number of images that were unloaded so far.
pub(crate) fn count_unloaded() -> usize {
    IMAGE.find().map_or(0, |image| image.unloaded.lock().unwrap_or_else(PoisonError::into_inner).len())
}

/// Returns whether an address is in the loaded image.
pub(crate) fn is_loaded(address: u64) -> bool {
    region().is_some_and(|region| region.contains(address))
}

/// Returns the base of the loaded or unloaded image that contains an address.
pub(crate) fn base_of(address: u64) -> Option<u64> {
    let loaded = region().filter(|region| region.contains(address));
    loaded.or_else(|| former(address)).map(|region| region.base)
}

/// Returns whether an address is in an unloaded image.
pub(crate) fn is_unloaded(address: u64) -> bool {
    !is_loaded(address) && former(address).is_some()
}

/// Returns whether an address belongs or belonged to the driver.
pub(crate) fn contains(address: u64) -> bool {
    base_of(address).is_some()
}

/// Returns the number of bytes from an address to the end of its page, or 0 if it is not in the loaded image.
pub(crate) fn readable_from(address: u64) -> u64 {
    if is_loaded(address) { PAGE - address % PAGE } else { 0 }
}

/// Returns the address relative to its image, if it is in one.
pub(crate) fn rva(address: u64) -> Option<u64> {
    base_of(address).map(|base| address - base)
}

/// Explains why an address of the loaded image cannot be used.
pub(crate) fn explain(address: u64) -> String {
    let rva = rva(address).unwrap_or_default();
    format!("image+{rva:#x} does not allow this: it is read-only, not executable, or was discarded after DriverEntry")
}
