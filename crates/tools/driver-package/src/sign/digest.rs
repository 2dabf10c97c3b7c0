//! Digests of files: of an image without what signing changes, of any other file as it is.

use std::fmt::Write as _;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::Error;
use crate::pe::SigningOffsets;

/// Both digests that catalogs use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of catalogs of the first version, and beside the other in the second.
    pub sha1: [u8; 20],
    /// Of everything else.
    pub sha256: [u8; 32],
}

impl Digests {
    /// Of a file as it is.
    #[must_use]
    pub fn of_file(bytes: &[u8]) -> Self {
        Self::of_parts([bytes])
    }

    fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let (mut sha1, mut sha256) = (Sha1::new(), Sha256::new());
        for part in parts {
            sha1.update(part);
            sha256.update(part);
        }
        Self { sha1: sha1.finalize().into(), sha256: sha256.finalize().into() }
    }
}

/// Upper-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Digests of an image without its checksum, the entry that points to its signature, and the signature.
///
/// What stays is filled with zeros to a multiple of eight, as it would be before a signature is added; an image has
/// the same digests before and after it is signed.
///
/// # Errors
///
/// Names the field when the bytes are no image that can be signed.
pub fn image_digests(image: &[u8]) -> Result<Digests, Error> {
    Ok(Digests::of_parts(image_parts(image, SigningOffsets::of(image)?)))
}

/// What of an image is digested.
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
