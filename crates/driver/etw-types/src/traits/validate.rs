//! Parses a traits blob.

use super::{RECORD_HEADER, TraitType, TraitsError};
use crate::Guid;
use crate::bytes::{split_nul, split_u16};
use crate::guid::split_guid;

/// A traits blob that is well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderTraits<'a> {
    name: &'a [u8],
    records: &'a [u8],
}

/// Checks a traits blob: its size, its name, and that the records end exactly where the blob ends.
///
/// # Errors
///
/// Returns the reason that the blob is invalid and, for a record, its offset.
pub const fn validate(blob: &[u8]) -> Result<ProviderTraits<'_>, TraitsError> {
    let Some((declared, body)) = split_u16(blob) else {
        return Err(TraitsError::TooShort);
    };
    if body.is_empty() {
        return Err(TraitsError::TooShort);
    }
    if declared as usize != blob.len() {
        return Err(TraitsError::SizeMismatch { declared, actual: blob.len() });
    }
    let Some((name, records)) = split_nul(body) else {
        return Err(TraitsError::UnterminatedName);
    };
    let mut rest = records;
    while !rest.is_empty() {
        match split_record(rest) {
            Some((_, tail)) => rest = tail,
            None => return Err(TraitsError::BadRecord { offset: blob.len() - rest.len() }),
        }
    }
    Ok(ProviderTraits { name, records })
}

impl<'a> ProviderTraits<'a> {
    /// Returns the provider's name. It should be UTF-8, but this is not checked.
    #[must_use]
    pub const fn name(&self) -> &'a [u8] {
        self.name
    }

    /// Returns the provider's group: the first group record whose data has the size of a GUID.
    #[must_use]
    pub fn group(&self) -> Option<Guid> {
        self.first_guid(TraitType::Group)
    }

    /// Returns the GUID that identifies the decoding information.
    #[must_use]
    pub fn decode_guid(&self) -> Option<Guid> {
        self.first_guid(TraitType::DecodeGuid)
    }

    /// Returns the records in order.
    #[must_use]
    pub const fn records(&self) -> Records<'a> {
        Records { rest: self.records }
    }

    fn first_guid(&self, kind: TraitType) -> Option<Guid> {
        self.records()
            .filter(|record| record.kind == kind && record.data.len() == 16)
            .find_map(|record| split_guid(record.data).map(|(guid, _)| guid))
    }
}

/// One record of a traits blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraitRecord<'a> {
    /// The type of the data.
    pub kind: TraitType,
    /// The data.
    pub data: &'a [u8],
}

/// Iterator over the records of a traits blob.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = TraitRecord<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (record, rest) = split_record(self.rest)?;
        self.rest = rest;
        Some(record)
    }
}

const fn split_record(bytes: &[u8]) -> Option<(TraitRecord<'_>, &[u8])> {
    let Some((size, behind_size)) = split_u16(bytes) else {
        return None;
    };
    let [kind, data @ ..] = behind_size else {
        return None;
    };
    let Some(length) = (size as usize).checked_sub(RECORD_HEADER) else {
        return None;
    };
    match data.split_at_checked(length) {
        Some((data, rest)) => Some((TraitRecord { kind: TraitType::from_int(*kind), data }, rest)),
        None => None,
    }
}
