//! Encodes provider traits in constants.

use super::{MAX_TRAITS_SIZE, RECORD_HEADER, TraitType, TraitsError};
use crate::Guid;
use crate::bytes::{Appender, contains_nul};

/// Describes a provider's traits and encodes them in a constant.
///
/// ```
/// use etw_types::Guid;
/// use etw_types::traits::{TraitsBuilder, TraitsError};
///
/// const TRAITS: TraitsBuilder = TraitsBuilder::new("MyProvider");
/// const SIZE: usize = match TRAITS.encoded_len() { Ok(size) => size, Err(_) => 0 };
/// const BLOB: Result<[u8; SIZE], TraitsError> = TRAITS.encode();
/// assert_eq!(BLOB.as_ref().map(|blob| &blob[..]), Ok(&b"\x0d\x00MyProvider\x00"[..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TraitsBuilder<'a> {
    name: &'a str,
    group: Option<Guid>,
    decode_guid: Option<Guid>,
    custom: &'a [(u8, &'a [u8])],
}

impl<'a> TraitsBuilder<'a> {
    /// Creates traits that have only a name.
    #[must_use]
    pub const fn new(name: &'a str) -> Self {
        Self { name, group: None, decode_guid: None, custom: &[] }
    }

    /// Sets the provider group.
    #[must_use]
    pub const fn with_group(mut self, group: Guid) -> Self {
        self.group = Some(group);
        self
    }

    /// Sets the decode GUID.
    #[must_use]
    pub const fn with_decode_guid(mut self, decode_guid: Guid) -> Self {
        self.decode_guid = Some(decode_guid);
        self
    }

    /// Sets custom records, each a type (128 to 255) and its data.
    #[must_use]
    pub const fn with_custom(mut self, custom: &'a [(u8, &'a [u8])]) -> Self {
        self.custom = custom;
        self
    }

    /// Returns the size of the blob in bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the name contains a NUL, a type is reserved, or the blob exceeds [`MAX_TRAITS_SIZE`] bytes.
    pub const fn encoded_len(&self) -> Result<usize, TraitsError> {
        if contains_nul(self.name.as_bytes()) {
            return Err(TraitsError::NulInName);
        }
        let mut size = 2 + self.name.len() + 1;
        if self.group.is_some() {
            size += RECORD_HEADER + 16;
        }
        if self.decode_guid.is_some() {
            size += RECORD_HEADER + 16;
        }
        let mut custom = self.custom;
        while let [(kind, data), rest @ ..] = custom {
            if *kind < TraitType::FirstCustom.as_int() {
                return Err(TraitsError::ReservedType(*kind));
            }
            size = size.saturating_add(RECORD_HEADER).saturating_add(data.len());
            custom = rest;
        }
        if size > MAX_TRAITS_SIZE {
            return Err(TraitsError::TooLarge);
        }
        Ok(size)
    }

    /// Returns the blob. `N` must be [`encoded_len`](Self::encoded_len).
    ///
    /// # Errors
    ///
    /// Returns the errors of `encoded_len`, and an error if `N` is a different number.
    pub const fn encode<const N: usize>(&self) -> Result<[u8; N], TraitsError> {
        let mut blob = [0; N];
        match self.encode_into(&mut blob) {
            Ok(()) => Ok(blob),
            Err(error) => Err(error),
        }
    }

    /// Writes the blob into a buffer, which must have exactly the blob's length.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`encode`](Self::encode).
    pub const fn encode_into(&self, buffer: &mut [u8]) -> Result<(), TraitsError> {
        let size = match self.encoded_len() {
            Ok(size) => size,
            Err(error) => return Err(error),
        };
        if buffer.len() != size {
            return Err(TraitsError::WrongArrayLength);
        }
        let mut out = Appender::new(buffer);
        push_size(&mut out, size);
        out.push(self.name.as_bytes());
        out.push(&[0]);
        if let Some(group) = &self.group {
            push_record(&mut out, TraitType::Group.as_int(), &group.to_bytes_le());
        }
        if let Some(decode_guid) = &self.decode_guid {
            push_record(&mut out, TraitType::DecodeGuid.as_int(), &decode_guid.to_bytes_le());
        }
        let mut custom = self.custom;
        while let [(kind, data), rest @ ..] = custom {
            push_record(&mut out, *kind, data);
            custom = rest;
        }
        if out.overflowed() { Err(TraitsError::WrongArrayLength) } else { Ok(()) }
    }
}

const fn push_record(out: &mut Appender<'_>, kind: u8, data: &[u8]) {
    push_size(out, RECORD_HEADER + data.len());
    out.push(&[kind]);
    out.push(data);
}

/// The caller checked `encoded_len`, so `size` is at most `MAX_TRAITS_SIZE`.
#[expect(clippy::cast_possible_truncation, reason = "masked to 16 bits, and at most MAX_TRAITS_SIZE")]
const fn push_size(out: &mut Appender<'_>, size: usize) {
    out.push(&((size & 0xFFFF) as u16).to_le_bytes());
}
