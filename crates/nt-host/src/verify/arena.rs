//! Findings and debug output in memory that two processes share.
//!
//! Nothing here allocates or locks, so that a signal handler can record. The process that runs the driver only adds; the
//! one that started it reads whatever is there when the other answers or dies.

use std::fmt::{self, Write as _};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Calls, Rule};
use crate::memory::{Protection, Region};

/// Findings that are kept.
const RECORDS: u32 = 256;
/// Bytes of debug output that are kept.
const OUTPUT: u32 = 1 << 18;
const ROUTINE: usize = 56;
const DETAIL: usize = 424;

/// A finding in a fixed form.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// Set last: the rest is complete.
    ready: u32,
    rule: u16,
    irql: u8,
    /// 0 nowhere, 1 an instruction, 2 where a call returns to.
    kind: u8,
    routine_length: u32,
    detail_length: u32,
    /// Relative to the image.
    rva: u64,
    calls: Calls,
    routine: [u8; ROUTINE],
    detail: [u8; DETAIL],
}

#[repr(C)]
struct Shared {
    records: AtomicU32,
    output: AtomicU32,
    /// Where the driver's image lies; 0 before it was loaded.
    base: AtomicU64,
    padding: [u32; 12],
}

/// The shared memory: a header, the records, the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arena {
    base: u64,
}

const RECORDS_AT: u64 = size_of::<Shared>() as u64;
const OUTPUT_AT: u64 = RECORDS_AT + RECORDS as u64 * size_of::<Record>() as u64;
const SIZE: u64 = OUTPUT_AT + OUTPUT as u64;

/// Text of limited length.
struct Text<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.used..).unwrap_or_default();
        let length = text.floor_char_boundary(room.len());
        if let (Some(place), Some(bytes)) = (room.get_mut(..length), text.as_bytes().get(..length)) {
            place.copy_from_slice(bytes);
            self.used += length;
        }
        Ok(())
    }
}

impl Record {
    pub(crate) fn new(
        rule: Rule,
        irql: u8,
        routine: Option<&str>,
        rva: Option<u64>,
        is_call: bool,
        calls: Calls,
        detail: fmt::Arguments<'_>,
    ) -> Self {
        let mut record = Self {
            ready: 0,
            rule: rule as u16,
            irql,
            kind: match (rva, is_call) {
                (None, _) => 0,
                (Some(_), false) => 1,
                (Some(_), true) => 2,
            },
            routine_length: 0,
            detail_length: 0,
            rva: rva.unwrap_or_default(),
            calls,
            routine: [0; ROUTINE],
            detail: [0; DETAIL],
        };
        let mut text = Text { bytes: &mut record.routine, used: 0 };
        let _ = text.write_str(routine.unwrap_or_default());
        record.routine_length = text.used as u32;
        let mut text = Text { bytes: &mut record.detail, used: 0 };
        let _ = text.write_fmt(detail);
        record.detail_length = text.used as u32;
        record
    }

    pub(crate) fn rule(&self) -> Rule {
        Rule::from_number(self.rule)
    }

    pub(crate) const fn irql(&self) -> u8 {
        self.irql
    }

    /// The place relative to the image.
    pub(crate) fn rva(&self) -> Option<u64> {
        (self.kind != 0).then_some(self.rva)
    }

    /// An address within the instruction at the place, for a look at its source line.
    pub(crate) fn inside(&self) -> Option<u64> {
        self.rva().map(|rva| if self.kind == 2 { rva.saturating_sub(1) } else { rva })
    }

    /// Where the calls return to that led to the place, relative to the image.
    pub(crate) fn calls(&self) -> &[u32] {
        self.calls.rvas()
    }

    pub(crate) fn routine(&self) -> Option<String> {
        let text = self.routine.get(..self.routine_length as usize).unwrap_or_default();
        if text.is_empty() { None } else { Some(String::from_utf8_lossy(text).into_owned()) }
    }

    pub(crate) fn detail(&self) -> String {
        let text = self.detail.get(..self.detail_length as usize).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    fn same_mistake(&self, other: &Self) -> bool {
        self.rule == other.rule && self.rva == other.rva && self.routine == other.routine && self.detail == other.detail
    }
}

impl Arena {
    pub(crate) fn new() -> io::Result<Self> {
        let region = Region::new(SIZE, Protection::ReadWrite, true)?;
        Ok(Self { base: region.base })
    }

    /// Gives the memory back. No copy of this arena may be used afterwards.
    pub(crate) fn release(self) {
        let start = ptr::with_exposed_provenance_mut(self.base as usize);
        // SAFETY: the whole of a region that `new` made, which nobody uses any more by this function's contract.
        unsafe { libc::munmap(start, SIZE as usize) };
    }

    fn shared<'a>(self) -> &'a Shared {
        let place: *const Shared = ptr::with_exposed_provenance(self.base as usize);
        // SAFETY: the region begins with this structure of atomics, zeroed at first.
        unsafe { &*place }
    }

