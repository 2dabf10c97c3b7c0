//! Pageable memory, which must not be accessed at `DISPATCH_LEVEL` or above.
//!
//! When a thread goes to `DISPATCH_LEVEL`, all such memory is made inaccessible. An access below `DISPATCH_LEVEL` makes
//! the memory accessible again, as a page fault would. An access at or above it is a mistake of the driver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use nt_processor::cpu::thread;
use nt_processor::memory::{Protection, Region, protect};
use nt_verifier::exception::FaultSite;
use nt_verifier::routine::DISPATCH;
use nt_verifier::verify::{self, Breach, Rule, Wdm};

use crate::{kernel, lock};

struct Range {
    start: u64,
    size: u64,
    /// The access rights while it is paged in.
    rights: Protection,
    /// Whether it is a section of the image, not pool.
    section: bool,
    out: bool,
    /// How many times the driver has locked it.
    locked: u32,
}

/// The pageable memory.
#[derive(Default)]
pub struct Paging {
    /// No driver memory is accessed while this is locked, so the fault handler may wait for it.
    ranges: Mutex<Vec<Range>>,
    any: AtomicBool,
}

fn ranges() -> MutexGuard<'static, Vec<Range>> {
    lock(&kernel().paging.ranges)
}

fn is_any() -> bool {
    kernel().paging.any.load(Ordering::SeqCst)
}

/// Adds the pageable sections of an image.
pub fn add_sections(sections: Vec<(u64, u64, Protection)>) {
    let mut ranges = ranges();
    ranges.extend(sections.into_iter().map(|(start, size, rights)| Range {
        start,
        size,
        rights,
        section: true,
        out: false,
        locked: 0,
    }));
    kernel().paging.any.store(!ranges.is_empty(), Ordering::SeqCst);
}

/// Removes the pageable sections of an image.
pub fn remove_sections(image: Region) {
    let mut ranges = ranges();
    ranges.retain(|range| !(range.section && image.contains(range.start)));
    kernel().paging.any.store(!ranges.is_empty(), Ordering::SeqCst);
}

/// Adds paged pool.
pub fn add(start: u64, size: u64) {
    let range = Range { start, size, rights: Protection::ReadWrite, section: false, out: false, locked: 0 };
    ranges().push(range);
    kernel().paging.any.store(true, Ordering::SeqCst);
}

/// Returns whether an address is in paged pool.
pub(super) fn is_pool(address: u64) -> bool {
    let inside = |range: &Range| address >= range.start && address - range.start < range.size;
    is_any() && ranges().iter().any(|range| !range.section && inside(range))
}

/// Removes paged pool that was freed.
pub fn remove(start: u64) {
    ranges().retain(|range| range.start != start);
}

/// Locks a section of the image in memory, or removes such a lock. Returns whether there is such a section.
pub(crate) fn lock_section(address: u64, locked: bool) -> bool {
    let mut ranges = ranges();
    let inside = |range: &&mut Range| range.section && address >= range.start && address - range.start < range.size;
    let Some(range) = ranges.iter_mut().find(inside) else { return false };
    range.locked = if locked { range.locked + 1 } else { range.locked.saturating_sub(1) };
    if range.out {
        range.out = false;
        protect(range.start, range.size, range.rights);
    }
    true
}

/// Pages out all memory that is not locked.
pub(crate) fn page_out() {
    if !is_any() {
        return;
    }
    for range in ranges().iter_mut().filter(|range| !range.out && range.locked == 0) {
        protect(range.start, range.size, Protection::None);
        range.out = true;
    }
}

/// Pages in the memory that a fault accessed. Returns whether the address was in such memory. Called by the fault
/// handler.
pub(crate) fn bring_in(address: u64, site: &FaultSite) -> bool {
    if !is_any() {
        return false;
    }
    let mut ranges = ranges();
    let inside = |range: &&mut Range| range.out && address >= range.start && address - range.start < range.size;
    let Some(range) = ranges.iter_mut().find(inside) else {
        return false;
    };
    let irql = thread::irql();
    if irql >= DISPATCH {
        let what = format_args!("uses paged memory at {address:#x} at IRQL {irql}");
        let names: &[Wdm] = if range.section { &[Wdm::PagedCode] } else { &[] };
        let breach = Breach::from(Rule::PageableAtDispatch).named_all(names);
        verify::find_at(breach, site.routine, site.address, what);
    }
    range.out = false;
    protect(range.start, range.size, range.rights)
}
