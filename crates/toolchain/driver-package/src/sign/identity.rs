//! A certificate that is currently valid for signing code, and its key.

use std::fs;
use std::path::Path;
use std::time::Duration;

use der::{Decode, Encode};
use rsa::RsaPrivateKey;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs1v15::SigningKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePublicKey};
use rsa::signature::{SignatureEncoding, Signer};
use rsa::traits::{PrivateKeyParts, PublicKeyParts};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::ext::pkix::{ExtendedKeyUsage, KeyUsage};

use super::{hex, oid, pem};
use crate::problem::Problem;

/// Minimum key size for signing code.
const LEAST_BITS: usize = 2048;

/// A certificate and its key, with which files are signed.
pub struct Identity {
    certificate: Certificate,
    /// The other certificates in the user's file, between this one and a root.
    others: Vec<Certificate>,
    key: SigningKey<Sha256>,
}

impl Identity {
    /// Reads a PEM file with a certificate and its RSA key, in any order. Further certificates are included in
    /// signatures.
    ///
    /// # Errors
    ///
    /// Returns the file and what is wrong: it is unreadable, or the certificate is expired, not for code signing, or
    /// does not belong to the key.
    pub fn load(file: &Path, now: Duration) -> Result<Self, Problem> {
        let problem = |rule: &str, text: String| Problem::error(file, rule, text);
        let bytes = fs::read(file).map_err(|error| Problem::access(file, "certificate-file", &error))?;
        let text = String::from_utf8(bytes).map_err(|_| problem("certificate-file", NOT_PEM.into()))?;
        let blocks = pem::blocks(&text).map_err(|error| problem("certificate-file", error.to_string()))?;
        let mut key = None;
        let mut certificates = Vec::new();
        for (label, bytes) in &blocks {
            let broken = |error: String| problem("certificate-file", format!("block `{label}`: {error}"));
            match label.as_str() {
                "CERTIFICATE" => {
                    certificates.push(Certificate::from_der(bytes).map_err(|error| broken(error.to_string()))?);
                }
                "PRIVATE KEY" => {
                    key = Some(RsaPrivateKey::from_pkcs8_der(bytes).map_err(|error| broken(error.to_string()))?);
                }
                "RSA PRIVATE KEY" => {
                    key = Some(RsaPrivateKey::from_pkcs1_der(bytes).map_err(|error| broken(error.to_string()))?);
                }
                "ENCRYPTED PRIVATE KEY" => return Err(problem("certificate-key", ENCRYPTED.into())),
                _ => {}
            }
        }
        if blocks.is_empty() {
            return Err(problem("certificate-file", NOT_PEM.into()));
        }
        let key = key.ok_or_else(|| problem("certificate-key", "the file has no private key".into()))?;
        Self::new(key, certificates, now).map_err(|(rule, text)| problem(rule, text))
    }

    /// Combines a key with its certificate, and checks what Windows would check.
    pub(super) fn new(
        key: RsaPrivateKey,
        mut certificates: Vec<Certificate>,
        now: Duration,
    ) -> Result<Self, (&'static str, String)> {
        let public = key.to_public_key().to_public_key_der().map_err(|error| ("certificate-key", error.to_string()))?;
        let is_keys = |each: &Certificate| {
            each.tbs_certificate.subject_public_key_info.to_der().is_ok_and(|info| info == public.as_bytes())
        };
        let index = certificates.iter().position(is_keys);
        let text = "no certificate in the file belongs to the private key in it";
        let index = index.ok_or_else(|| ("certificate-key", String::from(text)))?;
        let certificate = certificates.remove(index);
        if key.size() * 8 < LEAST_BITS {
            let text = format!("the key has {} bits, but code signing needs at least {LEAST_BITS}", key.size() * 8);
            return Err(("certificate-key", text));
        }
        check_time(&certificate, now)?;
        check_usage(&certificate)?;
        Ok(Self { certificate, others: certificates, key: SigningKey::new(key) })
    }

    /// Returns the certificate that signs.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns all certificates that are included in a signature.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        std::iter::once(&self.certificate).chain(&self.others)
    }

    /// Returns the certificate as the content of a `.cer` file.
    ///
    /// # Errors
    ///
    /// This cannot fail for a certificate that was read from a file.
    pub fn to_cer(&self) -> der::Result<Vec<u8>> {
        self.certificate.to_der()
    }

    /// Returns the certificate's thumbprint as Windows shows it.
    ///
    /// # Errors
    ///
    /// This cannot fail for a certificate that was read from a file.
    pub fn thumbprint(&self) -> der::Result<String> {
        Ok(hex(&Sha1::digest(self.to_cer()?)))
    }

    /// Returns the numbers that make the key, in both byte orders. A file with one of them contains the key.
    pub(crate) fn secrets(&self) -> Vec<Vec<u8>> {
        let key: &RsaPrivateKey = self.key.as_ref();
        let numbers = std::iter::once(key.d()).chain(key.primes()).map(rsa::BigUint::to_bytes_be);
        numbers.flat_map(|number| [number.iter().rev().copied().collect(), number]).collect()
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.key.sign(message).to_vec()
    }
}

const NOT_PEM: &str = "it is not a PEM file with a certificate and its private key; to convert a .pfx: \
                       openssl pkcs12 -in FILE.pfx -nodes -out FILE.pem";
const ENCRYPTED: &str = "the private key is encrypted; to remove its password: openssl rsa -in FILE.pem -out KEY.pem";

fn check_time(certificate: &Certificate, now: Duration) -> Result<(), (&'static str, String)> {
    let validity = &certificate.tbs_certificate.validity;
    if validity.not_after.to_unix_duration() < now {
        return Err(("certificate-expired", format!("the certificate expired at {}", validity.not_after)));
    }
    if validity.not_before.to_unix_duration() > now {
        return Err(("certificate-not-yet-valid", format!("the certificate is valid from {}", validity.not_before)));
    }
    Ok(())
}

fn check_usage(certificate: &Certificate) -> Result<(), (&'static str, String)> {
    let refuse = |text: &str| Err(("certificate-usage", String::from(text)));
    let damaged = |error: der::Error| ("certificate-usage", error.to_string());
    match certificate.tbs_certificate.get::<ExtendedKeyUsage>().map_err(damaged)? {
        Some((_, usage)) if usage.0.contains(&oid::CODE_SIGNING) => {}
        Some(_) => return refuse("the certificate's extended key usage does not list code signing"),
        None => return refuse("the certificate has no extended key usage; it must list code signing"),
    }
    match certificate.tbs_certificate.get::<KeyUsage>().map_err(damaged)? {
        Some((_, usage)) if !usage.digital_signature() => {
            refuse("the certificate's key usage does not allow digital signatures")
        }
        _ => Ok(()),
    }
}
