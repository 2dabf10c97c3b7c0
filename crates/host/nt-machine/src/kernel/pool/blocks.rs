//! The pool's allocations: each on pages of its own, with its end at a page that nobody may touch.
//!
//! What is freed stays inaccessible, so that a later use faults and is named.

use std::collections::BTreeMap;

use super::paging;
use crate::memory::OrStop as _;
use crate::memory::{GuestPtr, GuestSlice, PAGE, Plain, Protection, Region, protect};
use crate::verify::{self, Rule};

/// Addresses for all allocations of a run.
const ARENA: u64 = 64 << 30;
/// Alignment of pool on x64.
const ALIGNMENT: u64 = 16;
/// What new memory holds, so that nobody relies on zeroes.
const FRESH: u8 = 0xC3;
/// What the bytes between the end of an allocation and the next page hold.
const SLACK: u8 = 0x5A;

/// One allocation.
#[derive(Clone, Copy, Debug)]
struct Block {
    address: u64,
    size: u64,
    /// First page, and how many bytes of pages.
    start: u64,
    pages: u64,
    tag: [u8; 4],
    paged: bool,
    /// Allocated by the host on behalf of an object, so not the driver's to free.
    of_host: bool,
    from: u64,
    freed: Option<u64>,
}

/// The pool.
pub(crate) struct Pool {
    arena: Option<Region>,
    next: u64,
    /// By their first page.
    blocks: BTreeMap<u64, Block>,
}

impl Pool {
    pub(crate) fn new() -> Self {
        let arena = Region::new(ARENA, Protection::None, false).ok();
        Self { next: arena.map_or(0, |arena| arena.base + PAGE), arena, blocks: BTreeMap::new() }
    }

    /// Allocates; `None` where there is no room.
    pub(crate) fn allocate(&mut self, size: u64, tag: [u8; 4], pageable: bool, from: u64) -> Option<u64> {
        let arena = self.arena?;
        let wanted = size.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let pages = wanted.checked_next_multiple_of(PAGE)?;
        let end = self.next.checked_add(pages)?.checked_add(PAGE)?;
        if end > arena.base + arena.size {
            return None;
        }
        let start = self.next;
        // From a page on an allocation is page-aligned; smaller ones end where their page does.
        let address = if size >= PAGE { start } else { start + pages - wanted };
        if !protect(start, pages, Protection::ReadWrite) {
            return None;
        }
        self.next = end;
        bytes(address, size).fill(FRESH).or_stop();
        bytes(address + size, start + pages - address - size).fill(SLACK).or_stop();
        let of_host = from == 0;
        self.blocks
            .insert(start, Block { address, size, start, pages, tag, paged: pageable, of_host, from, freed: None });
        if pageable {
            paging::add(start, pages);
        }
        Some(address)
    }

    /// Memory for an object of the host, zeroed. It is not counted as a leak.
    pub(crate) fn object(&mut self, size: u64) -> u64 {
        let address = self.allocate(size, *b"Host", false, 0).unwrap_or_default();
        if address != 0 {
            bytes(address, size).fill(0).or_stop();
        }
        address
    }

    /// An object of the host, zeroed; NULL if there is no memory.
    pub(crate) fn new_object<T: Plain>(&mut self) -> GuestPtr<T> {
        self.new_objects(1)
    }

    /// An array of the host, zeroed; NULL if there is no memory.
    pub(crate) fn new_objects<T: Plain>(&mut self, count: u64) -> GuestPtr<T> {
        GuestPtr::new(self.object(count.saturating_mul(size_of::<T>() as u64)))
    }

    fn find(&self, address: u64) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        // The page behind belongs to the block as well.
        (address < block.start + block.pages + PAGE).then_some(block)
    }

    /// Frees; mistakes are findings.
    pub(super) fn free(&mut self, address: u64, tag: Option<u32>, from: u64, by_host: bool) {
        let Some(block) = self.find(address).copied().filter(|block| block.address == address) else {
            let what = if self.find(address).is_some() { "not the start of an allocation" } else { "no pool" };
            return verify::find(Rule::BadFree, format_args!("{address:#x} is {what}"));
        };
        if block.freed.is_some() {
            let (tag, size) = (text(block.tag), block.size);
            return verify::find(Rule::DoubleFree, format_args!("{size} bytes with tag {tag} were freed before"));
        }
        if block.of_host && !by_host {
            return verify::find(Rule::BadFree, format_args!("{address:#x} is memory of an object"));
        }
        if let Some(given) = tag.filter(|given| *given != 0 && given.to_le_bytes() != block.tag) {
            let (ours, theirs) = (text(block.tag), text(given.to_le_bytes()));
            verify::find(Rule::WrongTag, format_args!("allocated as {ours}, freed as {theirs}"));
        }
        check_slack(&block);
        if block.paged {
            paging::remove(block.start);
        }
        protect(block.start, block.pages, Protection::None);
        if let Some(block) = self.blocks.get_mut(&block.start) {
            block.freed = Some(from);
        }
    }

    /// Gives back the memory of an object of the host.
    pub(crate) fn free_object(&mut self, address: u64) {
        self.free(address, None, 0, true);
    }

    /// The range of an allocation that is in use.
    pub(super) fn range(&self, address: u64) -> Option<(u64, u64)> {
        let block = self.find(address).filter(|block| block.freed.is_none())?;
        Some((block.address, block.address + block.size))
    }

    /// What an address that faulted was.
    pub(crate) fn explain(&self, address: u64) -> Option<(Rule, String)> {
        if !self.arena?.contains(address) {
            return None;
        }
        // Just before an allocation lies the page behind its predecessor.
        let block = self.find(address)?;
        let (tag, size) = (text(block.tag), block.size);
        if block.freed.is_some() && address < block.start + block.pages {
            return Some((
                Rule::UseAfterFree,
                format!("{size} bytes with tag {tag} were freed before {address:#x} is used"),
            ));
        }
        let offset = address - block.address.min(address);
        Some((Rule::PoolOverrun, format!("byte {offset} of an allocation of {size} bytes with tag {tag}")))
    }

    /// Reports what the driver did not free, and forgets it.
    pub(crate) fn report_leaks(&mut self) {
        for block in self.blocks.values_mut().filter(|block| block.freed.is_none() && !block.of_host) {
            let (tag, size) = (text(block.tag), block.size);
            let what = format_args!("{size} bytes with tag {tag} are not freed");
            verify::find_at(Rule::PoolLeak, Some("ExAllocatePool2"), block.from, what);
            block.freed = Some(0);
        }
    }
}

/// A tag as it is written in a debugger.
pub(super) fn text(tag: [u8; 4]) -> String {
    tag.iter().map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '.' }).collect()
}

fn bytes(start: u64, length: u64) -> GuestSlice<u8> {
    GuestPtr::new(start).array(length)
}

fn check_slack(block: &Block) {
    let end = block.address + block.size;
    let slack = bytes(end, block.start + block.pages - end).read().or_stop();
    if let Some(place) = slack.iter().position(|byte| *byte != SLACK) {
        let (tag, size, offset) = (text(block.tag), block.size, block.size + place as u64);
        verify::find(
            Rule::PoolOverrun,
            format_args!("byte {offset} of an allocation of {size} bytes with tag {tag} was written"),
        );
    }
}
