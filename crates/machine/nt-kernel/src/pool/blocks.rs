//! The pool's allocations: each has pages of its own and ends at an inaccessible page.
//!
//! Freed memory stays inaccessible, so that a later access faults and can be explained; the memory itself is returned
//! to the system. Linux limits the number of ranges with different access rights. If a driver has very many
//! allocations, further ones are placed side by side, with a gap after each that is checked when it is freed.

use std::collections::{BTreeMap, VecDeque};

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::image::Leaving;
use nt_processor::memory::OrStop as _;
use nt_processor::memory::{GuestPtr, GuestSlice, PAGE, Plain, Protection, Region, protect};
use nt_verifier::exception::changing;
use nt_verifier::verify::{self, Breach, Rule};

use super::kind::Kind;
use super::pages::Pages;
use super::{paging, together};

/// The maximum number of bytes of the driver's allocations in use, unless the configuration sets another limit.
const MEMORY: u64 = 4 << 30;
/// The minimum limit for the host's objects, in bytes. A lower limit applies only to the driver.
const HOST: u64 = 256 << 20;
/// The maximum number of allocations in use with pages of their own. Linux allows 65,530 ranges per process, and each
/// allocation needs two.
const MAX_GUARDED: usize = 16_384;
/// The maximum number of allocations in use of a page or more, which always have pages of their own. The rest of the
/// ranges is for stacks and for the host's own memory, without which the host cannot continue.
const MAX_LARGE: usize = 30_000;
/// The size of a chunk of memory for allocations side by side, and the size of the gap after each of them.
const CHUNK: u64 = 1 << 20;
const GAP: u64 = 16;
/// The maximum number of freed allocations that are remembered.
const MAX_FREED: usize = 65_536;
/// The alignment of pool on x64.
const ALIGNMENT: u64 = 16;
/// The tag of what the host allocates for objects and buffers of requests.
const SYSTEM: [u8; 4] = *b"Host";
/// The tag of a client's own buffers, whose addresses a driver gets.
const CLIENT: [u8; 4] = *b"User";
/// Fills new memory, so that drivers do not rely on zeroes.
const FRESH: u8 = 0xC3;
/// The number of bytes with this value in a row that are not data.
const LEAST_UNWRITTEN: usize = 16;
/// Fills freed allocations whose memory is shared with others.
const FREED: u8 = 0xDD;
/// Fills the bytes between the end of an allocation and the next page.
const SLACK: u8 = 0x5A;

