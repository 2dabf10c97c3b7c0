//! The attribute certificate table: whether the file has a signature, and whether the signature is at a valid location.
//!
//! The content of the signature is not examined here.

use object::LittleEndian as LE;
use object::read::ReadRef;
use object::{U16, U32};
use windows_constants::image::{WIN_CERT_REVISION_2_0, WIN_CERT_TYPE_PKCS_SIGNED_DATA};

/// Maximum number of entries. A file with more is considered hostile.
const MOST: usize = 64;

/// The table that the security directory points to. The address in that directory is a file offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Offset of the table in the file.
    pub offset: u32,
    /// Size of the table in bytes.
    pub size: u32,
    /// The entries, up to the first invalid one.
    pub certificates: Vec<Certificate>,
    /// Descriptions of what is wrong with the location or the structure of the table.
    pub problems: Vec<String>,
}

/// One entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Length in bytes, including the eight-byte header.
    pub length: u32,
    /// `WIN_CERT_REVISION_…`
    pub revision: u16,
    /// `WIN_CERT_TYPE_…`
    pub kind: u16,
}

impl Certificate {
    /// Returns whether the entry is an Authenticode signature.
    #[must_use]
    pub fn is_authenticode(&self) -> bool {
        self.kind == WIN_CERT_TYPE_PKCS_SIGNED_DATA && self.revision == WIN_CERT_REVISION_2_0
    }
}

impl Signature {
    pub(crate) fn read(data: &[u8], sections_end: u64, (offset, size): (u32, u32)) -> Self {
        let mut result = Self { offset, size, certificates: Vec::new(), problems: Vec::new() };
        let start = u64::from(offset);
        let end = u64::from(offset) + u64::from(size);
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        if offset % 8 != 0 {
            result.problems.push(format!("it begins at {offset:#x}, which is not a multiple of 8"));
        }
        if end != length {
            result.problems.push(format!("it ends at {end:#x}, the file at {length:#x}"));
        }
        if start < sections_end {
            result.problems.push(format!("it begins at {offset:#x}, before the sections end at {sections_end:#x}"));
        }
        if let Ok(table) = data.read_bytes_at(start, u64::from(size)) {
            result.read_entries(table);
        }
        result
    }

    fn read_entries(&mut self, table: &[u8]) {
        let mut rest = table;
        while !rest.is_empty() {
            let Some(entry) = entry(rest) else {
                self.problems.push(String::from("an entry is cut off"));
                return;
            };
            if self.certificates.len() == MOST {
                self.problems.push(format!("more than {MOST} entries"));
                return;
            }
            self.certificates.push(entry);
            let taken = usize::try_from(entry.length).unwrap_or(usize::MAX).div_ceil(8).saturating_mul(8);
            rest = rest.get(taken..).unwrap_or_default();
        }
        if !self.certificates.iter().any(Certificate::is_authenticode) {
            self.problems.push(String::from("it holds no Authenticode signature"));
        }
    }
}

fn entry(rest: &[u8]) -> Option<Certificate> {
    let length = rest.read_at::<U32<LE>>(0).ok()?.get(LE);
    let revision = rest.read_at::<U16<LE>>(4).ok()?.get(LE);
    let kind = rest.read_at::<U16<LE>>(6).ok()?.get(LE);
    let fits = length >= 8 && usize::try_from(length).is_ok_and(|length| length <= rest.len());
    fits.then_some(Certificate { length, revision, kind })
}
