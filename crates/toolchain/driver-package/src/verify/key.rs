//! Checks a signature with a public key.

use der::{Decode as _, Encode as _};
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use rsa::RsaPublicKey;
use rsa::pkcs8::DecodePublicKey as _;
use rsa::traits::PublicKeyParts as _;
use spki::SubjectPublicKeyInfoOwned;

use super::Refusal;
use super::digest::Algorithm;
use crate::sign::oid;

/// Returns whether the key made a signature over the message.
pub(super) fn verify(key: &[u8], algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Result<bool, Refusal> {
    let unreadable = || Refusal::Failed("the key of its certificate cannot be read".into());
    let info = SubjectPublicKeyInfoOwned::from_der(key).map_err(|_| unreadable())?;
    let curve = info.algorithm.parameters.as_ref().and_then(|parameters| parameters.decode_as().ok());
    let digest = algorithm.digest(&[message]);
    let is_good = match (info.algorithm.oid, curve) {
        (oid::RSA, _) => RsaPublicKey::from_public_key_der(key).ok().map(|key| {
            // Some timestamp servers sign the digest without the identifier of its algorithm. Windows accepts that.
            let paddings = [algorithm.padding(), rsa::Pkcs1v15Sign::new_unprefixed()];
            paddings.into_iter().any(|padding| key.verify(padding, &digest, signature).is_ok())
        }),
        (oid::EC, Some(oid::P256)) => p256::ecdsa::VerifyingKey::from_public_key_der(key).ok().map(|key| {
            let signature = p256::ecdsa::Signature::from_der(signature);
            signature.is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
        }),
        (oid::EC, Some(oid::P384)) => p384::ecdsa::VerifyingKey::from_public_key_der(key).ok().map(|key| {
            let signature = p384::ecdsa::Signature::from_der(signature);
            signature.is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
        }),
        (kind, curve) => {
            let kind = curve.filter(|_| kind == oid::EC).unwrap_or(kind);
            return Err(Refusal::Unknown(format!("keys of the algorithm {kind} are not checked here")));
        }
    };
    is_good.ok_or_else(unreadable)
}

/// Returns the length of an RSA key in bits.
pub(super) fn rsa_bits(key: &[u8]) -> Option<usize> {
    RsaPublicKey::from_public_key_der(key).ok().map(|key| key.n().bits())
}

/// Whether a signature algorithm fits the key and the digest. It is not signed, so it must say what is known anyway.
pub(super) fn fits(kind: &spki::AlgorithmIdentifierOwned, digest: Algorithm) -> bool {
    let is_known = kind.oid == oid::RSA || kind.oid == oid::EC || Algorithm::from_oid(kind.oid) == Some(digest);
    is_known && has_no_parameters(kind)
}

/// Whether an algorithm has no parameters, which is written in two ways.
pub(super) fn has_no_parameters(kind: &spki::AlgorithmIdentifierOwned) -> bool {
    kind.parameters.as_ref().is_none_or(|value| value.to_der().is_ok_and(|bytes| bytes == [5, 0]))
}
