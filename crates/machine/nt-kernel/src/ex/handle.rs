//! `HANDLE`, as a parameter and a result of routines.

use nt_processor::memory::{Fault, Plain};
use nt_verifier::routine::{Argument, IntoReply, Kind, Slots};

/// `HANDLE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct KernelHandle(u64);

// SAFETY: `KernelHandle` is a transparent wrapper around a `u64`.
unsafe impl Plain for KernelHandle {}

impl KernelHandle {
    /// The first handle. Kernel handles have their highest bits set.
    pub(super) const FIRST: u64 = 0xFFFF_FFFF_8000_0004;

    /// Returns the handle with this value, which may come from the driver.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the value that the driver has.
    pub const fn as_int(self) -> u64 {
        self.0
    }

    /// Returns the handle that is opened after `count` others.
    pub(super) const fn after(count: u64) -> Self {
        Self(Self::FIRST + count * 4)
    }
}

impl Argument for KernelHandle {
    const KINDS: &'static [Kind] = &[Kind::Handle];

    fn take(slots: &mut Slots<'_>) -> Self {
        Self(u64::take(slots))
    }
}

impl IntoReply for KernelHandle {
    const KIND: Kind = Kind::Handle;

    fn into_reply(self) -> Result<u64, Fault> {
        Ok(self.0)
    }
}
