//! The kinds of pool: whether it may be paged out, and whether it may contain code.

use nt_processor::memory::Protection;

/// `PagedPool` and `POOL_NX_ALLOCATION`, which are bits of a pool type.
const PAGED_TYPE: u32 = 1;
const NO_EXECUTE: u32 = 512;
/// The bits of a page protection that allow execution: `PAGE_EXECUTE`, `PAGE_EXECUTE_READ` and so on.
pub(crate) const PAGE_EXECUTE: u32 = 0xF0;

/// The kinds of pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `NonPagedPoolNx`.
    NonPaged,
    /// `NonPagedPool`: its memory may contain code.
    Executable,
    /// `PagedPool`.
    Paged,
}

impl Kind {
    /// Returns nonpaged pool whose memory may contain code, or may not.
    pub(crate) const fn non_paged(is_executable: bool) -> Self {
        if is_executable { Self::Executable } else { Self::NonPaged }
    }

    /// Returns the kind of a `POOL_TYPE`. Nonpaged pool is executable unless the driver asks for no-execute pool.
    pub(super) const fn from_type(pool_type: u32) -> Self {
        if pool_type & PAGED_TYPE != 0 { Self::Paged } else { Self::non_paged(pool_type & NO_EXECUTE == 0) }
    }

    /// Returns the access rights of its pages.
    pub(super) const fn rights(self) -> Protection {
        if matches!(self, Self::Executable) { Protection::All } else { Protection::ReadWrite }
    }
}
