//! The file offsets that signing writes to.

use object::LittleEndian as LE;
use object::pe::{
    IMAGE_NT_OPTIONAL_HDR32_MAGIC, IMAGE_NT_OPTIONAL_HDR64_MAGIC, ImageDosHeader, ImageOptionalHeader32,
    ImageOptionalHeader64,
};
use object::read::ReadRef;
use object::{U16, U32};

use crate::error::Error;
use crate::image::Image;

/// The offsets of the fields that signing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SigningOffsets {
    /// Offset of `CheckSum`, four bytes.
    pub checksum: usize,
    /// Offset of the entry of the security directory, eight bytes.
    pub security: usize,
    /// Offset of the existing signature, if there is one.
    pub signature: Option<usize>,
}

impl SigningOffsets {
    /// Finds the offsets in a valid image.
    ///
    /// # Errors
    ///
    /// Names the field if the image is damaged, has no security directory entry, or has data after its signature.
    pub fn from_file(data: &[u8]) -> Result<Self, Error> {
        let image = Image::parse(data)?;
        let cut = |()| Error::new("optional header", "the file is too short to contain it");
        let dos: &ImageDosHeader = data.read_at(0).map_err(cut)?;
        let optional = u64::from(dos.e_lfanew.get(LE)) + 24;
        let magic = data.read_at::<U16<LE>>(optional).map_err(cut)?.get(LE);
        let size = match magic {
            IMAGE_NT_OPTIONAL_HDR64_MAGIC => size_of::<ImageOptionalHeader64>(),
            IMAGE_NT_OPTIONAL_HDR32_MAGIC => size_of::<ImageOptionalHeader32>(),
            _ => return Err(Error::new("optional header", "it is neither PE32 nor PE32+")),
        };
        let directories = optional + size as u64;
        let count = data.read_at::<U32<LE>>(directories - 4).map_err(cut)?.get(LE);
        if count <= 4 {
            return Err(Error::new("security directory", format!("it is the fifth of only {count} directories")));
        }
        let offset = |value: u64| usize::try_from(value).map_err(|_| cut(()));
        let checksum = offset(optional + 64)?;
        let security = offset(directories + 32)?;
        let signature = match &image.signature {
            None => None,
            Some(table) => match table.problems.first() {
                Some(problem) => return Err(Error::new("security directory", problem.clone())),
                None => Some(offset(u64::from(table.offset))?),
            },
        };
        let in_order = checksum + 4 <= security && security + 8 <= signature.unwrap_or(data.len());
        if !in_order || data.len() < security + 8 {
            return Err(Error::new("optional header", "it overlaps the signature or the end of the file"));
        }
        Ok(Self { checksum, security, signature })
    }

    /// Returns where the signed part of a file of this length ends.
    #[must_use]
    pub fn signed_end(&self, length: usize) -> usize {
        self.signature.unwrap_or(length)
    }
}
