//! Provider traits: the blob that has a provider's name, group and other attributes.
//!
//! The layout is little-endian and packed: a `u16` with the total size, the name in UTF-8 with its NUL, then records. A
//! record is a `u16` size (which includes the record's three header bytes), a `u8` type and the data. Microsoft
//! documents it under "Provider Traits".
//!
//! This module encodes such blobs in constants and parses them. The parser accepts untrusted input.

mod encode;
mod validate;

use core::fmt;

pub use encode::TraitsBuilder;
pub use validate::{ProviderTraits, Records, TraitRecord, validate};

/// Maximum size of a blob that the kernel accepts.
pub const MAX_TRAITS_SIZE: usize = 0x7FFF;

/// Size of a record's header.
const RECORD_HEADER: usize = 3;

int_newtype! {
    /// The type of a record in a traits blob. 128 to 255 are defined by the provider.
    TraitType(u8) {
        /// The GUID of the provider's group.
        Group = 1,
        /// The GUID that identifies the decoding information.
        DecodeGuid = 2,
        /// The first type that a provider can define.
        FirstCustom = 128,
    }
}

/// The reason that provider traits are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraitsError {
    /// The name contains a NUL.
    NulInName,
    /// The blob would be larger than [`MAX_TRAITS_SIZE`].
    TooLarge,
    /// A custom record has a type below 128.
    ReservedType(u8),
    /// The length of the output array differs from the length of the encoded traits.
    WrongArrayLength,
    /// There are fewer bytes than the smallest blob has.
    TooShort,
    /// The size field of the blob differs from its length.
    SizeMismatch {
        /// The value of the size field.
        declared: u16,
        /// The actual length.
        actual: usize,
    },
    /// The name is not NUL-terminated.
    UnterminatedName,
    /// The record at this offset is smaller than its header or extends beyond the blob.
    BadRecord {
        /// Offset of the record in the blob.
        offset: usize,
    },
}

impl fmt::Display for TraitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NulInName => f.write_str("the provider name contains a NUL"),
            Self::TooLarge => write!(f, "the traits are larger than {MAX_TRAITS_SIZE} bytes"),
            Self::ReservedType(kind) => write!(f, "trait type {kind} is reserved; custom traits are 128 to 255"),
            Self::WrongArrayLength => f.write_str("the array has another length than the encoded traits"),
            Self::TooShort => f.write_str("the traits are shorter than 3 bytes"),
            Self::SizeMismatch { declared, actual } => {
                write!(f, "the traits declare {declared} bytes and have {actual}")
            }
            Self::UnterminatedName => f.write_str("the provider name in the traits has no end"),
            Self::BadRecord { offset } => write!(f, "the trait record at offset {offset} does not fit"),
        }
    }
}

impl core::error::Error for TraitsError {}

#[cfg(test)]
mod tests;
