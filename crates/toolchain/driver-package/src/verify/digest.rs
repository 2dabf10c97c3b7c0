//! Digest algorithms by their object identifiers.

use const_oid::ObjectIdentifier;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::sign::oid;

/// A digest algorithm of driver signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// In timestamps and certificates of the 1990s and 2000s.
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// Finds the algorithm of a digest, or of a signature algorithm that includes a digest.
    pub(super) fn from_oid(oid: ObjectIdentifier) -> Option<Self> {
        match oid {
            oid::MD5 | oid::MD5_WITH_RSA => Some(Self::Md5),
            oid::SHA1 | oid::SHA1_WITH_RSA | oid::OIW_SHA1_WITH_RSA => Some(Self::Sha1),
            oid::SHA256 | oid::SHA256_WITH_RSA | oid::SHA256_WITH_ECDSA => Some(Self::Sha256),
            oid::SHA384 | oid::SHA384_WITH_RSA | oid::SHA384_WITH_ECDSA => Some(Self::Sha384),
            oid::SHA512 | oid::SHA512_WITH_RSA | oid::SHA512_WITH_ECDSA => Some(Self::Sha512),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Md5 => "MD5",
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
        }
    }

    /// Whether two messages with one digest can be made.
    pub(super) fn is_weak(self) -> bool {
        matches!(self, Self::Md5 | Self::Sha1)
    }

    pub(super) fn length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Computes the digest of the parts, one after another.
    pub(super) fn digest(self, parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Md5 => digest::<Md5>(parts),
            Self::Sha1 => digest::<Sha1>(parts),
            Self::Sha256 => digest::<Sha256>(parts),
            Self::Sha384 => digest::<Sha384>(parts),
            Self::Sha512 => digest::<Sha512>(parts),
        }
    }

    /// Returns the RSA padding for this digest.
    pub(super) fn padding(self) -> rsa::Pkcs1v15Sign {
        match self {
            Self::Md5 => rsa::Pkcs1v15Sign::new::<Md5>(),
            Self::Sha1 => rsa::Pkcs1v15Sign::new::<Sha1>(),
            Self::Sha256 => rsa::Pkcs1v15Sign::new::<Sha256>(),
            Self::Sha384 => rsa::Pkcs1v15Sign::new::<Sha384>(),
            Self::Sha512 => rsa::Pkcs1v15Sign::new::<Sha512>(),
        }
    }
}

fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = D::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use const_oid::ObjectIdentifier;

    use super::Algorithm;

    #[test]
    fn both_names_of_sha_1_with_rsa_are_known() {
        for name in ["1.2.840.113549.1.1.5", "1.3.14.3.2.29"] {
            assert_eq!(Algorithm::from_oid(ObjectIdentifier::new_unwrap(name)), Some(Algorithm::Sha1), "{name}");
        }
    }
}
