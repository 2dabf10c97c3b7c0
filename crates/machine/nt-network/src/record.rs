//! Copies of the structures that describe providers, sublayers, callouts and filters, with everything that their pointers refer to. The
//! engine keeps them, and gives copies of them to drivers.

use std::mem::offset_of;

use etw_types::Guid;
use nt_kernel::{kernel, lock};
use nt_processor::layout::{FWP_BYTE_BLOB, FWP_RANGE0, FWP_VALUE0, FWPM_FILTER_CONDITION0, GUID};
use nt_processor::memory::{Fault, GuestPtr, Opaque, Plain};
use nt_verifier::routine::{Call, NO_RESOURCES, Outcome, fail};
use windows_constants::filtering_platform::{
    FWP_BYTE_ARRAY6_TYPE, FWP_BYTE_ARRAY16_TYPE, FWP_BYTE_BLOB_TYPE, FWP_DOUBLE, FWP_FLOAT, FWP_INT64, FWP_RANGE_TYPE,
    FWP_SECURITY_DESCRIPTOR_TYPE, FWP_SID, FWP_TOKEN_ACCESS_INFORMATION_TYPE, FWP_UINT64, FWP_UNICODE_STRING_TYPE,
    FWP_V4_ADDR_MASK, FWP_V6_ADDR_MASK,
};

/// The tag of the memory that drivers get.
pub(super) const TAG: [u8; 4] = *b"FWPm";
/// The maximum number of bytes of a blob, and of the conditions of a filter, that are copied.
const MAX_BYTES: u32 = 0x1_0000;
const MAX_CONDITIONS: u64 = 4096;
/// The offset of the value in a condition.
const VALUE: usize = offset_of!(FWPM_FILTER_CONDITION0, conditionValue);

/// What a member of a structure refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member {
    /// A text that ends with a zero.
    Text,
    /// A GUID.
    Key,
    /// The bytes of an `FWP_BYTE_BLOB`, which is in the structure.
    Blob,
    /// What the `FWP_VALUE0` in the structure refers to.
    Value,
    /// An array of conditions. Their count is in the word before the pointer.
    Conditions,
}

/// A block of bytes that begins with a structure. Its pointers are offsets in the block until a driver gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    bytes: Vec<u8>,
    /// Where the pointers are.
    pointers: Vec<usize>,
}

impl Record {
    /// Copies a structure of a driver, whose members at these offsets refer to other data.
    pub(super) fn copy<T: Plain>(place: GuestPtr<T>, members: &[(usize, Member)]) -> Result<Self, Fault> {
        let mut record = Self::default();
        record.append(&place.cast::<u8>().array(size_of::<T>() as u64).read()?);
        for (offset, member) in members {
            record.follow(*offset, *member)?;
        }
        Ok(record)
    }

    /// Joins records: an array of pointers to them, and then the records.
    pub(super) fn array(records: &[&Self]) -> Self {
        let mut array = Self { bytes: vec![0; records.len() * 8], pointers: Vec::new() };
        for (index, record) in records.iter().enumerate() {
            let start = array.append(&record.bytes);
            for pointer in &record.pointers {
                let target = record.word(*pointer) as usize;
                array.point(start + pointer, start + target);
            }
            array.point(index * 8, start);
        }
        array
    }

    /// Writes a value at an offset of the structure.
    pub(super) fn set(&mut self, offset: usize, value: &[u8]) {
        if let Some(place) = self.bytes.get_mut(offset..offset + value.len()) {
            place.copy_from_slice(value);
        }
    }

    /// Writes an `FWP_VALUE0` with a number of 64 bits, which such a value refers to.
    pub(super) fn set_number(&mut self, offset: usize, value: u64) {
        self.set(offset, &FWP_UINT64.to_le_bytes());
        let target = self.append(&value.to_le_bytes());
        self.point(offset + 8, target);
    }

    /// Returns the GUID at an offset.
    pub(super) fn guid(&self, offset: usize) -> Option<Guid> {
        Some(Guid::from_bytes_le(*self.bytes.get(offset..)?.first_chunk()?))
    }

    /// Returns the GUID that the pointer at an offset refers to.
    pub(super) fn guid_behind(&self, offset: usize) -> Option<Guid> {
        self.pointers.contains(&offset).then(|| self.guid(self.word(offset) as usize)).flatten()
    }

    /// Gives a driver a copy in memory of its own.
    pub(super) fn give(&self, call: &Call) -> Outcome<GuestPtr<Opaque>> {
        let memory = lock(&kernel().pool).allocate(self.bytes.len() as u64, TAG, true, call.from);
        let Some(start) = memory else { return fail(NO_RESOURCES) };
        let mut moved = self.clone();
        for pointer in &self.pointers {
            moved.set(*pointer, &(start + self.word(*pointer)).to_le_bytes());
        }
        GuestPtr::new(start).write_all(&moved.bytes)?;
        Ok(GuestPtr::new(start))
    }

