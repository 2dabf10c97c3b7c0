//! Provider traits: the blob that carries a provider's name, group and other attributes.
//!
//! Layout, little-endian and packed: `u16` total size, the name in UTF-8 with its NUL, then records of `u16` size
//! (its own three header bytes included), `u8` type and data. Documented by Microsoft under "Provider Traits".
//!
//! This module encodes such blobs as constants and takes them apart again; the second half never trusts its input.

mod encode;
mod validate;

use core::fmt;

pub use encode::TraitsBuilder;
pub use validate::{ProviderTraits, Records, TraitRecord, validate};

/// The largest blob the kernel takes.
pub const MAX_TRAITS_SIZE: usize = 0x7FFF;

/// Size of a record's header.
const RECORD_HEADER: usize = 3;

int_newtype! {
    /// The type of a record in a traits blob. 128 to 255 are the provider's own.
    TraitType(u8) {
        /// The GUID of the provider's group.
        Group = 1,
        /// The GUID under which decoding information is found.
        DecodeGuid = 2,
        /// The first type that is the provider's own.
        FirstCustom = 128,
    }
}

/// What is wrong with provider traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraitsError {
    /// The name contains a NUL.
    NulInName,
    /// The blob would be larger than [`MAX_TRAITS_SIZE`].
    TooLarge,
    /// A custom record has a type below 128.
    ReservedType(u8),
    /// The output array has another length than the encoded traits.
    WrongArrayLength,
    /// Fewer bytes than the smallest blob has.
    TooShort,
    /// The size in the blob is not its length.
    SizeMismatch {
        /// What the blob says.
        declared: u16,
        /// What there is.
        actual: usize,
    },
    /// The name has no end.
    UnterminatedName,
    /// The record at this offset is shorter than its header or longer than the blob.
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
