//! The test certificate. It is self-signed and created once, and only its owner can read the key.
//!
//! It has the name that Microsoft's build of Rust drivers uses, so that a machine prepared for one recognises the
//! other.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use const_oid::AssociatedOid;
use der::asn1::{BitString, OctetString, UtcTime};
use der::{DateTime, Decode, Encode};
use rsa::RsaPrivateKey;
use rsa::pkcs1v15::SigningKey;
use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey};
use rsa::rand_core::{OsRng, RngCore};
use rsa::signature::{SignatureEncoding, Signer};
use sha2::Sha256;
use spki::SubjectPublicKeyInfoOwned;
use x509_cert::Certificate;
use x509_cert::certificate::{TbsCertificate, Version};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::time::{Time, Validity};

use super::spc::with_null;
use super::{Identity, oid, pem};
use crate::problem::Problem;

/// The name of the certificate and of its files.
pub const TEST_NAME: &str = "WDRLocalTestCert";
const BITS: usize = 2048;
/// The test certificate is not renewed. makecert uses the same last day.
const LAST_DAY: (u16, u8, u8) = (2039, 12, 31);
/// The clocks of test machines are not exact.
const SLACK: Duration = Duration::from_hours(24);

/// Loads the identity in a folder. Creates it first if there is none.
///
/// # Errors
///
/// Returns the file that cannot be written or read, or whose certificate is not valid for signing.
pub fn test_identity(dir: &Path, now: Duration) -> Result<Identity, Problem> {
    let file = dir.join(TEST_NAME).with_extension("pem");
    if !file.exists() {
        let text = make(now).map_err(|error| Problem::error(&file, "certificate-file", error.to_string()))?;
        store(&file, &text).map_err(|error| Problem::access(&file, "certificate-file", &error))?;
    }
    Identity::load(&file, now)
}

/// Creates a new key and its certificate as PEM.
fn make(now: Duration) -> Result<String, Box<dyn std::error::Error>> {
    let key = RsaPrivateKey::new(&mut OsRng, BITS)?;
    let certificate = self_signed(&key, now)?;
    let key = pem::block("PRIVATE KEY", key.to_pkcs8_der()?.as_bytes())?;
    Ok(key + &pem::block("CERTIFICATE", &certificate.to_der()?)?)
}

fn self_signed(key: &RsaPrivateKey, now: Duration) -> Result<Certificate, Box<dyn std::error::Error>> {
    let name = Name::from_str(&format!("CN={TEST_NAME}"))?;
    let (year, month, day) = LAST_DAY;
    let last = UtcTime::from_date_time(DateTime::new(year, month, day, 23, 59, 59)?)?;
    let first = UtcTime::from_unix_duration(Duration::from_secs(now.saturating_sub(SLACK).as_secs()))?;
    let algorithm = with_null(oid::SHA256_WITH_RSA);
    let tbs_certificate = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&serial_number())?,
        signature: algorithm.clone(),
        issuer: name.clone(),
        validity: Validity { not_before: Time::UtcTime(first), not_after: Time::UtcTime(last) },
        subject: name,
        subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(
            key.to_public_key().to_public_key_der()?.as_bytes(),
        )?,
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: Some(vec![
            extension(&BasicConstraints { ca: false, path_len_constraint: None }, true)?,
            extension(&KeyUsage(KeyUsages::DigitalSignature.into()), true)?,
            extension(&ExtendedKeyUsage(vec![oid::CODE_SIGNING]), false)?,
        ]),
    };
    let signature = SigningKey::<Sha256>::new(key.clone()).sign(&tbs_certificate.to_der()?);
    let signature = BitString::from_bytes(&signature.to_vec())?;
    Ok(Certificate { tbs_certificate, signature_algorithm: algorithm, signature })
}

fn extension<T: Encode + AssociatedOid>(value: &T, critical: bool) -> der::Result<Extension> {
    Ok(Extension { extn_id: T::OID, critical, extn_value: OctetString::new(value.to_der()?)? })
}

/// Returns a positive number that is different for every certificate.
fn serial_number() -> [u8; 16] {
    let mut bytes = [0; 16];
    OsRng.fill_bytes(&mut bytes);
    bytes[0] = bytes[0] & 0x7f | 0x40;
    bytes
}

/// Writes the file atomically. A file that another process has written in the meantime is kept.
fn store(file: &Path, text: &str) -> std::io::Result<()> {
    let dir = file.parent().unwrap_or(file);
    fs::create_dir_all(dir)?;
    let draft = file.with_extension(format!("{}.tmp", std::process::id()));
    let _ = fs::remove_file(&draft);
    let written = write_private(&draft, text).and_then(|()| match fs::hard_link(&draft, file) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    fs::remove_file(&draft).and(written)
}

/// Creates a file that other users cannot read.
#[expect(clippy::disallowed_methods, reason = "a new file, which replaces none")]
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{serial_number, store};

    #[test]
    fn a_serial_number_is_positive_and_has_all_its_bytes() {
        let first: Vec<u8> = (0..64).map(|_| serial_number()[0]).collect();
        assert!(first.iter().all(|byte| byte & 0xc0 == 0x40), "{first:x?}");
    }

    #[test]
    fn the_first_of_two_processes_that_store_a_key_wins() {
        let dir = std::env::temp_dir().join(format!("driver-package-store-{}", std::process::id()));
        let file = dir.join("new/key.pem");
        store(&file, "first").unwrap();
        store(&file, "second").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        assert_eq!(fs::read_dir(dir.join("new")).unwrap().count(), 1, "a draft is left");
        fs::remove_dir_all(&dir).unwrap();
    }
}
