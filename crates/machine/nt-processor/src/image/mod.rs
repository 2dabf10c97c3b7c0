//! The images in memory: which addresses belong or belonged to which one, and the tables for walks along their calls.
//!
//! Image 0 is the driver under test. The others are images that it needs, such as a framework. The fault handler uses
//! the lookups here, so they neither wait nor allocate.

mod sites;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::layer_state::{LayerState, lock_from_handler};
use crate::memory::{PAGE, Region};
use pe_image::Layout;
use pe_image::unwind::Functions;

/// The maximum number of images that are loaded at the same time.
pub const MAX_IMAGES: usize = 16;

/// The number of the driver under test.
pub const DRIVER: u32 = 0;

/// A place in an image.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImageOffset {
    /// The number of the image: 0 is the driver under test; the others follow in the order in which they are loaded.
    pub image: u32,
    /// The address relative to the image.
    pub rva: u32,
}

/// The state of all images.
#[derive(Default)]
pub struct Images {
    slots: [Slot; MAX_IMAGES],
    unloaded: Mutex<Vec<(u32, Region)>>,
    /// Whether an image was unloaded. Every call of a routine needs this.
    any_unloaded: AtomicBool,
    sites: Mutex<sites::Sites>,
}

/// An image. Its file stays the same in a machine, although the machine may load it many times.
#[derive(Default)]
struct Slot {
    /// The address; 0 if the image is not loaded.
    base: AtomicU64,
    size: AtomicU64,
    file: OnceLock<File>,
}

/// What is known about an image before it is loaded. The bytes are those before relocation, which does not change the
/// unwind tables.
struct File {
    name: String,
    /// Whether it is the framework that the driver under test uses.
    is_framework: bool,
    bytes: Vec<u8>,
    exceptions: (u32, u32),
}

impl Slot {
    fn region(&self) -> Option<Region> {
        let region = Region { base: self.base.load(Ordering::SeqCst), size: self.size.load(Ordering::SeqCst) };
        (region.base != 0).then_some(region)
    }
}

static IMAGES: LayerState<Images> = LayerState::new();

/// Makes these the images of this process. Later calls have no effect.
pub fn attach(images: &'static Images) {
    IMAGES.attach(images);
}

fn slot(number: u32) -> Option<&'static Slot> {
    IMAGES.find()?.slots.get(number as usize)
}

/// Records that an image was loaded. `name` is its file name.
pub fn loaded(number: u32, name: &str, is_framework: bool, region: Region, layout: &Layout) {
    let Some(slot) = slot(number) else { return };
    let exceptions = layout.exceptions.unwrap_or_default();
    slot.file.get_or_init(|| File { name: name.to_owned(), is_framework, bytes: layout.bytes.clone(), exceptions });
    slot.size.store(region.size, Ordering::SeqCst);
    slot.base.store(region.base, Ordering::SeqCst);
}

/// Records that an image was unloaded, and remembers its addresses.
pub fn unloaded(number: u32, region: Region) {
    let (Some(images), Some(slot)) = (IMAGES.find(), slot(number)) else { return };
    images.unloaded.lock().unwrap_or_else(PoisonError::into_inner).push((number, region));
    images.any_unloaded.store(true, Ordering::SeqCst);
    slot.base.store(0, Ordering::SeqCst);
}

/// Returns the number and the region of the loaded image that contains an address.
fn current(address: u64) -> Option<(u32, Region)> {
    let address = real(address);
    let slots = IMAGES.find()?.slots.iter();
    (0..).zip(slots).find_map(|(number, slot)| Some((number, slot.region()?)).filter(|(_, at)| at.contains(address)))
}

/// Returns the number and the region of the unloaded image that contained an address.
fn former(address: u64) -> Option<(u32, Region)> {
    let address = real(address);
    let unloaded = lock_from_handler(&IMAGES.find()?.unloaded)?;
    unloaded.iter().find(|(_, region)| region.contains(address)).copied()
}

fn find(address: u64) -> Option<(u32, Region)> {
    current(address).or_else(|| former(address))
}

/// Returns the functions of the image that contains or contained an address, and the base of the image.
pub fn functions(address: u64) -> Option<(u64, Functions<'static>)> {
    let (number, region) = find(address)?;
    let file = slot(number)?.file.get()?;
    Some((region.base, Functions::new(&file.bytes, file.exceptions.0, file.exceptions.1).ok()?))
}

