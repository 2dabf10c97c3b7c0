//! The files that a catalog lists, in both versions of the catalog format.

use der::asn1::{OctetString, SetOfVec};
use der::{Decode as _, Encode as _, SliceReader, Tag};
use x509_cert::attr::Attribute;

use super::Refusal;
use super::digest::Algorithm;
use super::envelope::Envelope;
use super::tlv::Field;
use crate::pe::SigningOffsets;
use crate::sign::spc::IndirectData;
use crate::sign::{hex, image_parts, oid};

/// The digests of the files in a catalog.
pub(crate) struct Members(Vec<Vec<u8>>);

impl Members {
    /// Reads the list of a catalog. The signature is not checked.
    pub(crate) fn from_catalog(catalog: &[u8]) -> Result<Self, Refusal> {
        Self::read(&Envelope::parse(catalog)?)
    }

    /// Reads the list that the envelope signs.
    pub(super) fn read(envelope: &Envelope) -> Result<Self, Refusal> {
        if envelope.kind() != oid::TRUST_LIST {
            return Err(Refusal::Failed("the signed content is not a catalog".into()));
        }
        let list = read(envelope.content_der());
        list.map(Self).map_err(|error| Refusal::Failed(format!("its list cannot be read: {error}")))
    }

    /// Returns the number of files. Version 2 has two entries for each file.
    pub(super) fn len(&self) -> usize {
        let count = |length: usize| self.0.iter().filter(|digest| digest.len() == length).count();
        count(32).max(count(20))
    }

    /// Returns whether the list contains this file.
    pub(crate) fn contains(&self, bytes: &[u8]) -> bool {
        self.find(bytes).is_some()
    }

    /// Returns the digest algorithm with which the list contains this file.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<Algorithm> {
        let offsets = SigningOffsets::from_file(bytes).ok();
        [Algorithm::Sha256, Algorithm::Sha1].into_iter().find(|algorithm| {
            let digest = match offsets {
                None => algorithm.digest(&[bytes]),
                Some(offsets) => algorithm.digest(&image_parts(bytes, offsets)),
            };
            self.0.contains(&digest)
        })
    }
}

fn read(list: &[u8]) -> der::Result<Vec<Vec<u8>>> {
    let fields = Field::parse(list)?.fields(Tag::Sequence)?;
    // The subjects are a sequence of sequences. The list's usage and algorithm are sequences too, but begin with an object identifier.
    let is_subjects = |field: &&Field| {
        field.tag == Tag::Sequence && Field::first(field.value).is_ok_and(|(first, _)| first.tag == Tag::Sequence)
    };
    let mut digests = Vec::new();
    for subject in fields.iter().find(is_subjects).map_or(Ok(Vec::new()), |field| field.fields(Tag::Sequence))? {
        subject.expect(Tag::Sequence)?;
        let mut reader = SliceReader::new(subject.value)?;
        let tag = OctetString::decode(&mut reader)?;
        let attributes = SetOfVec::<Attribute>::decode(&mut reader)?;
        digests.extend(of_tag(tag.as_bytes()));
        for attribute in attributes.iter().filter(|attribute| attribute.oid == oid::INDIRECT_DATA) {
            for value in attribute.values.iter() {
                digests.push(IndirectData::from_der(&value.to_der()?)?.digest().to_vec());
            }
        }
    }
    digests.sort();
    digests.dedup();
    Ok(digests)
}

/// Returns the digest in a tag: as bytes, or in version 1 as text.
fn of_tag(tag: &[u8]) -> Option<Vec<u8>> {
    if [20, 32].contains(&tag.len()) {
        return Some(tag.to_vec());
    }
    let units = tag.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).take_while(|unit| *unit != 0);
    let text = String::from_utf16(&units.collect::<Vec<_>>()).ok()?.to_uppercase();
    let bytes: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect();
    bytes.filter(|bytes| hex(bytes) == text)
}

#[cfg(test)]
mod tests {
    use super::of_tag;

    #[test]
    fn a_tag_has_a_digest_as_bytes_or_as_text() {
        let text = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        assert_eq!(of_tag(&[7; 20]), Some(vec![7; 20]));
        for (tag, expected) in
            [("0AFF\0", Some(vec![10, 255])), ("0aff", Some(vec![10, 255])), ("0AF", None), ("+1", None)]
        {
            assert_eq!(of_tag(&text(tag)), expected, "{tag:?}");
        }
    }
}
