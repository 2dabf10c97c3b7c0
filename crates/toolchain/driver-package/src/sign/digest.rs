//! Digests of files: of an image without the parts that signing changes, of any other file as it is.

use std::fmt::Write as _;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::Error;
use crate::pe::SigningOffsets;

/// The two digests that catalogs use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// For catalogs of version 1. Catalogs of version 2 contain both.
    pub sha1: [u8; 20],
    /// For everything else.
    pub sha256: [u8; 32],
}

impl Digests {
    /// Computes the digests of a file as it is.
    #[must_use]
    pub fn of_file(bytes: &[u8]) -> Self {
        Self::from_parts([bytes])
    }

    fn from_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut sha1 = Sha1::new();
        let mut sha256 = Sha256::new();
        for part in parts {
            sha1.update(part);
            sha256.update(part);
        }
        Self { sha1: sha1.finalize().into(), sha256: sha256.finalize().into() }
    }
}

/// Returns upper-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Computes the digests of an image without its checksum, the directory entry of its signature, and the signature.
///
/// The rest is padded with zeros to a multiple of eight, as it is before a signature is added. So an image has the same
/// digests before and after signing.
///
/// # Errors
///
/// Returns the field that shows that the bytes are not an image that can be signed.
pub fn image_digests(image: &[u8]) -> Result<Digests, Error> {
    Ok(Digests::from_parts(image_parts(image, SigningOffsets::from_file(image)?)))
}

/// Returns the parts of an image that are digested.
pub(crate) fn image_parts(image: &[u8], offsets: SigningOffsets) -> [&[u8]; 4] {
    let part = |range: std::ops::Range<usize>| image.get(range).unwrap_or_default();
    let end = offsets.signed_end(image.len());
    let missing = end.next_multiple_of(8) - end;
    [
        part(0..offsets.checksum),
        part(offsets.checksum + 4..offsets.security),
        part(offsets.security + 8..end),
        [0; 8].get(..missing).unwrap_or_default(),
    ]
}
