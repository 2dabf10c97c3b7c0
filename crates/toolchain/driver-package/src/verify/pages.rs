//! Page hashes: a digest of each page of an image, so that Windows can check one page without reading the others.
//!
//! They are part of the signed content (`SpcPeImageData`, a serialized object in its link). The layout is that of
//! Microsoft's "Windows Authenticode Portable Executable Signature Format": a file offset and a digest for each page,
//! the headers first, and an entry with an empty digest at the end of the last section.

use der::asn1::{Any, OctetString, SetOfVec};
use der::{Decode as _, Encode as _, Reader as _, SliceReader, TagNumber, Tagged as _};
use x509_cert::attr::Attribute;

use super::Refusal;
use super::digest::Algorithm;
use crate::pe::{Image, SigningOffsets};
use crate::sign::oid;

/// The class of the object with page hashes.
const CLASS: [u8; 16] =
    [0xa6, 0xb5, 0x86, 0xd5, 0xb4, 0xa1, 0x24, 0x66, 0xae, 0x05, 0xa2, 0x17, 0xda, 0x8e, 0x60, 0xd6];
const PAGE: usize = 4096;

/// The digests of an image's pages.
pub(super) struct Pages {
    algorithm: Algorithm,
    entries: Vec<(usize, Vec<u8>)>,
}

impl Pages {
    /// Reads the page hashes from `SpcPeImageData`. Most images have none.
    pub(super) fn from_attribute(value: &Any) -> Result<Option<Self>, Refusal> {
        let cannot = |error: der::Error| Refusal::from(error).about("they cannot be read");
        let Some(object) = serialized(value).map_err(cannot)? else { return Ok(None) };
        let attributes = SetOfVec::<Attribute>::from_der(&object).map_err(cannot)?;
        let Some(attribute) = attributes.iter().next() else { return Ok(None) };
        let algorithm = match attribute.oid {
            oid::PAGE_HASHES_V1 => Algorithm::Sha1,
            oid::PAGE_HASHES_V2 => Algorithm::Sha256,
            other => return Err(Refusal::Unknown(format!("their kind {other} is not known"))),
        };
        let value = attribute.values.iter().next().ok_or_else(|| Refusal::Failed("they are missing".into()))?;
        let value = value.decode_as::<OctetString>().map_err(cannot)?;
        let bytes = value.as_bytes();
        let mut entries = Vec::new();
        for entry in bytes.chunks(4 + algorithm.length()) {
            let (Some(offset), Some(digest)) = (entry.first_chunk::<4>(), entry.get(4..)) else { break };
            entries.push((usize::try_from(u32::from_le_bytes(*offset)).unwrap_or(usize::MAX), digest.to_vec()));
        }
        Ok(Some(Self { algorithm, entries }))
    }

    /// Compares the page hashes with the file. Returns the number of pages.
    pub(super) fn verify(&self, bytes: &[u8], offsets: SigningOffsets) -> Result<usize, Refusal> {
        let own = self.compute(bytes, offsets)?;
        for (index, (offset, digest)) in own.iter().enumerate() {
            if self.entries.get(index) != Some(&(*offset, digest.clone())) {
                let text = format!("the page at file offset {offset:#x} was changed after the file was signed");
                return Err(Refusal::Failed(text));
            }
        }
        if own.len() == self.entries.len() {
            Ok(own.len().saturating_sub(1))
        } else {
            Err(Refusal::Failed(format!("there are {} hashes for {} pages", self.entries.len(), own.len())))
        }
    }

    fn compute(&self, bytes: &[u8], offsets: SigningOffsets) -> Result<Vec<(usize, Vec<u8>)>, Refusal> {
        let image = Image::parse(bytes).map_err(|error| Refusal::Failed(error.to_string()))?;
        let size = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        let headers = size(image.header.size_of_headers);
        let outside = || Refusal::Failed("a section is not within the file".into());
        let part = |from: usize, to: usize| bytes.get(from..to).ok_or_else(outside);
        let zeros = [0; PAGE];
        let padding = |length: usize| zeros.get(length.min(PAGE)..).unwrap_or_default();
        let first = [
            part(0, offsets.checksum)?,
            part(offsets.checksum + 4, offsets.security)?,
            part(offsets.security + 8, headers)?,
            padding(headers),
        ];
        let mut pages = vec![(0, self.algorithm.digest(&first))];
        let mut last = headers;
        for section in image.sections.iter().filter(|section| section.file_size > 0) {
            let start = size(section.file_offset);
            let length = size(section.file_size);
            let data = part(start, start.saturating_add(length))?;
            for (index, page) in data.chunks(PAGE).enumerate() {
                pages.push((start + index * PAGE, self.algorithm.digest(&[page, padding(page.len())])));
            }
            last = start + length;
        }
        pages.push((last, vec![0; self.algorithm.length()]));
        Ok(pages)
    }
}

/// Returns the serialized object of `SpcPeImageData`, if it contains page hashes.
fn serialized(value: &Any) -> der::Result<Option<Vec<u8>>> {
    let bytes = value.to_der()?;
    let mut reader = SliceReader::new(&bytes)?;
    reader.sequence(|fields| {
        // The flags.
        Any::decode(fields)?;
        if fields.is_finished() {
            return Ok(None);
        }
        let link = Any::decode(fields)?;
        // The rest is skipped.
        let rest = fields.remaining_len();
        fields.read_slice(rest)?;
        let mut link = SliceReader::new(link.value())?;
        let Ok(object) = Any::decode(&mut link) else { return Ok(None) };
        // `[1] IMPLICIT SpcSerializedObject`; the other choices are a URL and a file's name.
        let is_object = matches!(object.tag(), der::Tag::ContextSpecific { number: TagNumber::N1, .. });
        if !is_object {
            return Ok(None);
        }
        let mut parts = SliceReader::new(object.value())?;
        let class = OctetString::decode(&mut parts)?;
        let data = OctetString::decode(&mut parts)?;
        Ok((class.as_bytes() == CLASS).then(|| data.as_bytes().to_vec()))
    })
}