/// Returns the number of a call that creates a resource: the address that it returns to, and the direct calls that led to
/// it and tell it from others. The number takes the place of the address. Without such calls, it is the address.
pub fn site(from: u64, calls: &[ImageOffset]) -> u64 {
    let images = IMAGES.find().filter(|_| !calls.is_empty());
    images.map_or(from, |images| images.sites.lock().unwrap_or_else(PoisonError::into_inner).number(from, calls))
}

/// Returns the address of a call, which may be the number of a [`site`].
fn real(address: u64) -> u64 {
    let sites = if sites::is_number(address) {
        IMAGES.find().and_then(|images| lock_from_handler(&images.sites))
    } else {
        None
    };
    sites.and_then(|sites| sites.address(address)).unwrap_or(address)
}

/// Returns the number of images that were unloaded so far.
pub fn count_unloaded() -> usize {
    IMAGES.find().map_or(0, |images| images.unloaded.lock().unwrap_or_else(PoisonError::into_inner).len())
}

/// Returns the addresses of the driver under test while it is loaded.
pub fn driver() -> Option<Range<u64>> {
    let region = slot(DRIVER)?.region()?;
    Some(region.base..region.base + region.size)
}

/// Returns whether an address is in a loaded image.
pub fn is_loaded(address: u64) -> bool {
    current(address).is_some()
}

/// Returns the base of the loaded or unloaded image that contains an address.
pub fn base_of(address: u64) -> Option<u64> {
    find(address).map(|(_, region)| region.base)
}

/// Returns whether an address is in an unloaded image.
#[inline]
pub fn is_unloaded(address: u64) -> bool {
    let any = IMAGES.find().is_some_and(|images| images.any_unloaded.load(Ordering::SeqCst));
    any && !is_loaded(address) && former(address).is_some()
}

/// Returns whether an address belongs or belonged to an image.
pub fn contains(address: u64) -> bool {
    find(address).is_some()
}

/// Returns whether an address belongs or belonged to an image that is not the driver under test.
pub fn is_other(address: u64) -> bool {
    find(address).is_some_and(|(number, _)| number != DRIVER)
}

/// Returns whether an address belongs or belonged to the framework that the driver under test uses.
pub fn is_framework(address: u64) -> bool {
    let file = find(address).and_then(|(number, _)| slot(number)?.file.get());
    file.is_some_and(|file| file.is_framework)
}

/// Returns the number of bytes from an address to the end of its page, or 0 if it is not in a loaded image.
pub fn readable_from(address: u64) -> u64 {
    if is_loaded(address) { PAGE - address % PAGE } else { 0 }
}

/// Returns the image and the address relative to it, if an address is in one.
pub fn offset(address: u64) -> Option<ImageOffset> {
    let (image, region) = find(address)?;
    let address = real(address);
    Some(ImageOffset { image, rva: u32::try_from(address - region.base).ok()? })
}

/// Returns the file name of the image that contains or contained an address.
pub fn name_at(address: u64) -> Option<&'static str> {
    let (number, _) = find(address)?;
    Some(&slot(number)?.file.get()?.name)
}

/// Describes an address of an image: `image+0x1000` for the driver under test, `name.sys+0x1000` for another image.
pub fn describe(address: u64) -> String {
    let ImageOffset { image, rva } = offset(address).unwrap_or_default();
    let name = name_at(address).filter(|_| image != DRIVER);
    format!("{}+{rva:#x}", name.unwrap_or("image"))
}

/// The image that is being unloaded, for the search for leaks.
#[derive(Clone, Copy, Debug)]
pub struct Leaving(pub u32);

impl Leaving {
    /// Returns whether a resource that was created by the call that returns to `from` must have been released by now:
    /// the caller is not in an image that stays.
    pub fn owns(self, from: u64) -> bool {
        current(from).is_none_or(|(number, _)| number == self.0)
    }

    /// Returns whether no other image is loaded.
    pub fn is_last(self) -> bool {
        let slots = IMAGES.find().map_or(&[][..], |images| images.slots.as_slice());
        (0..).zip(slots).all(|(number, slot)| number == self.0 || slot.region().is_none())
    }
}