/// An allocation.
#[derive(Clone, Copy, Debug)]
struct Block {
    address: u64,
    size: u64,
    /// The first page and the size of all pages in bytes. For an allocation in a chunk: its first byte, and its size
    /// with the gap.
    start: u64,
    pages: u64,
    /// The chunk that contains it, if it has no pages of its own.
    chunk: Option<u64>,
    tag: [u8; 4],
    paged: bool,
    /// Whether the host allocated it for an object, so that the driver must not free it.
    of_host: bool,
    /// The routine that allocated it, and the address that called the routine.
    routine: Option<&'static str>,
    from: u64,
    freed: Option<u64>,
    /// What an access is after the allocation was freed, and what the allocation was; `None` for any memory.
    late: Option<(Breach, &'static str)>,
}

/// The pool.
pub struct Pool {
    pages: Pages,
    /// The allocations, by the member `start`.
    blocks: BTreeMap<u64, Block>,
    /// The `start` members of freed allocations, oldest first.
    freed: VecDeque<u64>,
    /// The number of allocations in use that have pages of their own.
    guarded: usize,
    /// The number of the driver's allocations in use.
    held: usize,
    /// The number of bytes of pages that the driver's allocations use, and its maximum.
    used: u64,
    limit: u64,
    /// The number of bytes of pages that the host's objects use. `used` does not include them.
    host: u64,
    /// The chunks by first page: the size, the number of allocations in use, and whether its pages count as the host's.
    chunks: BTreeMap<u64, (u64, usize, bool)>,
    /// The chunks for the next allocations of the driver, of the host, and of the driver's code: first page, next byte,
    /// end. They are separate, so that a driver that writes past its allocation does not damage an object of the host.
    open: [Option<(u64, u64, u64)>; 3],
}

impl Pool {
    /// Creates a pool whose allocations in use take at most this many bytes; `None` for the default limit.
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            pages: Pages::new(),
            blocks: BTreeMap::new(),
            freed: VecDeque::new(),
            guarded: 0,
            held: 0,
            used: 0,
            host: 0,
            limit: limit.unwrap_or(MEMORY),
            chunks: BTreeMap::new(),
            open: [None; 3],
        }
    }

    /// Allocates memory. Returns `None` if there is no room.
    pub fn allocate(&mut self, size: u64, tag: [u8; 4], pageable: bool, from: u64) -> Option<u64> {
        self.allocate_as(if pageable { Kind::Paged } else { Kind::NonPaged }, size, tag, from)
    }

    /// Allocates memory of this kind. Returns `None` if there is no room.
    pub fn allocate_as(&mut self, kind: Kind, size: u64, tag: [u8; 4], from: u64) -> Option<u64> {
        self.allocate_filled(kind, size, tag, from, FRESH)
    }

    /// Allocates memory whose bytes are zero. Returns `None` if there is no room.
    pub(crate) fn allocate_zeroed(&mut self, kind: Kind, size: u64, tag: [u8; 4], from: u64) -> Option<u64> {
        self.allocate_filled(kind, size, tag, from, 0)
    }

    /// Allocates memory whose bytes have this value. Returns `None` if there is no room.
    fn allocate_filled(&mut self, kind: Kind, size: u64, tag: [u8; 4], from: u64, byte: u8) -> Option<u64> {
        let wanted = size.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let of_host = from == 0;
        let is_guarded = size >= PAGE || self.guarded < MAX_GUARDED;
        let ((start, is_zeroed), pages, chunk) = if is_guarded {
            if self.guarded >= MAX_LARGE {
                return None;
            }
            let pages = wanted.checked_next_multiple_of(PAGE)?;
            (self.reserve(pages, of_host, kind.rights())?, pages, None)
        } else {
            let (start, chunk) = self.share(wanted + GAP, of_host, kind)?;
            ((start, false), wanted + GAP, Some(chunk))
        };
        // Allocations of at least a page are page-aligned; smaller ones end at the end of their page.
        let address = if size >= PAGE || !is_guarded { start } else { start + pages - wanted };
        // The system zeroes large ranges when they are first accessed. A large buffer that a driver ignores costs little.
        if byte != 0 || !is_zeroed {
            bytes(address, size).fill(byte).or_stop();
        }
        bytes(address + size, start + pages - address - size).fill(SLACK).or_stop();
        let may_go = kind == Kind::Paged && is_guarded;
        let routine = thread::site().map(|site| site.routine);
        let block = Block {
            address,
            size,
            start,
            pages,
            chunk,
            tag,
            paged: may_go,
            of_host,
            routine,
            from,
            freed: None,
            late: None,
        };
        self.blocks.insert(start, block);
        self.guarded += usize::from(is_guarded);
        self.held += usize::from(!of_host);
        if may_go {
            paging::add(start, pages);
        }
        Some(address)
    }

    /// Reserves new pages, followed by an inaccessible one. Returns the first one, and whether all of their bytes are zero. Returns
    /// `None` if there is no memory.
    fn reserve(&mut self, size: u64, of_host: bool, rights: Protection) -> Option<(u64, bool)> {
        // The limits are separate: the host must be able to continue when the driver has used up its memory.
        let (used, limit) = if of_host { (&mut self.host, self.limit.max(HOST)) } else { (&mut self.used, self.limit) };
        let sum = used.checked_add(size)?;
        if sum > limit {
            return None;
        }
        let opened = self.pages.open(size, rights)?;
        *used = sum;
        Some(opened)
    }

    /// Reserves room in a chunk. Returns its address and the chunk.
    fn share(&mut self, size: u64, of_host: bool, kind: Kind) -> Option<(u64, u64)> {
        let index = if of_host {
            1
        } else if kind == Kind::Executable {
            2
        } else {
            0
        };
        let rights = if of_host { Protection::ReadWrite } else { kind.rights() };
        let open = self.open.get(index).copied().flatten();
        let (chunk, next, end) = match open {
            Some((chunk, next, end)) if end - next >= size => (chunk, next, end),
            full => {
                // The end of its last allocation does not remove an open chunk, so an empty one is removed here.
                let is_unused = |chunk: &u64| self.chunks.get(chunk).is_some_and(|(_, count, _)| *count == 0);
                if let Some(unused) = full.map(|(chunk, ..)| chunk).filter(is_unused) {
                    self.set_open(index, None);
                    self.remove_chunk(unused);
                }
                let (chunk, _) = self.reserve(CHUNK, of_host, rights)?;
                self.chunks.insert(chunk, (CHUNK, 0, of_host));
                (chunk, chunk, chunk + CHUNK)
            }
        };
        self.set_open(index, Some((chunk, next + size, end)));
        if let Some((_, count, _)) = self.chunks.get_mut(&chunk) {
            *count += 1;
        }
        Some((next, chunk))
    }

    fn set_open(&mut self, index: usize, chunk: Option<(u64, u64, u64)>) {
        if let Some(open) = self.open.get_mut(index) {
            *open = chunk;
        }
    }

    /// Makes the pages of an allocation executable, because the driver asked for such a mapping of it.
    pub(crate) fn make_executable(&self, address: u64) {
        let own_pages = |block: &&Block| block.freed.is_none() && block.chunk.is_none() && !block.paged;
        // A buffer that changes after its first read must stay inaccessible until then.
        let may_change = |block: &&Block| changing::is_watched(block.address);
        if let Some(block) = self.find(address).filter(own_pages).filter(|block| !may_change(block)) {
            protect(block.start, block.pages, Protection::All);
        }
    }

    /// Makes the pages of an allocation inaccessible and returns their memory to the system, unless another allocation
    /// uses them.
    fn withdraw(&mut self, block: &Block) {
        let Some(chunk) = block.chunk else {
            self.guarded -= 1;
            return self.withdraw_pages(block.start, block.pages, block.of_host);
        };
        let Some((_, count, _)) = self.chunks.get_mut(&chunk) else { return };
        *count -= 1;
        let is_open = self.open.iter().flatten().any(|(open, ..)| *open == chunk);
        if *count != 0 || is_open {
            bytes(block.address, block.size).fill(FREED).or_stop();
        } else {
            self.remove_chunk(chunk);
        }
    }

    fn remove_chunk(&mut self, chunk: u64) {
        if let Some((size, _, of_host)) = self.chunks.remove(&chunk) {
            self.withdraw_pages(chunk, size, of_host);
        }
    }

    fn withdraw_pages(&mut self, start: u64, size: u64, of_host: bool) {
        if !together::hold(start, size) {
            self.pages.close(&mut [(start, size)]);
        }
        *(if of_host { &mut self.host } else { &mut self.used }) -= size;
    }

    /// Makes pages of allocations that have ended inaccessible.
    pub(super) fn close(&mut self, ranges: &mut [(u64, u64)]) {
        self.pages.close(ranges);
    }

    /// Allocates zeroed memory for an object of the host. It is not counted as a leak. Returns 0 if there is no memory.
    pub fn object(&mut self, size: u64) -> u64 {
        self.object_as(Kind::NonPaged, SYSTEM, size)
    }

    /// Allocates zeroed memory of the host that the driver may execute. Returns 0 if there is no memory.
    pub fn object_as(&mut self, kind: Kind, tag: [u8; 4], size: u64) -> u64 {
        self.allocate_zeroed(kind, size, tag, 0).unwrap_or_default()
    }

    /// Allocates a zeroed object of the host. Returns NULL if there is no memory.
    pub fn new_object<T: Plain>(&mut self) -> GuestPtr<T> {
        self.new_objects(1)
    }

    /// Allocates a zeroed array of the host. Returns NULL if there is no memory.
    pub fn new_objects<T: Plain>(&mut self, count: u64) -> GuestPtr<T> {
        GuestPtr::new(self.object(count.saturating_mul(size_of::<T>() as u64)))
    }

    /// Like [`Self::new_objects`], but fails with `STATUS_INSUFFICIENT_RESOURCES` if there is no memory.
    pub fn try_new_objects<T: Plain>(&mut self, count: u64) -> Result<GuestPtr<T>, NtStatus> {
        self.new_objects(count).non_null().ok_or(NtStatus::InsufficientResources)
    }

    /// Like [`Self::new_object`], but fails with `STATUS_INSUFFICIENT_RESOURCES` if there is no memory.
    pub fn try_new_object<T: Plain>(&mut self) -> Result<GuestPtr<T>, NtStatus> {
        self.try_new_objects(1)
    }

    /// Allocates memory for a client's buffer. As on Windows, it is not zeroed: [`unwritten`] finds what nobody has written.
    pub(crate) fn try_new_buffer(&mut self, size: u64) -> Result<GuestPtr<u8>, NtStatus> {
        let address = self.allocate_as(Kind::NonPaged, size, SYSTEM, 0);
        address.map(GuestPtr::new).ok_or(NtStatus::InsufficientResources)
    }

    /// As [`Self::try_new_objects`], for a buffer in the part of memory that a client's program owns on Windows.
    pub fn try_new_client_buffer(&mut self, size: u64) -> Result<GuestPtr<u8>, NtStatus> {
        let address = self.object_as(Kind::NonPaged, CLIENT, size);
        GuestPtr::new(address).non_null().ok_or(NtStatus::InsufficientResources)
    }

    fn find(&self, address: u64) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        // The inaccessible page after it belongs to the block as well.
        let behind = if block.chunk.is_none() { PAGE } else { 0 };
        (address < block.start + block.pages + behind).then_some(block)
    }

    /// Frees an allocation. Mistakes are recorded as findings.
    pub(super) fn free(&mut self, address: u64, tag: Option<u32>, from: u64, by_host: bool) {
        let Some(block) = self.find(address).copied().filter(|block| block.address == address) else {
            let what = if self.find(address).is_some() { "not the start of an allocation" } else { "not pool memory" };
            return verify::find(Rule::BadFree, format_args!("{address:#x} is {what}"));
        };
        if block.freed.is_some() {
            let tag = text(block.tag);
            let size = block.size;
            return verify::find(Rule::DoubleFree, format_args!("frees {size} bytes with tag {tag} a second time"));
        }
        if block.of_host && !by_host {
            return verify::find(Rule::BadFree, format_args!("{address:#x} is the memory of a kernel object"));
        }
        if let Some(given) = tag.filter(|given| *given != 0 && given.to_le_bytes() != block.tag) {
            let ours = text(block.tag);
            let theirs = text(given.to_le_bytes());
            verify::find(
                Rule::WrongTag,
                format_args!("frees memory with tag {theirs} that was allocated with tag {ours}"),
            );
        }
        changing::freed(block.address, block.size);
        check_slack(&block);
        if block.paged {
            paging::remove(block.start);
        }
        self.withdraw(&block);
        self.held -= usize::from(!block.of_host);
        if let Some(block) = self.blocks.get_mut(&block.start) {
            block.freed = Some(from);
        }
        self.freed.push_back(block.start);
        if self.freed.len() > MAX_FREED
            && let Some(oldest) = self.freed.pop_front()
        {
            self.blocks.remove(&oldest);
        }
    }

    /// Returns the number of the driver's allocations in use.
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Frees the memory of an object of the host.
    pub fn free_object(&mut self, address: u64) {
        self.free(address, None, 0, true);
    }

    /// Frees the memory of an object of the host. An access to it, with this description, is then this breach.
    pub fn free_object_as(&mut self, address: u64, late: (Breach, &'static str)) {
        self.free_object(address);
        let start = self.find(address).map(|block| block.start);
        if let Some(block) = start.and_then(|start| self.blocks.get_mut(&start)) {
            block.late = Some(late);
        }
    }

    /// Returns the start and the end of an allocation in use.
    pub fn range(&self, address: u64) -> Option<(u64, u64)> {
        let block = self.find(address).filter(|block| block.freed.is_none())?;
        Some((block.address, block.address + block.size))
    }

    /// Returns whether an allocation with this tag starts at an address.
    pub(crate) fn is_allocated(&self, address: u64, tag: [u8; 4]) -> bool {
        self.find(address).is_some_and(|block| block.address == address && block.tag == tag && block.freed.is_none())
    }

    /// Returns the addresses of all allocations.
    pub const fn arena(&self) -> Option<Region> {
        self.pages.arena()
    }

    /// Returns whether an address is outside of a client's buffer that is in use. On Windows, the client may have other memory there, or
    /// none: then an access is an exception, which the driver may handle.
    pub(crate) fn is_beside_client_buffer(&self, address: u64) -> bool {
        let is_in_use = |block: &&Block| block.tag == CLIENT && block.freed.is_none();
        let is_outside = |block: &Block| !(block.address..block.address + block.size).contains(&address);
        self.find(address).filter(is_in_use).is_some_and(is_outside)
    }

    /// Explains the address of a fault. `executes` says whether the processor fetched an instruction there.
    pub fn explain(&self, address: u64, executes: bool) -> Option<(Breach, String)> {
        if !self.arena()?.contains(address) {
            return None;
        }
        // An address just before an allocation is in the inaccessible page after its predecessor.
        let block = self.find(address)?;
        let ((article, what), size) = (described(block), block.size);
        if block.freed.is_some() && address < block.start + block.pages {
            return Some(match block.late {
                Some((breach, late)) => (breach, format!("accesses {address:#x} in {late}, {size} bytes")),
                None => (Rule::UseAfterFree.into(), format!("accesses {address:#x} in a freed {what}")),
            });
        }
        let offset = address - block.address.min(address);
        if executes && address >= block.address && offset < size {
            return Some((
                Rule::NoExecute.into(),
                format!("executes byte {offset} of {article} {what}, which is not executable"),
            ));
        }
        Some((Rule::PoolOverrun.into(), format!("accesses byte {offset} of {article} {what}")))
    }

    /// Reports what an image did not free, and marks it as freed.
    pub fn report_leaks(&mut self, leaving: Leaving) {
        let is_left = |block: &&mut Block| block.freed.is_none() && !block.of_host && leaving.owns(block.from);
        for block in self.blocks.values_mut().filter(is_left) {
            let tag = text(block.tag);
            let size = block.size;
            let what = format_args!("does not free {size} bytes with tag {tag}");
            verify::find_at(Rule::PoolLeak, block.routine, block.from, what);
            block.freed = Some(0);
            self.held -= 1;
        }
    }
}

