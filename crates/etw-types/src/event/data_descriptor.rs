//! `EVENT_DATA_DESCRIPTOR`: one piece of an event's data.

use core::marker::PhantomData;
use core::mem::{offset_of, size_of};

int_newtype! {
    /// What the bytes of a data descriptor are.
    ///
    /// ETW looks at this only after the provider switched descriptor types on (by setting its traits, or with
    /// `EventProviderUseDescriptorType`).
    DataKind(u8) {
        /// Payload.
        Data = 0,
        /// The event's TraceLogging metadata.
        EventMetadata = 1,
        /// The provider's traits.
        ProviderMetadata = 2,
        /// Eight bytes that replace the event's time stamp.
        TimestampOverride = 3,
    }
}

/// `EVENT_DATA_DESCRIPTOR`: a borrowed piece of an event's data.
///
/// The only safe way to make one is from a slice, so a descriptor always points at bytes that live for `'a`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventDataDescriptor<'a> {
    ptr: *const u8,
    #[cfg(target_pointer_width = "32")]
    ptr_high: u32,
    size: u32,
    kind: DataKind,
    reserved1: u8,
    reserved2: u16,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> EventDataDescriptor<'a> {
    /// Describes payload bytes.
    #[must_use]
    #[inline(always)]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::with_kind(bytes, DataKind::Data)
    }

    /// Describes bytes of the given kind.
    ///
    /// A slice of 4 GiB or more is described as `u32::MAX` bytes; ETW refuses any event far below that.
    #[must_use]
    #[inline(always)]
    pub const fn with_kind(bytes: &'a [u8], kind: DataKind) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "saturated in the other branch")]
        let size = if bytes.len() < u32::MAX as usize { bytes.len() as u32 } else { u32::MAX };
        Self {
            ptr: bytes.as_ptr(),
            #[cfg(target_pointer_width = "32")]
            ptr_high: 0,
            size,
            kind,
            reserved1: 0,
            reserved2: 0,
            bytes: PhantomData,
        }
    }

    /// Where the bytes are.
    #[must_use]
    #[inline]
    pub const fn as_ptr(&self) -> *const u8 {
        self.ptr
    }

    /// How many bytes there are.
    #[must_use]
    #[inline]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// What the bytes are.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> DataKind {
        self.kind
    }
}

const _: () = {
    assert!(size_of::<EventDataDescriptor<'static>>() == 16);
    assert!(offset_of!(EventDataDescriptor<'static>, size) == 8);
    assert!(offset_of!(EventDataDescriptor<'static>, kind) == 12);
    assert!(offset_of!(EventDataDescriptor<'static>, reserved2) == 14);
};
