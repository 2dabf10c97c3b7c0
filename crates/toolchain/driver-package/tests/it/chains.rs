//! Certificates with any names and usages, signed with the two keys in `tests/data`.

use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use const_oid::{AssociatedOid, ObjectIdentifier};
use der::asn1::{BitString, OctetString, UtcTime};
use der::pem::{LineEnding, encode_string};
use der::{Decode as _, Encode};
use driver_package::sign::Identity;
use driver_package::verify::{Purpose, Root};
use rsa::RsaPrivateKey;
use rsa::pkcs1v15::SigningKey;
use rsa::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, EncodePublicKey as _};
use rsa::signature::{SignatureEncoding as _, Signer as _};
use sha2::{Digest as _, Sha256};
use spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::certificate::{Certificate, TbsCertificate, Version};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::time::{Time, Validity};

use crate::common::inputs::{TIME, data};

/// Names of Microsoft's certificates, which prove nothing.
pub(crate) const PUBLISHER: &str =
    "CN=Microsoft Windows Hardware Compatibility Publisher,O=Microsoft Corporation,L=Redmond,ST=Washington,C=US";
pub(crate) const AUTHORITY: &str =
    "CN=Microsoft Windows Third Party Component CA 2014,O=Microsoft Corporation,L=Redmond,ST=Washington,C=US";
pub(crate) const CODE_SIGNING: &str = "1.3.6.1.5.5.7.3.3";
pub(crate) const TIME_STAMPING: &str = "1.3.6.1.5.5.7.3.8";
pub(crate) const WHQL: &str = "1.3.6.1.4.1.311.10.3.5";

/// Reads a key of `tests/data`: `signer.pem` has 2048 bits, `short.pem` 1024.
pub(crate) fn key(name: &str) -> RsaPrivateKey {
    let text = fs::read_to_string(data(name)).unwrap();
    let start = "-----BEGIN PRIVATE KEY-----";
    let end = "-----END PRIVATE KEY-----\n";
    let block = &text[text.find(start).unwrap()..text.find(end).unwrap() + end.len()];
    RsaPrivateKey::from_pkcs8_pem(block).unwrap()
}

/// A certificate to make.
pub(crate) struct Wanted<'a> {
    pub(crate) subject: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) is_authority: bool,
    pub(crate) usages: &'a [&'a str],
}

impl Wanted<'_> {
    /// Makes the certificate of `key`, signed with the key of its issuer.
    pub(crate) fn make(&self, key: &RsaPrivateKey, issuer: &RsaPrivateKey) -> Certificate {
        let oid = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
        let algorithm = AlgorithmIdentifierOwned { oid, parameters: Some(der::asn1::Any::null()) };
        let constraints = BasicConstraints { ca: self.is_authority, path_len_constraint: None };
        let mut extensions = vec![extension(&constraints)];
        if !self.usages.is_empty() {
            let usages = self.usages.iter().map(|usage| ObjectIdentifier::new_unwrap(usage));
            extensions.push(extension(&ExtendedKeyUsage(usages.collect())));
        }
        let time = |since_1970| Time::UtcTime(UtcTime::from_unix_duration(since_1970).unwrap());
        let tbs_certificate = TbsCertificate {
            version: Version::V3,
            serial_number: SerialNumber::new(&Sha256::digest(self.subject)[..8]).unwrap(),
            signature: algorithm.clone(),
            issuer: Name::from_str(self.issuer).unwrap(),
            validity: Validity { not_before: time(TIME.saturating_sub(DAY)), not_after: time(TIME + 9000 * DAY) },
            subject: Name::from_str(self.subject).unwrap(),
            subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(&public(key)).unwrap(),
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(extensions),
        };
        let signature = SigningKey::<Sha256>::new(issuer.clone()).sign(&tbs_certificate.to_der().unwrap());
        let signature = BitString::from_bytes(&signature.to_vec()).unwrap();
        Certificate { tbs_certificate, signature_algorithm: algorithm, signature }
    }
}

const DAY: Duration = Duration::from_hours(24);

fn extension<T: Encode + AssociatedOid>(value: &T) -> Extension {
    let extn_value = OctetString::new(value.to_der().unwrap()).unwrap();
    Extension { extn_id: T::OID, critical: false, extn_value }
}

/// Returns a key as `SubjectPublicKeyInfo`.
pub(crate) fn public(key: &RsaPrivateKey) -> Vec<u8> {
    key.to_public_key().to_public_key_der().unwrap().into_vec()
}

/// Returns a root that is pinned by this key.
pub(crate) fn pin(key: &RsaPrivateKey, purpose: Purpose) -> Vec<Root> {
    vec![Root { name: "a root of this test".into(), key: public(key), purpose }]
}

/// Writes a key and its certificates, and loads them as an identity.
pub(crate) fn identity(folder: &Path, key: &RsaPrivateKey, certificates: &[Certificate]) -> Identity {
    let pem = |label: &str, bytes: &[u8]| encode_string(label, LineEnding::LF, bytes).unwrap();
    let mut text = pem("PRIVATE KEY", key.to_pkcs8_der().unwrap().as_bytes());
    text.extend(certificates.iter().map(|each| pem("CERTIFICATE", &each.to_der().unwrap())));
    let path = folder.join("identity.pem");
    fs::write(&path, text).unwrap();
    let identity = Identity::load(&path, TIME).unwrap();
    fs::remove_file(path).unwrap();
    identity
}

/// An identity of a publisher with Microsoft's names, whose authority has the other key. `with_authority` includes the
/// authority's certificate, which is self-signed.
pub(crate) fn publisher(folder: &Path, usages: &[&str], with_authority: bool, is_authority: bool) -> Identity {
    let own = key("signer.pem");
    let root = key("short.pem");
    let leaf = Wanted { subject: PUBLISHER, issuer: AUTHORITY, is_authority: false, usages }.make(&own, &root);
    let authority = Wanted { subject: AUTHORITY, issuer: AUTHORITY, is_authority, usages: &[] }.make(&root, &root);
    let all = [leaf, authority];
    identity(folder, &own, if with_authority { &all } else { &all[..1] })
}