/// Returns the longest part of a buffer that nobody has written since it was allocated. A short one may be chance.
pub(crate) fn unwritten(bytes: &[u8]) -> Option<usize> {
    let longest = bytes.split(|byte| *byte != FRESH).map(<[u8]>::len).max();
    longest.filter(|length| *length >= LEAST_UNWRITTEN)
}

/// Returns a tag as text, as a debugger shows it.
pub(super) fn text(tag: [u8; 4]) -> String {
    tag.iter().map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '.' }).collect()
}

/// Describes an allocation, after its article. What the system allocates for a driver, such as the buffer of a request, has no
/// tag that the driver chose.
fn described(block: &Block) -> (&'static str, String) {
    match block.tag {
        SYSTEM => ("a", format!("buffer or object of {} bytes from the system", block.size)),
        CLIENT => ("a", format!("buffer of {} bytes of the client's own", block.size)),
        tag => ("an", format!("allocation of {} bytes with tag {}", block.size, text(tag))),
    }
}

fn bytes(start: u64, length: u64) -> GuestSlice<u8> {
    GuestPtr::new(start).array(length)
}

fn check_slack(block: &Block) {
    let end = block.address + block.size;
    let slack = bytes(end, block.start + block.pages - end).read().or_stop();
    if let Some(place) = slack.iter().position(|byte| *byte != SLACK) {
        let ((article, what), offset) = (described(block), block.size + place as u64);
        verify::find(Rule::PoolOverrun, format_args!("overwrites byte {offset} of {article} {what}"));
    }
}

