//! Findings and debug output in memory that two processes share.
//!
//! Nothing here allocates or locks, so a signal handler can record findings. The process that runs the driver only adds
//! records; the process that started it reads them when the other one replies or dies.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nt_processor::image::MAX_IMAGES;
use nt_processor::memory::{Protection, Region};

use super::Record;

/// The maximum number of findings.
const RECORDS: u32 = 256;
/// The byte before a line of the host in the debug output. Text of the driver is UTF-8, which never has this byte.
const HOST_LINE: u8 = 0xFF;

#[repr(C)]
struct Shared {
    records: AtomicU32,
    unused: u32,
    /// The addresses of the images; 0 before an image is loaded.
    bases: [AtomicU64; MAX_IMAGES],
    /// The number of bytes of debug output.
    output: AtomicU64,
    /// The number of bytes of debug output for which there was no room.
    dropped: AtomicU64,
    padding: [u64; 5],
}

/// Findings and debug output, in memory that a process shares with the children that it forks later. It consists of a
/// header, the records and the output.
#[derive(Clone, Copy, Debug)]
pub struct Findings {
    base: u64,
    /// The maximum number of bytes of debug output.
    room: u64,
}

/// A part of the debug output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Whether it is a line of the host about the driver. Otherwise, the driver printed it.
    pub is_host: bool,
}

const RECORDS_AT: u64 = size_of::<Shared>() as u64;
const OUTPUT_AT: u64 = RECORDS_AT + RECORDS as u64 * size_of::<Record>() as u64;

impl Findings {
    /// Allocates the shared memory, with room for this many bytes of debug output. Pages are used when they are written.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory.
    pub fn new(room: u64) -> io::Result<Self> {
        let size = OUTPUT_AT.checked_add(room).ok_or(io::ErrorKind::OutOfMemory)?;
        let region = Region::new(size, Protection::ReadWrite, true)?;
        Ok(Self { base: region.base, room })
    }

    /// Unmaps the memory. No copy of this value may be used afterwards.
    pub fn release(self) {
        let start = ptr::with_exposed_provenance_mut(self.base as usize);
        // SAFETY: this is the whole region that `new` mapped, and the caller guarantees that nothing uses it any more.
        unsafe { libc::munmap(start, (OUTPUT_AT + self.room) as usize) };
    }

    fn shared<'a>(self) -> &'a Shared {
        let place: *const Shared = ptr::with_exposed_provenance(self.base as usize);
        // SAFETY: the region begins with this structure of atomics, which was zeroed.
        unsafe { &*place }
    }

    fn record(self, index: u32) -> *mut Record {
        let at = self.base + RECORDS_AT + u64::from(index) * size_of::<Record>() as u64;
        ptr::with_exposed_provenance_mut(at as usize)
    }

    /// Records a finding, unless the same mistake at the same place has already been recorded.
    pub fn add(self, record: &Record) {
        if self.records().any(|known| known.same_mistake(record)) {
            return;
        }
        let index = self.shared().records.fetch_add(1, Ordering::SeqCst);
        if index >= RECORDS {
            return;
        }
        let place = self.record(index);
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

    /// Returns the number of findings so far, with those for which there was no room.
    #[must_use]
    pub fn count(self) -> u32 {
        self.shared().records.load(Ordering::SeqCst)
    }

    /// Returns the number of findings for which there was no room.
    #[must_use]
    pub fn cut(self) -> u32 {
        self.shared().records.load(Ordering::SeqCst).saturating_sub(RECORDS)
    }

    /// Sets the address of an image.
    pub fn set_base(self, image: u32, base: u64) {
        if let Some(place) = self.shared().bases.get(image as usize) {
            place.store(base, Ordering::SeqCst);
        }
    }

    /// Returns the current or former addresses of the images, the driver under test first; 0 for those that were not
    /// loaded.
    #[must_use]
    pub fn bases(self) -> [u64; MAX_IMAGES] {
        self.shared().bases.each_ref().map(|base| base.load(Ordering::SeqCst))
    }

    /// Appends debug output of the driver. What does not fit is counted and dropped. Returns where the output is and how
    /// long it is.
    pub fn print(self, text: &str) -> (u64, u64) {
        self.append(text.as_bytes())
    }

    /// Appends a line of the host to the debug output. Returns what [`Self::print`] does.
    pub fn announce(self, line: &str) -> (u64, u64) {
        self.append(&[&[HOST_LINE], line.as_bytes(), b"\n"].concat())
    }

    fn append(self, text: &[u8]) -> (u64, u64) {
        let Shared { output, dropped, .. } = self.shared();
        let fits = |used: u64| (self.room - used).min(text.len() as u64);
        // The closure never returns `None`, so this cannot fail.
        let start = output.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| Some(used + fits(used)));
        let start = start.unwrap_or(self.room);
        let length = fits(start);
        dropped.fetch_add(text.len() as u64 - length, Ordering::SeqCst);
        let place: *mut u8 = ptr::with_exposed_provenance_mut((self.base + OUTPUT_AT + start) as usize);
        // SAFETY: the range is inside the region, and the counter assigned it to this call alone. The text is at least this
        // long.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), place, length as usize) };
        (start, length)
    }

