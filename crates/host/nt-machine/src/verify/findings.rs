//! Findings and debug output in memory that two processes share.
//!
//! Nothing here allocates or locks, so a signal handler can record findings. The process that runs the driver only adds
//! records; the process that started it reads them when the other one replies or dies.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Record;
use crate::memory::{Protection, Region};

/// The maximum number of findings.
const RECORDS: u32 = 256;
/// The maximum number of bytes of debug output.
const OUTPUT: u32 = 1 << 18;
#[repr(C)]
struct Shared {
    records: AtomicU32,
    output: AtomicU32,
    /// The address of the driver's image; 0 before it is loaded.
    base: AtomicU64,
    padding: [u32; 12],
}

/// Findings and debug output, in memory that a process shares with the children that it forks later. It consists of a
/// header, the records and the output.
#[derive(Clone, Copy, Debug)]
pub struct Findings {
    base: u64,
}

const RECORDS_AT: u64 = size_of::<Shared>() as u64;
const OUTPUT_AT: u64 = RECORDS_AT + RECORDS as u64 * size_of::<Record>() as u64;
const SIZE: u64 = OUTPUT_AT + OUTPUT as u64;

impl Findings {
    /// Allocates the shared memory.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory.
    pub fn new() -> io::Result<Self> {
        let region = Region::new(SIZE, Protection::ReadWrite, true)?;
        Ok(Self { base: region.base })
    }

    /// Unmaps the memory. No copy of this value may be used afterwards.
    pub fn release(self) {
        let start = ptr::with_exposed_provenance_mut(self.base as usize);
        // SAFETY: this is the whole region that `new` mapped, and the caller guarantees that nothing uses it any more.
        unsafe { libc::munmap(start, SIZE as usize) };
    }

    fn shared<'a>(self) -> &'a Shared {
        let place: *const Shared = ptr::with_exposed_provenance(self.base as usize);
        // SAFETY: the region begins with this structure of atomics, which was zeroed.
        unsafe { &*place }
    }

    fn place(self, index: u32) -> *mut Record {
        let at = self.base + RECORDS_AT + u64::from(index) * size_of::<Record>() as u64;
        ptr::with_exposed_provenance_mut(at as usize)
    }

    /// Records a finding, unless the same mistake at the same place has already been recorded.
    pub(crate) fn add(self, record: &Record) {
        if self.records().any(|known| known.same_mistake(record)) {
            return;
        }
        let index = self.shared().records.fetch_add(1, Ordering::SeqCst);
        if index >= RECORDS {
            return;
        }
        let place = self.place(index);
        // SAFETY: the place is inside the region. The counter assigned it to this call alone, and readers wait for
        // `ready`.
        unsafe { place.write(*record) };
        ready(place).store(1, Ordering::Release);
    }

    /// Returns the findings so far.
    #[must_use]
    pub fn read(self) -> Vec<Record> {
        self.records().collect()
    }

    /// Returns the number of findings for which there was no room.
    #[must_use]
    pub fn cut(self) -> u32 {
        self.shared().records.load(Ordering::SeqCst).saturating_sub(RECORDS)
    }

    /// Sets the address of the driver's image.
    pub(crate) fn set_base(self, base: u64) {
        self.shared().base.store(base, Ordering::SeqCst);
    }

    /// Returns the current or former address of the driver's image; 0 before it was loaded.
    #[must_use]
    pub fn base(self) -> u64 {
        self.shared().base.load(Ordering::SeqCst)
    }

    /// Appends debug output. Drops the text if it does not fit.
    pub(crate) fn print(self, text: &[u8]) {
        let length = text.len() as u32;
        // Stop counting once the buffer is full: the counter must not wrap around.
        if self.shared().output.load(Ordering::SeqCst) > OUTPUT {
            return;
        }
        let start = self.shared().output.fetch_add(length, Ordering::SeqCst);
        if start.saturating_add(length) > OUTPUT {
            return;
        }
        let at = self.base + OUTPUT_AT + u64::from(start);
        let place: *mut u8 = ptr::with_exposed_provenance_mut(at as usize);
        // SAFETY: the range is inside the region, and the counter assigned it to this call alone.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), place, text.len()) };
    }

    /// Returns the debug output so far.
    #[must_use]
    pub fn output(self) -> String {
        let length = self.shared().output.load(Ordering::SeqCst).min(OUTPUT) as usize;
        let mut copy = vec![0_u8; length];
        let place: *const u8 = ptr::with_exposed_provenance((self.base + OUTPUT_AT) as usize);
        // SAFETY: the range is inside the region, and the copy has this length.
        unsafe { ptr::copy_nonoverlapping(place, copy.as_mut_ptr(), length) };
        String::from_utf8_lossy(&copy).trim_end_matches('\0').to_owned()
    }
}

/// Returns the first field of a record, which says whether the rest is complete.
fn ready<'a>(place: *mut Record) -> &'a AtomicU32 {
    // SAFETY: the place is inside the region and aligned. Its first field is only used as an atomic while it is shared.
    unsafe { AtomicU32::from_ptr(place.cast()) }
}

impl Findings {
    /// Returns the findings so far, without allocating.
    fn records(self) -> impl Iterator<Item = Record> {
        let end = self.shared().records.load(Ordering::SeqCst).min(RECORDS);
        (0..end).filter_map(move |index| {
            let place = self.place(index);
            if ready(place).load(Ordering::Acquire) == 0 {
                return None;
            }
            // SAFETY: `ready` says that the record is complete, and it is never written again.
            Some(unsafe { place.read() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Findings, Record};
    use crate::verify::{Calls, Rule};

    #[test]
    fn a_finding_comes_back_as_it_was_recorded_and_only_once() {
        let findings = Findings::new().expect("memory");
        let record = Record::new(
            Rule::PoolLeak,
            2,
            Some("ExFreePool"),
            Some(0x1234),
            true,
            Calls::default(),
            format_args!("{} bytes", 16),
        );
        findings.add(&record);
        findings.add(&record);
        let [read] = findings.read().try_into().ok().expect("one record");
        assert_eq!((read.rule(), read.irql(), read.rva()), (Rule::PoolLeak, 2, Some(0x1234)));
        assert_eq!(read.inside(), Some(0x1233));
        assert_eq!((read.routine().as_deref(), read.detail().as_str()), (Some("ExFreePool"), "16 bytes"));
    }

    #[test]
    fn text_that_is_too_long_is_cut_and_more_records_than_fit_are_dropped() {
        let findings = Findings::new().expect("memory");
        for rva in 0..1000 {
            let long = "ä".repeat(1000);
            findings.add(&Record::new(
                Rule::Hang,
                0,
                Some(&long),
                Some(rva),
                false,
                Calls::default(),
                format_args!("{long}"),
            ));
        }
        assert_eq!((findings.read().len(), findings.cut()), (256, 744));
        assert!(findings.read().iter().all(|record| record.detail().chars().all(|c| c == 'ä')));
    }

    #[test]
    fn output_is_kept_up_to_its_limit() {
        let findings = Findings::new().expect("memory");
        findings.print(b"hello ");
        findings.print(b"world");
        findings.print(&vec![b'x'; 1 << 18]);
        assert_eq!(findings.output(), "hello world");
    }
}
