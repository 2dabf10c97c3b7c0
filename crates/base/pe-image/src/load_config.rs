//! The load configuration: the security cookie and Control Flow Guard.

use crate::error::Error;
use crate::header::Header;
use crate::view::View;

/// The fields that the loader needs for the security cookie and for Control Flow Guard.
///
/// A field is `None` if the structure is too short to contain it. Newer versions of Windows have a longer structure; its first
/// word is its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadConfig {
    /// Size of the structure in the image, in bytes.
    pub size: u32,
    /// Absolute address of the security cookie; zero if there is none.
    pub security_cookie: Option<u64>,
    /// Absolute address of the pointer to the check function of Control Flow Guard; zero if there is none.
    pub guard_check: Option<u64>,
    /// Absolute address of the pointer to the dispatch function of Control Flow Guard; zero if there is none.
    pub guard_dispatch: Option<u64>,
    /// `IMAGE_GUARD_…`
    pub guard_flags: Option<u32>,
    /// Number of functions that may be called indirectly.
    pub guard_functions: Option<u64>,
}

/// Offsets of the fields for each pointer width, from `winnt.h`.
struct Offsets {
    cookie: usize,
    check: usize,
    dispatch: usize,
    functions: usize,
    flags: usize,
    wide: bool,
}

const PE32_PLUS: Offsets = Offsets { cookie: 88, check: 112, dispatch: 120, functions: 136, flags: 144, wide: true };
const PE32: Offsets = Offsets { cookie: 60, check: 72, dispatch: 76, functions: 84, flags: 88, wide: false };

impl LoadConfig {
    pub(crate) fn read(view: &View<'_>, header: &Header, (rva, _): (u32, u32)) -> Result<Self, Error> {
        // The size in the data directory is a constant for old systems, so only the size in the structure is used.
        let first = view.bytes(rva, 4, "load configuration")?;
        let size = u32::try_from(number(first, 0, 4).unwrap_or_default()).unwrap_or_default();
        let bytes = view.bytes(rva, size, "load configuration")?;
        let layout = if header.is_pe32_plus { PE32_PLUS } else { PE32 };
        let pointer = if layout.wide { 8 } else { 4 };
        Ok(Self {
            size,
            security_cookie: number(bytes, layout.cookie, pointer),
            guard_check: number(bytes, layout.check, pointer),
            guard_dispatch: number(bytes, layout.dispatch, pointer),
            guard_flags: number(bytes, layout.flags, 4).and_then(|flags| u32::try_from(flags).ok()),
            guard_functions: number(bytes, layout.functions, pointer),
        })
    }

    /// Returns whether the image is instrumented with Control Flow Guard checks.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        // IMAGE_GUARD_CF_INSTRUMENTED
        self.guard_flags.is_some_and(|flags| flags & 0x100 != 0)
    }
}

fn number(bytes: &[u8], offset: usize, width: usize) -> Option<u64> {
    let field = bytes.get(offset..offset + width)?;
    Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}
