//! The pages of the pool: each is accessible while an allocation uses it. No address is used twice.
//!
//! Linux 6.13 and later can mark pages as inaccessible (`MADV_GUARD_INSTALL`, see madvise(2)). That takes one system call
//! where a change of the access rights takes two, and does not split the range that the system keeps about them. Small
//! allocations take prepared pages ([`Sheets`]). On an older system, and for large allocations, the access rights change.

use std::io;

use nt_processor::memory::{PAGE, Protection, Region, give_back, guard, protect, unguard};
use nt_verifier::verify;

use super::sheets::{Sheets, WIDEST};

/// The size of the address range for all allocations of a run.
const ARENA: u64 = 8 << 40;
/// The number of bytes that are prepared at once. Larger allocations are not marked page by page.
const WINDOW: u64 = 1 << 20;

/// The pages.
pub(super) struct Pages {
    arena: Option<Region>,
    next: u64,
    /// The end of the pages that are only inaccessible because they are marked.
    ready: u64,
    can_mark: bool,
    /// The pages of small allocations, at the end of the arena, unless the system does not support them.
    sheets: Option<Sheets>,
}

impl Pages {
    pub(super) fn new() -> Self {
        let arena = Region::new(ARENA, Protection::None, false).ok();
        let start = arena.map_or(0, |arena| arena.base);
        // The first page stays inaccessible.
        let can_mark = arena.is_some() && guard(start, PAGE);
        // System calls from the last 4 GiB are not stopped, so no code of the driver may be there.
        let next = start + PAGE;
        let sheets = arena.and_then(|arena| Sheets::new((arena.base + arena.size) >> 32 << 32, next));
        Self { arena, next, ready: next, can_mark, sheets }
    }

    /// Returns all addresses.
    pub(super) const fn arena(&self) -> Option<Region> {
        self.arena
    }

    /// Makes new pages accessible, followed by an inaccessible one. Returns the first one, and whether all of their bytes are
    /// zero. Returns `None` if there is no memory.
    pub(super) fn open(&mut self, size: u64, rights: Protection) -> Option<(u64, bool)> {
        // A prepared slot costs no system call. It may have bytes of an earlier allocation, so the caller gets `false`.
        let prepared = self.sheets.as_mut().filter(|_| size <= WIDEST);
        if let Some(slot) = prepared.and_then(|sheets| sheets.open(size, rights, self.next.max(self.ready))) {
            return Some((slot, false));
        }
        let arena = self.arena.unwrap_or_else(|| {
            let error = io::ErrorKind::OutOfMemory.into();
            verify::refused_with("8 TiB of addresses for allocations", &error)
        });
        // Sheets grow downwards from the end of the arena. Pages must not reach them, or two allocations would share an address.
        let limit = self.sheets.as_ref().map_or(arena.base + arena.size, Sheets::start);
        // `next..ready` is accessible but for its marks. A large allocation changes access rights instead, so it begins behind `ready`:
        // a marked page stays inaccessible whatever its rights are.
        let start = if self.marks(size) { self.next } else { self.next.max(self.ready) };
        let end = start.checked_add(size)?.checked_add(PAGE).filter(|end| *end <= limit)?;
        if self.marks(size) {
            if end > self.ready {
                let more = WINDOW.max(end - self.ready).min(limit - self.ready);
                // For a moment the window is accessible. The driver cannot notice: it was given no address behind `next`.
                if !(protect(self.ready, more, Protection::ReadWrite) && guard(self.ready, more)) {
                    verify::refused("pages for an allocation");
                }
                self.ready += more;
            }
            // Without the mark the pages are readable and writable; other rights need a second call. The page behind `size` keeps its
            // mark, which is what finds an overrun.
            if !unguard(start, size) || (rights != Protection::ReadWrite && !protect(start, size, rights)) {
                verify::refused("pages for an allocation");
            }
        } else {
            if !protect(start, size, rights) {
                verify::refused("pages for an allocation");
            }
            self.ready = end;
        }
        self.next = end;
        Some((start, true))
    }