    fn word(&self, offset: usize) -> u64 {
        self.bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// Adds bytes at the end. Returns their offset.
    fn append(&mut self, bytes: &[u8]) -> usize {
        let start = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(start, 0);
        self.bytes.extend(bytes);
        start
    }

    /// Makes the word at an offset a pointer.
    fn point(&mut self, place: usize, target: usize) {
        self.set(place, &(target as u64).to_le_bytes());
        if !self.pointers.contains(&place) {
            self.pointers.push(place);
        }
    }

    /// Copies what the member at an offset refers to.
    fn follow(&mut self, offset: usize, member: Member) -> Result<(), Fault> {
        match member {
            Member::Text => {
                let Some(text) = GuestPtr::<u16>::new(self.word(offset)).non_null() else { return Ok(()) };
                let units = text.terminated()?.into_iter().chain([0]);
                let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
                self.keep(offset, &bytes);
            }
            Member::Key => self.follow_bytes(offset, size_of::<GUID>() as u64)?,
            Member::Blob => {
                let size = (self.word(offset) as u32).min(MAX_BYTES);
                self.follow_bytes(offset + 8, size.into())?;
            }
            Member::Value => self.follow_value(offset)?,
            Member::Conditions => {
                let count = (self.word(offset - 8) & u64::from(u32::MAX)).min(MAX_CONDITIONS);
                let size = size_of::<FWPM_FILTER_CONDITION0>();
                self.follow_bytes(offset, count * size as u64)?;
                let start = self.word(offset) as usize;
                for index in 0..count as usize {
                    self.follow_value(start + index * size + VALUE)?;
                }
            }
        }
        Ok(())
    }

    /// Copies what the `FWP_VALUE0` at an offset refers to.
    fn follow_value(&mut self, offset: usize) -> Result<(), Fault> {
        let data = offset + 8;
        match self.word(offset) as u32 {
            FWP_UINT64 | FWP_INT64 | FWP_DOUBLE | FWP_V4_ADDR_MASK => self.follow_bytes(data, 8),
            FWP_BYTE_ARRAY16_TYPE => self.follow_bytes(data, 16),
            // An address and a byte with the length of its prefix.
            FWP_V6_ADDR_MASK => self.follow_bytes(data, 17),
            FWP_BYTE_ARRAY6_TYPE => self.follow_bytes(data, 6),
            FWP_UNICODE_STRING_TYPE => self.follow(data, Member::Text),
            FWP_BYTE_BLOB_TYPE | FWP_SECURITY_DESCRIPTOR_TYPE | FWP_TOKEN_ACCESS_INFORMATION_TYPE => {
                self.follow_bytes(data, size_of::<FWP_BYTE_BLOB>() as u64)?;
                if self.pointers.contains(&data) { self.follow(self.word(data) as usize, Member::Blob) } else { Ok(()) }
            }
            FWP_SID => {
                // The second byte is the number of authorities of 4 bytes, which follow 8 bytes.
                let count = GuestPtr::<u8>::new(self.word(data)).non_null().map(|sid| sid.at(1).read()).transpose()?;
                self.follow_bytes(data, count.map_or(0, |count| 8 + u64::from(count) * 4))
            }
            FWP_RANGE_TYPE => {
                self.follow_bytes(data, size_of::<FWP_RANGE0>() as u64)?;
                if !self.pointers.contains(&data) {
                    return Ok(());
                }
                let start = self.word(data) as usize;
                for end in [start, start + size_of::<FWP_VALUE0>()] {
                    // The ends of a range are not ranges.
                    if self.word(end) as u32 != FWP_RANGE_TYPE {
                        self.follow_value(end)?;
                    }
                }
                Ok(())
            }
            number if number <= FWP_FLOAT => Ok(()),
            // No address of the driver stays behind.
            _ => {
                self.set(data, &[0; 8]);
                Ok(())
            }
        }
    }

    /// Copies the bytes that the pointer at an offset refers to.
    fn follow_bytes(&mut self, offset: usize, size: u64) -> Result<(), Fault> {
        if let Some(place) = GuestPtr::<u8>::new(self.word(offset)).non_null() {
            let bytes = place.array(size).read()?;
            self.keep(offset, &bytes);
        }
        Ok(())
    }

    fn keep(&mut self, offset: usize, bytes: &[u8]) {
        let target = self.append(bytes);
        self.point(offset, target);
    }
}
