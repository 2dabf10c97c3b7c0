//! The pages of the pool: each is accessible while an allocation uses it. No address is used twice.
//!
//! Linux 6.13 and later can mark pages as inaccessible (`MADV_GUARD_INSTALL`, see madvise(2)). That takes one system call
//! where a change of the access rights takes two, and does not split the range that the system keeps about them. On an older
//! system, and for large allocations, the access rights change.

use crate::memory::{PAGE, Protection, Region, give_back, guard, protect, unguard};

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
}

impl Pages {
    pub(super) fn new() -> Self {
        let arena = Region::new(ARENA, Protection::None, false).ok();
        let start = arena.map_or(0, |arena| arena.base);
        // The first page stays inaccessible.
        let can_mark = arena.is_some() && guard(start, PAGE);
        Self { arena, next: start + PAGE, ready: start + PAGE, can_mark }
    }

    /// Returns all addresses.
    pub(super) const fn arena(&self) -> Option<Region> {
        self.arena
    }

    /// Makes new pages accessible, followed by an inaccessible one. Returns `None` if there is no memory.
    pub(super) fn open(&mut self, size: u64, rights: Protection) -> Option<u64> {
        let arena = self.arena?;
        let limit = arena.base + arena.size;
        let start = if self.marks(size) { self.next } else { self.next.max(self.ready) };
        let end = start.checked_add(size)?.checked_add(PAGE).filter(|end| *end <= limit)?;
        if self.marks(size) {
            if end > self.ready {
                let more = WINDOW.max(end - self.ready).min(limit - self.ready);
                if !(protect(self.ready, more, Protection::ReadWrite) && guard(self.ready, more)) {
                    return None;
                }
                self.ready += more;
            }
            if !unguard(start, size) || (rights != Protection::ReadWrite && !protect(start, size, rights)) {
                return None;
            }
        } else {
            if !protect(start, size, rights) {
                return None;
            }
            self.ready = end;
        }
        self.next = end;
        Some(start)
    }

    /// Makes pages inaccessible and returns their memory to the system.
    pub(super) fn close(&self, start: u64, size: u64) {
        if !self.marks(size) || !guard(start, size) {
            protect(start, size, Protection::None);
            give_back(start, size);
        }
    }

    const fn marks(&self, size: u64) -> bool {
        self.can_mark && size < WINDOW
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Pages, WINDOW};
    use crate::memory::{PAGE, Protection};

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
        for count in (0..600).map(|number| number % 3 + 1).chain([WINDOW / PAGE, 1, 2 * WINDOW / PAGE, 2]) {
            let start = pages.open(count * PAGE, Protection::ReadWrite).expect("memory");
            let last = start + (count - 1) * PAGE;
            assert!(is_readable(start) && is_readable(last) && !is_readable(last + PAGE));
            open.push((start, count));
        }
        for (start, count) in &open {
            pages.close(*start, count * PAGE);
            assert!(!is_readable(*start) && !is_readable(start + (count - 1) * PAGE));
        }
        let again = pages.open(PAGE, Protection::ReadWrite).expect("memory");
        assert!(open.iter().all(|(start, _)| *start < again), "no address is used twice");
    }

    #[test]
    fn pages_are_accessible_while_they_are_open() {
        check(Pages::new());
        check(Pages { can_mark: false, ..Pages::new() });
    }
}
