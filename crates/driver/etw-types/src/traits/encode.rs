//! Traits as constants.

use super::{MAX_TRAITS_SIZE, RECORD_HEADER, TraitType, TraitsError};
use crate::Guid;
use crate::bytes::{Appender, contains_nul};

/// Describes a provider's traits; encodes them in a constant.
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
    /// Traits with a name only.
    #[must_use]
    pub const fn new(name: &'a str) -> Self {
        Self { name, group: None, decode_guid: None, custom: &[] }
    }

    /// The same in a provider group.
    #[must_use]
    pub const fn with_group(mut self, group: Guid) -> Self {
        self.group = Some(group);
        self
    }

    /// The same with a decode GUID.
    #[must_use]
    pub const fn with_decode_guid(mut self, decode_guid: Guid) -> Self {
        self.decode_guid = Some(decode_guid);
        self
    }

    /// The same with the provider's own records: type (128 to 255) and data.
    #[must_use]
    pub const fn with_custom(mut self, custom: &'a [(u8, &'a [u8])]) -> Self {
        self.custom = custom;
        self
    }

    /// How many bytes the blob has.
    ///
    /// # Errors
    ///
    /// A NUL in the name, a reserved type, or more than [`MAX_TRAITS_SIZE`] bytes.
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

    /// The blob. `N` must be [`encoded_len`](Self::encoded_len).
    ///
    /// # Errors
    ///
    /// As for `encoded_len`, and where `N` is another number.
    pub const fn encode<const N: usize>(&self) -> Result<[u8; N], TraitsError> {
        let mut blob = [0; N];
        match self.encode_into(&mut blob) {
            Ok(()) => Ok(blob),
            Err(error) => Err(error),
        }
    }

    /// Writes the blob into a buffer of exactly its length.
    ///
    /// # Errors
    ///
    /// As for [`encode`](Self::encode).
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

/// Sizes are at most `MAX_TRAITS_SIZE` here: `encoded_len` was asked first.
#[expect(clippy::cast_possible_truncation, reason = "masked to 16 bits, and at most MAX_TRAITS_SIZE")]
const fn push_size(out: &mut Appender<'_>, size: usize) {
    out.push(&((size & 0xFFFF) as u16).to_le_bytes());
}
