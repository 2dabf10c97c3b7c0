//! The image as it will lie in memory, in a buffer: addresses relative to the image are offsets.
//!
//! Reads and writes are checked; each names the field it is for.

use super::ImageError;

/// The longest name of a module or a routine.
const LONGEST_NAME: usize = 512;

/// The bytes of an image at their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flat {
    bytes: Vec<u8>,
}

impl Flat {
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: vec![0; size] }
    }

    /// Copies a part of the file to its place; what does not fit is an error.
    pub(super) fn place(&mut self, rva: u32, data: &[u8], field: &str) -> Result<(), ImageError> {
        let start = rva as usize;
        let end = start.checked_add(data.len());
        let room = end.and_then(|end| self.bytes.get_mut(start..end));
        let room = room.ok_or_else(|| ImageError::new(field, format!("{rva:#x} is outside of the image")))?;
        room.copy_from_slice(data);
        Ok(())
    }

    pub(super) fn read<const N: usize>(&self, rva: u32, field: &str) -> Result<[u8; N], ImageError> {
        let bytes = self.bytes.get(rva as usize..).and_then(|rest| rest.first_chunk::<N>());
        bytes.copied().ok_or_else(|| ImageError::new(field, format!("{N} bytes at {rva:#x} are outside of the image")))
    }

    pub(super) fn u16(&self, rva: u32, field: &str) -> Result<u16, ImageError> {
        self.read(rva, field).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, rva: u32, field: &str) -> Result<u32, ImageError> {
        self.read(rva, field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, rva: u32, field: &str) -> Result<u64, ImageError> {
        self.read(rva, field).map(u64::from_le_bytes)
    }

    /// A name that ends with a zero byte.
    pub(super) fn name(&self, rva: u32, field: &str) -> Result<String, ImageError> {
        let rest = self.bytes.get(rva as usize..).unwrap_or_default();
        let window = rest.get(..LONGEST_NAME).unwrap_or(rest);
        let end = window.iter().position(|&byte| byte == 0);
        let name = end.and_then(|end| window.get(..end));
        let name = name.ok_or_else(|| ImageError::new(field, format!("the name at {rva:#x} has no end")))?;
        match str::from_utf8(name) {
            Ok(text) if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()) => Ok(text.to_owned()),
            _ => Err(ImageError::new(field, format!("{rva:#x} is no printable name"))),
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}