    fn place(self, index: u32) -> *mut Record {
        let at = self.base + RECORDS_AT + u64::from(index) * size_of::<Record>() as u64;
        ptr::with_exposed_provenance_mut(at as usize)
    }

    /// Records a finding, once: the same mistake at the same place is not told again.
    pub(crate) fn add(self, record: &Record) {
        if self.records().any(|known| known.same_mistake(record)) {
            return;
        }
        let index = self.shared().records.fetch_add(1, Ordering::SeqCst);
        if index >= RECORDS {
            return;
        }
        let place = self.place(index);
        // SAFETY: inside the region; the counter gave this place to this call alone, and readers wait for `ready`.
        unsafe { place.write(*record) };
        ready(place).store(1, Ordering::Release);
    }

    /// The findings so far.
    pub(crate) fn read(self) -> Vec<Record> {
        self.records().collect()
    }

    /// Notes where the driver's image lies.
    pub(crate) fn set_base(self, base: u64) {
        self.shared().base.store(base, Ordering::SeqCst);
    }

    /// Where the driver's image lies, or lay; 0 before it was loaded.
    pub(crate) fn base(self) -> u64 {
        self.shared().base.load(Ordering::SeqCst)
    }

    /// Appends debug output; what does not fit is dropped.
    pub(crate) fn print(self, text: &[u8]) {
        let length = text.len() as u32;
        let start = self.shared().output.fetch_add(length, Ordering::SeqCst);
        if start.saturating_add(length) > OUTPUT {
            return;
        }
        let at = self.base + OUTPUT_AT + u64::from(start);
        let place: *mut u8 = ptr::with_exposed_provenance_mut(at as usize);
        // SAFETY: inside the region; the counter gave this range to this call alone.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), place, text.len()) };
    }

    /// The debug output so far.
    pub(crate) fn output(self) -> String {
        let length = self.shared().output.load(Ordering::SeqCst).min(OUTPUT) as usize;
        let mut copy = vec![0_u8; length];
        let place: *const u8 = ptr::with_exposed_provenance((self.base + OUTPUT_AT) as usize);
        // SAFETY: inside the region; the copy has this length.
        unsafe { ptr::copy_nonoverlapping(place, copy.as_mut_ptr(), length) };
        String::from_utf8_lossy(&copy).trim_end_matches('\0').to_owned()
    }
}

/// The first field of a record: whether the rest is complete.
fn ready<'a>(place: *mut Record) -> &'a AtomicU32 {
    // SAFETY: a place of the region, aligned, whose first field is only used as an atomic while it is shared.
    unsafe { AtomicU32::from_ptr(place.cast()) }
}

impl Arena {
    /// The findings so far, without allocation.
    fn records(self) -> impl Iterator<Item = Record> {
        let end = self.shared().records.load(Ordering::SeqCst).min(RECORDS);
        (0..end).filter_map(move |index| {
            let place = self.place(index);
            if ready(place).load(Ordering::Acquire) == 0 {
                return None;
            }
            // SAFETY: complete, as `ready` says, and not written again.
            Some(unsafe { place.read() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Calls, Record};
    use crate::verify::Rule;

    #[test]
    fn a_finding_comes_back_as_it_was_recorded_and_only_once() {
        let arena = Arena::new().expect("memory");
        let record = Record::new(
            Rule::PoolLeak,
            2,
            Some("ExFreePool"),
            Some(0x1234),
            true,
            Calls::default(),
            format_args!("{} bytes", 16),
        );
        arena.add(&record);
        arena.add(&record);
        let [read] = arena.read().try_into().ok().expect("one record");
        assert_eq!((read.rule(), read.irql(), read.rva()), (Rule::PoolLeak, 2, Some(0x1234)));
        assert_eq!(read.inside(), Some(0x1233));
        assert_eq!((read.routine().as_deref(), read.detail().as_str()), (Some("ExFreePool"), "16 bytes"));
    }

    #[test]
    fn text_that_is_too_long_is_cut_and_more_records_than_fit_are_dropped() {
        let arena = Arena::new().expect("memory");
        for rva in 0..1000 {
            let long = "ä".repeat(1000);
            arena.add(&Record::new(
                Rule::Hang,
                0,
                Some(&long),
                Some(rva),
                false,
                Calls::default(),
                format_args!("{long}"),
            ));
        }
        assert_eq!(arena.read().len(), 256);
        assert!(arena.read().iter().all(|record| record.detail().chars().all(|c| c == 'ä')));
    }

    #[test]
    fn output_is_kept_up_to_its_limit() {
        let arena = Arena::new().expect("memory");
        arena.print(b"hello ");
        arena.print(b"world");
        arena.print(&vec![b'x'; 1 << 18]);
        assert_eq!(arena.output(), "hello world");
    }
}
