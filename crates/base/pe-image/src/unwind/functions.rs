//! The exception directory, which maps addresses to functions.

use super::UnwindError;
use crate::Layout;

/// Size of a `RUNTIME_FUNCTION` in bytes.
const ENTRY: usize = 12;

/// One `RUNTIME_FUNCTION`. All addresses are relative to the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of the first instruction.
    pub begin: u32,
    /// The first address after the function.
    pub end: u32,
    /// Address of its `UNWIND_INFO`.
    pub info: u32,
}

impl Function {
    pub(super) fn from_bytes(bytes: &[u8; ENTRY]) -> Self {
        let word =
            |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u32::from_le_bytes);
        Self { begin: word(0), end: word(4), info: word(8) }
    }

    pub(super) const fn contains(&self, rva: u32) -> bool {
        self.begin <= rva && rva < self.end
    }
}

/// The functions of an image that have unwind information.
#[derive(Clone, Copy, Debug)]
pub struct Functions<'a> {
    pub(super) image: &'a [u8],
    rva: u32,
    table: &'a [[u8; ENTRY]],
}

impl<'a> Functions<'a> {
    /// Uses the table of `size` bytes at `rva`, in an image as it is laid out in memory.
    ///
    /// # Errors
    ///
    /// Fails if the table is not completely within the image.
    pub fn new(image: &'a [u8], rva: u32, size: u32) -> Result<Self, UnwindError> {
        let start = rva as usize;
        let bytes = start.checked_add(size as usize).and_then(|end| image.get(start..end));
        let bytes = bytes.ok_or(UnwindError::Outside { field: "exception directory", rva })?;
        Ok(Self { image, rva, table: bytes.as_chunks().0 })
    }

    /// Returns the functions of a layout; none if it has no exception directory.
    #[must_use]
    pub fn from_layout(layout: &'a Layout) -> Self {
        let (rva, size) = layout.exceptions.unwrap_or_default();
        let none = Self { image: &layout.bytes, rva, table: &[] };
        Self::new(&layout.bytes, rva, size).unwrap_or(none)
    }

    /// Returns all functions in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Function> + use<'a> {
        self.table.iter().map(Function::from_bytes)
    }

    /// Returns the function that contains an address, and the address of its table entry. The documentation requires the table to
    /// be sorted; in an unsorted table, a function may not be found.
    #[must_use]
    pub fn find(&self, rva: u32) -> Option<(Function, u32)> {
        let after = self.table.partition_point(|entry| Function::from_bytes(entry).begin <= rva);
        let index = after.checked_sub(1)?;
        let function = Function::from_bytes(self.table.get(index)?);
        let entry = u32::try_from(index * ENTRY).ok()?.checked_add(self.rva)?;
        function.contains(rva).then_some((function, entry))
    }

    pub(super) fn bytes<const N: usize>(&self, rva: u32, field: &'static str) -> Result<[u8; N], UnwindError> {
        let bytes = self.image.get(rva as usize..).and_then(|rest| rest.first_chunk::<N>());
        bytes.copied().ok_or(UnwindError::Outside { field, rva })
    }
}
