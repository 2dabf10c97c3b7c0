//! The kinds of pool: whether it may be paged out, and whether it may contain code.

use nt_processor::memory::Protection;
use windows_constants::memory::{
    PAGE_EXECUTE, PAGE_EXECUTE_READ, PAGE_EXECUTE_READWRITE, PAGE_EXECUTE_WRITECOPY, POOL_NX_ALLOCATION, PagedPool,
};

/// The bits of a page protection that allow execution.
pub(crate) const EXECUTABLE: u32 = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;

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
        if pool_type & PagedPool != 0 { Self::Paged } else { Self::non_paged(pool_type & POOL_NX_ALLOCATION == 0) }
    }

    /// Returns the access rights of its pages.
    pub(super) const fn rights(self) -> Protection {
        if matches!(self, Self::Executable) { Protection::All } else { Protection::ReadWrite }
    }
}
