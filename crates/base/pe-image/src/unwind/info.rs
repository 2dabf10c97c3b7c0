//! `UNWIND_INFO`: the unwind codes of a function, and what follows them.

use windows_constants::exception::{UNW_FLAG_CHAININFO, UNW_FLAG_EHANDLER, UNW_FLAG_UHANDLER};

use super::code::Codes;
use super::{Function, Functions, UnwindError};

const FIELD: &str = "UNWIND_INFO";

/// The unwind information of a function or of a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Info<'a> {
    version: u8,
    flags: u8,
    /// Size of the prolog in bytes.
    pub(super) prolog: u8,
    /// The frame register; 0 if there is none.
    pub(super) frame_register: u8,
    /// Offset of the frame register from the start of the frame.
    pub(super) frame_offset: u64,
    codes: &'a [[u8; 2]],
    /// Address of the data after the codes: a handler or a chained entry.
    tail: u32,
}

impl<'a> Info<'a> {
    pub(super) fn read(functions: &Functions<'a>, rva: u32) -> Result<Self, UnwindError> {
        let outside = UnwindError::Outside { field: FIELD, rva };
        let [first, prolog, count, frame] = functions.bytes::<4>(rva, FIELD)?;
        let version = first & 7;
        if !matches!(version, 1 | 2) {
            return Err(UnwindError::Version(version));
        }
        let start = (rva as usize).checked_add(4).ok_or(outside)?;
        let codes = functions.image.get(start..).and_then(|rest| rest.get(..usize::from(count) * 2)).ok_or(outside)?;
        // The array has an even number of slots, whatever the count is.
        let tail = rva.checked_add(4 + u32::from(count).next_multiple_of(2) * 2).ok_or(outside)?;
        Ok(Self {
            version,
            flags: first >> 3,
            prolog,
            frame_register: frame & 15,
            frame_offset: u64::from(frame >> 4) * 16,
            codes: codes.as_chunks().0,
            tail,
        })
    }

    pub(super) const fn codes(&self) -> Codes<'a> {
        Codes::new(self.codes, self.version)
    }

    pub(super) const fn is_chained(&self) -> bool {
        self.flags & UNW_FLAG_CHAININFO != 0
    }

    /// Returns the entry that this one is chained to.
    pub(super) fn chained(&self, functions: &Functions<'_>) -> Result<Option<Function>, UnwindError> {
        if !self.is_chained() {
            return Ok(None);
        }
        functions.bytes(self.tail, "chained unwind information").map(|bytes| Some(Function::from_bytes(&bytes)))
    }

    /// Returns the language-specific handler: its address, the address of its data, and when it is called.
    pub(super) fn handler(&self, functions: &Functions<'_>) -> Result<Option<super::Handler>, UnwindError> {
        if self.is_chained() || self.flags & (UNW_FLAG_EHANDLER | UNW_FLAG_UHANDLER) == 0 {
            return Ok(None);
        }
        let address = functions.bytes(self.tail, "exception handler").map(u32::from_le_bytes)?;
        Ok(Some(super::Handler {
            address,
            data: self.tail.saturating_add(4),
            on_exception: self.flags & UNW_FLAG_EHANDLER != 0,
            on_unwind: self.flags & UNW_FLAG_UHANDLER != 0,
        }))
    }
}