#[cfg(test)]
mod tests {

    use super::super::kind::Kind;
    use super::super::pages::tests::is_readable;
    use super::{CHUNK, FRESH, MAX_GUARDED, Pool};
    use nt_verifier::exception::changing;

    #[test]
    fn a_chunk_that_was_emptied_while_it_was_open_is_returned() {
        let mut pool = Pool::new(None);
        // From now on, small allocations are placed side by side.
        pool.guarded = MAX_GUARDED;
        let size = 4000;
        for _ in 0..3 * CHUNK / size {
            let address = pool.allocate(size, *b"Test", false, 1).expect("memory");
            pool.free(address, None, 1, false);
        }
        assert_eq!(pool.used, CHUNK);
        assert_eq!(pool.chunks.len(), 1);
    }

    #[test]
    fn memory_is_zeroed_only_if_that_is_wanted_with_pages_of_its_own_and_in_a_chunk() {
        let mut pool = Pool::new(None);
        for guarded in [0, MAX_GUARDED] {
            pool.guarded = guarded;
            for size in [1, 100, 4096, 10_000].into_iter().filter(|size| guarded == 0 || *size < 4096) {
                let zeroed = pool.allocate_zeroed(Kind::NonPaged, size, *b"Test", 1).expect("memory");
                let other = pool.allocate_as(Kind::NonPaged, size, *b"Test", 1).expect("memory");
                let read = |address| super::bytes(address, size).read().expect("accessible memory");
                assert_eq!(read(zeroed), vec![0; size as usize]);
                assert_eq!(read(other), vec![FRESH; size as usize]);
            }
        }
    }

    /// A driver can complete a request, and thereby free its buffer, while its client changes the buffer.
    #[test]
    fn a_buffer_that_changes_is_inaccessible_until_it_is_read_and_after_it_is_freed() {
        let mut pool = Pool::new(None);
        let mut buffer = || pool.try_new_buffer(16).expect("memory");
        let first = buffer();
        let second = buffer();
        changing::attach(Box::leak(Box::default()));
        changing::request(0, 1);
        changing::watch(first, 16);
        assert!(changing::is_watched(first.address()));
        assert!(!is_readable(first.address()), "a read faults, and the handler lets it read");
        assert!(is_readable(second.address()));
        pool.free_object(first.address());
        assert!(!changing::is_watched(first.address()));
        assert!(!is_readable(first.address()), "it was freed");
    }
}
