//! The driver's image in memory: which addresses are its own, which were, and the tables for walks along its calls.
//!
//! The fault handler asks, so nothing here waits or allocates in an answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::loader::Layout;
use crate::memory::{PAGE, Region};
use crate::part::Part;
use pe_image::unwind::Functions;

/// What is known about the driver's image.
#[derive(Default)]
pub(crate) struct Image {
    /// Of the loaded image; 0 if there is none.
    base: AtomicU64,
    size: AtomicU64,
    unloaded: Mutex<Vec<Region>>,
    /// A machine runs one driver, though perhaps many times.
    tables: OnceLock<Tables>,
}

/// The image with its tables: the bytes as they were before relocation, which changes none of them.
struct Tables {
    bytes: Vec<u8>,
    exceptions: (u32, u32),
}

static IMAGE: Part<Image> = Part::new();

/// Makes the image of a machine that of this process; a second one is refused.
pub(crate) fn attach(image: &'static Image) {
    IMAGE.attach(image);
}

/// An image was loaded.
pub(crate) fn loaded(region: Region, layout: &Layout) {
    let Some(image) = IMAGE.find() else { return };
    let exceptions = layout.exceptions.unwrap_or_default();
    image.tables.get_or_init(|| Tables { bytes: layout.bytes.clone(), exceptions });
    image.size.store(region.size, Ordering::SeqCst);
    image.base.store(region.base, Ordering::SeqCst);
}

/// The image was unloaded; its addresses are remembered.
pub(crate) fn unloaded(region: Region) {
    let Some(image) = IMAGE.find() else { return };
    image.unloaded.lock().unwrap_or_else(PoisonError::into_inner).push(region);
    image.base.store(0, Ordering::SeqCst);
}

/// The functions of the driver.
pub(crate) fn functions() -> Option<Functions<'static>> {
    let tables = IMAGE.find()?.tables.get()?;
    Functions::new(&tables.bytes, tables.exceptions.0, tables.exceptions.1).ok()
}

fn region() -> Option<Region> {
    let image = IMAGE.find()?;
    let region = Region { base: image.base.load(Ordering::SeqCst), size: image.size.load(Ordering::SeqCst) };
    (region.base != 0).then_some(region)
}

/// The image that was unloaded and had an address.
fn former(address: u64) -> Option<Region> {
    let unloaded = IMAGE.find()?.unloaded.try_lock().ok()?;
    unloaded.iter().find(|region| region.contains(address)).copied()
}

/// How many images were unloaded so far.
pub(crate) fn count_unloaded() -> usize {
    IMAGE.find().map_or(0, |image| image.unloaded.lock().unwrap_or_else(PoisonError::into_inner).len())
}

/// Whether an address is in the loaded image.
pub(crate) fn is_loaded(address: u64) -> bool {
    region().is_some_and(|region| region.contains(address))
}

/// Where the image begins or began that an address belongs to.
pub(crate) fn base_of(address: u64) -> Option<u64> {
    let loaded = region().filter(|region| region.contains(address));
    loaded.or_else(|| former(address)).map(|region| region.base)
}

/// Whether an address is in an image that was unloaded.
pub(crate) fn is_unloaded(address: u64) -> bool {
    !is_loaded(address) && former(address).is_some()
}

/// Whether an address is or was the driver's.
pub(crate) fn contains(address: u64) -> bool {
    base_of(address).is_some()
}

/// How many bytes from an address on can be read without leaving its page.
pub(crate) fn readable_from(address: u64) -> u64 {
    if is_loaded(address) { PAGE - address % PAGE } else { 0 }
}

/// The address relative to its image, if it is in one.
pub(crate) fn rva(address: u64) -> Option<u64> {
    base_of(address).map(|base| address - base)
}

/// Why an address of the loaded image cannot be used.
pub(crate) fn explain(address: u64) -> String {
    let rva = rva(address).unwrap_or_default();
    format!("image+{rva:#x} does not allow this: it is read-only, not executable, or was discarded after DriverEntry")
}
