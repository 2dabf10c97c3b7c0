//! `SpcIndirectDataContent`: a digest, and the type of the file that it belongs to.
//!
//! The layouts are those of Microsoft's "Windows Authenticode Portable Executable Signature Format".

use const_oid::ObjectIdentifier;
use der::asn1::{Any, OctetString};
use der::{Decode, Sequence};
use spki::AlgorithmIdentifierOwned;

use super::oid;

/// A digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(crate) struct IndirectData {
    data: TypedValue,
    digest: DigestInfo,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
struct TypedValue {
    kind: ObjectIdentifier,
    value: Any,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
struct DigestInfo {
    algorithm: AlgorithmIdentifierOwned,
    digest: OctetString,
}

/// The file that was digested, and where the digest is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An image, in its own signature: `SpcPeImageData` without flags, and without a file name.
    SignedImage,
    /// An image, in a catalog: the flags are those that inf2cat writes.
    CataloguedImage,
    /// Any other file, in a catalog.
    CataloguedFile,
}

impl Subject {
    fn value(self) -> (ObjectIdentifier, &'static [u8]) {
        match self {
            Self::SignedImage => (oid::IMAGE_DATA, &[0x30, 0x09, 0x03, 0x01, 0x00, 0xa0, 0x04, 0xa2, 0x02, 0x80, 0x00]),
            Self::CataloguedImage => {
                (oid::IMAGE_DATA, &[0x30, 0x0a, 0x03, 0x02, 0x05, 0xa0, 0xa0, 0x04, 0xa2, 0x02, 0x80, 0x00])
            }
            Self::CataloguedFile => (oid::FLAT_DATA, &[0xa2, 0x02, 0x80, 0x00]),
        }
    }
}

impl IndirectData {
    pub(crate) fn new(subject: Subject, algorithm: ObjectIdentifier, digest: &[u8]) -> der::Result<Self> {
        let (kind, value) = subject.value();
        Ok(Self {
            data: TypedValue { kind, value: Any::from_der(value)? },
            digest: DigestInfo { algorithm: with_null(algorithm), digest: OctetString::new(digest)? },
        })
    }

    /// Returns the description of the digested file.
    pub(crate) fn value(&self) -> &Any {
        &self.data.value
    }

    /// Returns the algorithm of the digest.
    pub(crate) fn algorithm(&self) -> ObjectIdentifier {
        self.digest.algorithm.oid
    }

    /// Returns the digest.
    pub(crate) fn digest(&self) -> &[u8] {
        self.digest.digest.as_bytes()
    }
}

/// Returns an algorithm with the NULL parameters that Windows writes.
pub(crate) fn with_null(oid: ObjectIdentifier) -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid, parameters: Some(Any::null()) }
}

#[cfg(test)]
mod tests {
    use der::Encode;

    use super::{IndirectData, Subject};
    use crate::sign::oid;

    #[test]
    fn an_image_in_a_catalog_has_the_flags_of_inf2cat() {
        let data = IndirectData::new(Subject::CataloguedImage, oid::SHA1, &[7; 20]).unwrap().to_der().unwrap();
        let expected = [0x30, 0x0a, 0x03, 0x02, 0x05, 0xa0, 0xa0, 0x04, 0xa2, 0x02, 0x80, 0x00];
        assert!(data.windows(expected.len()).any(|window| window == expected));
        assert!(data.ends_with(&[7; 20]));
    }
}
