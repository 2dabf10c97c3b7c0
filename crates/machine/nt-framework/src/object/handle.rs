//! Handles of the framework's objects.

use std::fmt;

use nt_processor::memory::{Fault, Plain};
use nt_verifier::routine::{Argument, IntoReply, Kind, Slots};

/// `WDFOBJECT` or another handle type of the framework. A handle is not an address: a driver that dereferences it
/// faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Handle(u64);

// SAFETY: a transparent u64.
unsafe impl Plain for Handle {}

impl Handle {
    /// No object.
    pub const NULL: Self = Self(0);
    /// The first handle. Handles are in the kernel's half of the address space, where nothing is mapped.
    const FIRST: u64 = 0xFFFF_B000_0000_0010;

    /// Returns the handle with this value, which may come from the driver.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the handle of the object with this number, counted from 0.
    pub(crate) const fn nth(number: u64) -> Self {
        Self(Self::FIRST + number * 0x20)
    }

    /// Returns the value that the driver has.
    pub const fn as_int(self) -> u64 {
        self.0
    }

    /// Returns whether a value is in the range of handles, so that it is not an address.
    pub const fn is_handle(value: u64) -> bool {
        value >= Self::FIRST
    }

    pub(crate) const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Returns `None` for NULL.
    pub(crate) fn non_null(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }
}

impl fmt::LowerHex for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

impl Argument for Handle {
    const KINDS: &'static [Kind] = &[Kind::Handle];

    fn take(slots: &mut Slots<'_>) -> Self {
        Self(u64::take(slots))
    }
}

impl IntoReply for Handle {
    const KIND: Kind = Kind::Handle;

    fn into_reply(self) -> Result<u64, Fault> {
        Ok(self.0)
    }
}
