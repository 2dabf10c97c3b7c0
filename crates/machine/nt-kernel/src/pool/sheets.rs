//! The pages of small allocations, which are prepared many at a time.
//!
//! A *sheet* is a range of addresses. Of its pages, the first of every few is a *slot*: accessible, with memory, and ready for an
//! allocation. All others are marked as inaccessible. So an allocation needs no system call and no page fault, and its end needs
//! one system call at most.
//!
//! Each sheet has new addresses, but not new memory: it maps a *bank* of a file in memory that earlier sheets have mapped as
//! well. A slot whose memory is still in use through an earlier sheet is left out.
//!
//! Sheets, and the slots of each, are used from the highest address to the lowest. So slots that are ready are below all
//! allocations, behind inaccessible pages: an access past the end of an allocation does not reach them.

use std::collections::BTreeMap;
use std::fs::File;

use nt_processor::memory::{
    PAGE, Protection, guard, guard_all, map_file, memory_file, populate_all, protect, release, unguard,
};

/// The number of slots of a sheet.
const SLOTS: u64 = 128;
/// The distance of slots, and the size of a sheet.
const STRIDE: u64 = 4 * PAGE;
const SHEET: u64 = SLOTS * STRIDE;
/// The largest allocation: the rest of its stride stays inaccessible.
pub(super) const WIDEST: u64 = 3 * PAGE;

/// The sheets.
pub(super) struct Sheets {
    file: File,
    /// For each bank, a bit for each slot whose memory is in use.
    banks: Vec<u128>,
    /// The sheet from which slots are taken, which is the lowest one, and its bank.
    current: u64,
    bank: usize,
    /// Its slots that are ready.
    ready: u128,
    /// The bank and the number of slots in use of each other sheet that has some, and of the current one.
    used: BTreeMap<u64, (usize, u32)>,
}

impl Sheets {
    /// Creates sheets below an address, and prepares the first one. Returns `None` if there is no memory, or if the system does not
    /// support them: Linux marks pages of files since 6.15.
    pub(super) fn new(end: u64, limit: u64) -> Option<Self> {
        let current = end / SHEET * SHEET;
        let used = BTreeMap::new();
        let mut sheets = Self { file: memory_file().ok()?, banks: Vec::new(), current, bank: 0, ready: 0, used };
        sheets.prepare(limit)?;
        Some(sheets)
    }

    /// Returns the lowest address.
    pub(super) const fn start(&self) -> u64 {
        self.current
    }

    /// Takes a slot and makes its first pages accessible. Their bytes have any value. No sheet begins below `limit`. Returns
    /// `None` if there is no memory.
    pub(super) fn open(&mut self, size: u64, rights: Protection, limit: u64) -> Option<u64> {
        if self.ready == 0 {
            self.prepare(limit)?;
        }
        let index = self.ready.checked_ilog2()?;
        let slot = self.current + u64::from(index) * STRIDE;
        let is_open = (size <= PAGE || unguard(slot + PAGE, size - PAGE))
            && (rights == Protection::ReadWrite || protect(slot, size, rights));
        if !is_open {
            return None;
        }
        self.ready &= !(1 << index);
        *self.banks.get_mut(self.bank)? |= 1 << index;
        self.used.entry(self.current).or_insert((self.bank, 0)).1 += 1;
        Some(slot)
    }

    /// Gives the pages of slots back.
    pub(super) fn close(&mut self, slots: &mut [(u64, u64)]) {
        slots.sort_unstable();
        // All pages between two slots that are next to each other are inaccessible.
        let is_next = |first: &(u64, u64), second: &(u64, u64)| {
            second.0 - first.0 == STRIDE && first.0 / SHEET == second.0 / SHEET
        };
        for range in slots.chunk_by(is_next) {
            if let ([(start, _), ..], [.., (last, size)]) = (range, range) {
                self.close_range(*start, last + size - start, range);
            }
        }
    }

    fn close_range(&mut self, start: u64, size: u64, slots: &[(u64, u64)]) {
        let sheet = start / SHEET * SHEET;
        let Some((bank, used)) = self.used.get_mut(&sheet) else { return };
        *used = used.saturating_sub(slots.len() as u32);
        let bank = *bank;
        let is_unused = *used == 0 && sheet != self.current;
        if is_unused && release(sheet, SHEET) {
            self.used.remove(&sheet);
        } else if !guard(start, size) {
            protect(start, size, Protection::None);
        }
        if let Some(busy) = self.banks.get_mut(bank) {
            for (slot, _) in slots {
                *busy &= !(1 << ((slot - sheet) / STRIDE));
            }
        }
    }

    /// Prepares the sheet below the current one.
    fn prepare(&mut self, limit: u64) -> Option<()> {
        let sheet = self.current.checked_sub(SHEET).filter(|sheet| *sheet >= limit)?;
        let is_roomy = |busy: &u128| busy.count_ones() <= u128::BITS / 2;
        let bank = self.banks.iter().position(is_roomy).unwrap_or(self.banks.len());
        let busy = self.banks.get(bank).copied().unwrap_or_default();
        let slots = || (0..SLOTS).map(|index| (sheet + index * STRIDE, busy & 1 << index == 0));
        let closed = slots().map(|(slot, is_free)| if is_free { (slot + PAGE, STRIDE - PAGE) } else { (slot, STRIDE) });
        let is_mapped = map_file(&self.file, bank as u64 * SHEET, sheet, SHEET);
        if !(is_mapped && guard_all(closed)) {
            release(sheet, SHEET);
            return None;
        }
        // If that fails, each slot gets its memory when it is used.
        populate_all(slots().filter(|(_, is_free)| *is_free).map(|(slot, _)| (slot, PAGE)));
        if bank == self.banks.len() {
            self.banks.push(0);
        }
        // The last slot of the sheet before can have gone when that was still the current one.
        if self.used.get(&self.current).is_some_and(|(_, used)| *used == 0) && release(self.current, SHEET) {
            self.used.remove(&self.current);
        }
        (self.current, self.bank, self.ready) = (sheet, bank, !busy);
        Some(())
    }
}
