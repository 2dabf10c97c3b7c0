//! `EVENT_DATA_DESCRIPTOR`: one piece of an event's data.

use core::marker::PhantomData;
use core::mem::{offset_of, size_of};

int_newtype! {
    /// The type of the bytes that a data descriptor points to.
    ///
    /// ETW reads this only if the provider enabled descriptor types, either by setting its traits or with
    /// `EventProviderUseDescriptorType`.
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
/// Safe code can create one only from a slice, so a descriptor always points at bytes that live for `'a`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventDataDescriptor<'a> {
    ptr: *const u8,
    #[cfg(target_pointer_width = "32")]
    ptr_high: u32,
    /// Size (four bytes), kind (one byte) and three reserved bytes, in this order. One field, so that a single store
    /// writes all of them.
    size_and_kind: u64,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> EventDataDescriptor<'a> {
    /// Describes payload bytes.
    #[must_use]
    #[inline(always)]
    #[doc(alias = "EventDataDescCreate")]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::with_kind(bytes, DataKind::Data)
    }

    /// Describes the TraceLogging metadata of an event.
    #[must_use]
    #[inline(always)]
    pub const fn event_metadata(bytes: &'a [u8]) -> Self {
        Self::with_kind(bytes, DataKind::EventMetadata)
    }

    /// Describes the traits of a provider.
    #[must_use]
    #[inline(always)]
    pub const fn provider_traits(bytes: &'a [u8]) -> Self {
        Self::with_kind(bytes, DataKind::ProviderMetadata)
    }

    /// Describes a time, in the session's clock, that replaces the event's time stamp. It must have exactly eight
    /// bytes.
    ///
    /// ```
    /// use etw_types::{DataKind, EventDataDescriptor};
    ///
    /// let time = 133_000_000_000_000_000_u64.to_le_bytes();
    /// let descriptor = EventDataDescriptor::timestamp(&time);
    /// assert_eq!(descriptor.kind(), DataKind::TimestampOverride);
    /// assert_eq!(descriptor.size(), 8);
    /// ```
    ///
    /// The kernel reads eight bytes regardless of the size, so this does not accept a slice:
    ///
    /// ```compile_fail,E0308
    /// use etw_types::EventDataDescriptor;
    ///
    /// let four: &[u8] = &[0; 4];
    /// let descriptor = EventDataDescriptor::timestamp(four);
    /// ```
    ///
    /// The kind of other bytes cannot be changed either:
    ///
    /// ```compile_fail,E0624
    /// use etw_types::{DataKind, EventDataDescriptor};
    ///
    /// let descriptor = EventDataDescriptor::with_kind(&[0; 4], DataKind::TimestampOverride);
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn timestamp(time: &'a [u8; 8]) -> Self {
        Self::with_kind(time, DataKind::TimestampOverride)
    }

    /// Describes bytes of the given kind. Private, because some kinds need a certain size.
    ///
    /// A slice of 4 GiB or more is described as `u32::MAX` bytes. ETW rejects events that are far smaller.
    #[must_use]
    #[inline(always)]
    const fn with_kind(bytes: &'a [u8], kind: DataKind) -> Self {
        let size = if bytes.len() < u32::MAX as usize { bytes.len() as u64 } else { u32::MAX as u64 };
        Self {
            ptr: bytes.as_ptr(),
            #[cfg(target_pointer_width = "32")]
            ptr_high: 0,
            size_and_kind: joined(size, kind),
            bytes: PhantomData,
        }
    }

    /// Returns the address of the bytes.
    #[must_use]
    #[inline]
    pub const fn as_ptr(&self) -> *const u8 {
        self.ptr
    }

    /// Returns the number of bytes.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the size is the part that is kept")]
    pub const fn size(&self) -> u32 {
        (self.size_and_kind >> SIZE_SHIFT) as u32
    }

    /// Returns the type of the bytes.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the kind is the part that is kept")]
    pub const fn kind(&self) -> DataKind {
        DataKind::from_int((self.size_and_kind >> KIND_SHIFT) as u8)
    }
}

/// The positions of size and kind in the combined number.
const SIZE_SHIFT: u32 = if cfg!(target_endian = "little") { 0 } else { 32 };
const KIND_SHIFT: u32 = if cfg!(target_endian = "little") { 32 } else { 24 };

/// Combines size and kind into one number.
#[inline(always)]
const fn joined(size: u64, kind: DataKind) -> u64 {
    (size << SIZE_SHIFT) | ((kind.as_int() as u64) << KIND_SHIFT)
}

const _: () = {
    assert!(size_of::<EventDataDescriptor<'static>>() == 16);
    assert!(offset_of!(EventDataDescriptor<'static>, size_and_kind) == 8);
};

#[cfg(test)]
mod tests {
    use super::{DataKind, EventDataDescriptor};

    #[test]
    fn size_and_type_have_the_offsets_of_windows() {
        let descriptor = EventDataDescriptor::with_kind(&[1, 2, 3], DataKind::ProviderMetadata);
        assert_eq!(descriptor.size(), 3);
        assert_eq!(descriptor.kind(), DataKind::ProviderMetadata);
        let [a, b, c, d, kind, rest @ ..] = descriptor.size_and_kind.to_ne_bytes();
        assert_eq!(u32::from_ne_bytes([a, b, c, d]), 3);
        assert_eq!(kind, 2);
        assert_eq!(rest, [0; 3]);
    }
}