    /// Returns the number of bytes of debug output for which there was no room.
    #[must_use]
    pub fn output_dropped(self) -> u64 {
        self.shared().dropped.load(Ordering::SeqCst)
    }

    /// Returns the debug output so far.
    #[must_use]
    pub fn output(self) -> Vec<Printed> {
        let mut copy = self.copy(0, u64::MAX);
        // Text that a thread is writing at this moment.
        while copy.pop_if(|last| *last == 0).is_some() {}
        parts(&copy)
    }

    /// Returns a piece of the debug output, without the mark of the host's lines.
    #[must_use]
    pub fn piece(self, start: u64, length: u64) -> String {
        let mut bytes = self.copy(start, length);
        bytes.retain(|byte| *byte != HOST_LINE);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Copies bytes of the debug output, as many of them as there are.
    fn copy(self, start: u64, length: u64) -> Vec<u8> {
        let used = self.shared().output.load(Ordering::SeqCst);
        let length = length.min(used.saturating_sub(start)) as usize;
        let mut copy = vec![0_u8; length];
        let place: *const u8 = ptr::with_exposed_provenance((self.base + OUTPUT_AT + start.min(used)) as usize);
        // SAFETY: the range is inside the region, and the copy has this length.
        unsafe { ptr::copy_nonoverlapping(place, copy.as_mut_ptr(), length) };
        copy
    }
}

/// Separates the lines of the host from the text of the driver.
fn parts(bytes: &[u8]) -> Vec<Printed> {
    let mut parts = Vec::new();
    let mut add = |bytes: &[u8], is_host| {
        if !bytes.is_empty() {
            parts.push(Printed { text: String::from_utf8_lossy(bytes).into_owned(), is_host });
        }
    };
    for (index, piece) in bytes.split(|byte| *byte == HOST_LINE).enumerate() {
        // Each piece but the first begins with a line of the host.
        let line = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |end| end + 1);
        let (host, driver) = piece.split_at(if index == 0 { 0 } else { line });
        add(host, true);
        add(driver, false);
    }
    parts
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
            let place = self.record(index);
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
    use super::{Findings, Printed, Record};
    use crate::verify::{Calls, Rule};
    use nt_processor::image::ImageOffset;

    #[test]
    fn a_finding_comes_back_as_it_was_recorded_and_only_once() {
        let findings = Findings::new(1 << 10).expect("memory");
        let record = Record::new(
            Rule::PoolLeak,
            2,
            Some("ExFreePool"),
            Some(ImageOffset { image: 0, rva: 0x1234 }),
            true,
            Calls::default(),
            format_args!("{} bytes", 16),
        );
        findings.add(&record);
        findings.add(&record);
        let [read] = findings.read().try_into().ok().expect("one record");
        let place = ImageOffset { image: 0, rva: 0x1234 };
        assert_eq!(read.rule(), Rule::PoolLeak);
        assert_eq!(read.irql(), 2);
        assert_eq!(read.address(), Some(place));
        assert!(read.is_call());
        assert_eq!(read.routine().as_deref(), Some("ExFreePool"));
        assert_eq!(read.detail().as_str(), "16 bytes");
    }

    #[test]
    fn text_that_is_too_long_is_cut_and_more_records_than_fit_are_dropped() {
        let findings = Findings::new(1 << 10).expect("memory");
        for rva in 0..1000 {
            let long = "ä".repeat(1000);
            findings.add(&Record::new(
                Rule::Hang,
                0,
                Some(&long),
                Some(ImageOffset { image: 0, rva }),
                false,
                Calls::default(),
                format_args!("{long}"),
            ));
        }
        assert_eq!(findings.read().len(), 256);
        assert_eq!(findings.cut(), 744);
        assert!(findings.read().iter().all(|record| record.detail().chars().all(|c| c == 'ä')));
    }

    #[test]
    fn output_is_kept_up_to_its_limit_and_the_rest_is_counted() {
        let findings = Findings::new(12).expect("memory");
        let text = |findings: Findings| findings.output().into_iter().map(|part| part.text).collect::<String>();
        findings.print("hello ");
        findings.print("world");
        assert_eq!(text(findings).as_str(), "hello world");
        assert_eq!(findings.output_dropped(), 0);
        findings.print("12345");
        assert_eq!(text(findings).as_str(), "hello world1");
        assert_eq!(findings.output_dropped(), 4);
        findings.print("6");
        findings.announce("7");
        assert_eq!(text(findings).as_str(), "hello world1");
        assert_eq!(findings.output_dropped(), 8);
        Findings::new(0).expect("memory").print("nothing fits");
    }

    #[test]
    fn a_driver_cannot_print_a_line_of_the_host() {
        let findings = Findings::new(1 << 10).expect("memory");
        findings.print("nt-host: fake\nhalf a line, ÿ");
        findings.announce("nt-host: real");
        findings.announce("nt-host: again");
        findings.print("end\n");
        let part = |text: &str, is_host| Printed { text: text.to_owned(), is_host };
        assert_eq!(
            findings.output(),
            [
                part("nt-host: fake\nhalf a line, ÿ", false),
                part("nt-host: real\n", true),
                part("nt-host: again\n", true),
                part("end\n", false)
            ]
        );
    }
}