    /// Makes pages inaccessible, and returns memory that will not be used again to the system. Each range is that of an allocation.
    pub(super) fn close(&mut self, ranges: &mut [(u64, u64)]) {
        let first = self.sheets.as_ref().map_or(u64::MAX, Sheets::start);
        ranges.sort_unstable();
        let (others, slots) = ranges.split_at_mut(ranges.partition_point(|(start, _)| *start < first));
        for (start, size) in others {
            if !self.marks(*size) || !guard(*start, *size) {
                protect(*start, *size, Protection::None);
                give_back(*start, *size);
            }
        }
        if let Some(sheets) = &mut self.sheets {
            sheets.close(slots);
        }
    }

    const fn marks(&self, size: u64) -> bool {
        self.can_mark && size < WINDOW
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::{Pages, WINDOW};
    use nt_processor::memory::{GuestPtr, PAGE, Protection};

    /// Returns whether the system can read a byte for this process.
    pub(in super::super) fn is_readable(address: u64) -> bool {
        let mut files = [0; 2];
        // SAFETY: there is room for two descriptors.
        assert_eq!(unsafe { libc::pipe(files.as_mut_ptr()) }, 0);
        let byte = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: the system checks the address.
        let written = unsafe { libc::write(files[1], byte, 1) };
        for file in files {
            // SAFETY: the descriptor was opened above.
            unsafe { libc::close(file) };
        }
        written == 1
    }

    /// Opens and closes allocations of these numbers of pages, and checks which pages can be read.
    fn check(mut pages: Pages) {
        let mut open = Vec::new();
        let mut used = BTreeSet::new();
        for count in (0..600).map(|number| number % 6 + 1).chain([WINDOW / PAGE, 1, 2 * WINDOW / PAGE, 2]) {
            let (start, _) = pages.open(count * PAGE, Protection::ReadWrite).expect("memory");
            let last = start + (count - 1) * PAGE;
            assert!(is_readable(start));
            assert!(is_readable(last));
            assert!(!is_readable(last + PAGE));
            assert!((0..count).all(|page| used.insert(start + page * PAGE)), "no address is used twice");
            open.push((start, count));
        }
        // Each has its own memory.
        let place = |start: u64| GuestPtr::<u64>::new(start);
        for (start, _) in &open {
            place(*start).write(*start).expect("memory");
        }
        // Some of them stay until all others have gone.
        let (stay, leave): (Vec<_>, Vec<_>) = (0_u32..).zip(open).partition(|(index, _)| index % 5 == 0);
        let close = |pages: &mut Pages, allocations: &[(u32, (u64, u64))]| {
            let is_open = |(_, (start, count)): &(u32, (u64, u64))| {
                (is_readable(*start), is_readable(start + (count - 1) * PAGE)) == (true, true)
            };
            assert!(allocations.iter().all(|known| is_open(known) && place(known.1.0).read() == Ok(known.1.0)));
            let mut ranges: Vec<_> = allocations.iter().map(|(_, (start, count))| (*start, count * PAGE)).collect();
            pages.close(&mut ranges);
            assert!(!allocations.iter().any(is_open));
        };
        leave.chunks(3).for_each(|some| close(&mut pages, some));
        for _ in 0..1000 {
            let (again, _) = pages.open(PAGE, Protection::ReadWrite).expect("memory");
            assert!(used.insert(again));
            assert!(is_readable(again));
            assert!(!is_readable(again + PAGE));
            place(again).write(7).expect("memory");
            pages.close(&mut [(again, PAGE)]);
            assert!(!is_readable(again));
        }
        stay.chunks(3).for_each(|some| close(&mut pages, some));
    }

    #[test]
    fn pages_are_accessible_while_they_are_open() {
        check(Pages::new());
        check(Pages { sheets: None, ..Pages::new() });
        check(Pages { sheets: None, can_mark: false, ..Pages::new() });
    }
}
