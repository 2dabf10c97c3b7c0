//! The signer of a file: the certificate in a PKCS #7 envelope that other programs made.
//!
//! The signature is not verified here; Windows does that.

use std::error::Error;
use std::fmt;

use cms::cert::CertificateChoices;
use cms::content_info::ContentInfo;
use cms::signed_data::{SignedData, SignerIdentifier};
use der::{Decode, Encode};
use sha1::{Digest, Sha1};
use x509_cert::Certificate;

use super::pem::PemError;
use super::{hex, oid, pem};

/// The certificate of a signature or of a `.cer` file.
#[derive(Clone, Debug)]
pub struct Signer {
    certificate: Certificate,
    bytes: Vec<u8>,
}

/// Compares the content of the certificates, not their encoding.
impl PartialEq for Signer {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
    }
}

/// Why a file has no signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerError {
    /// It is not a signed file, for this reason if it is known.
    NotSigned(Option<der::Error>),
    /// It has no signature.
    NoSignature,
    /// The signature names its certificate in another way.
    NoSerialNumber,
    /// The certificate of the signature is not in the file.
    NoSignerCertificate,
    /// It is not a certificate, for this reason if it is known.
    NotACertificate(Option<der::Error>),
    /// It has no certificate.
    NoCertificate,
    /// It is not PEM.
    Pem(PemError),
}

impl fmt::Display for SignerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSigned(None) => f.write_str("it is not a signed file"),
            Self::NotSigned(Some(error)) => write!(f, "it is not a signed file: {error}"),
            Self::NoSignature => f.write_str("it has no signature"),
            Self::NoSerialNumber => f.write_str("its signature does not name issuer and serial number"),
            Self::NoSignerCertificate => f.write_str("the certificate of its signature is not in it"),
            Self::NotACertificate(None) => f.write_str("it is not a certificate"),
            Self::NotACertificate(Some(error)) => write!(f, "it is not a certificate: {error}"),
            Self::NoCertificate => f.write_str("it has no certificate"),
            Self::Pem(error) => error.fmt(f),
        }
    }
}

impl Error for SignerError {}

/// Why a machine trusts a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It does not: the certificate is self-signed and made for tests.
    Test,
    /// Because of its issuer, which the machine must already trust.
    Issued,
    /// Because the chain of the signature ends at a root of Microsoft's, with a usage for kernel drivers. Only
    /// [`verify`](crate::verify) finds that out: names do not prove it.
    Microsoft,
}

impl Trust {
    /// Returns the machine's certificate stores to which the certificate must be added.
    #[must_use]
    pub fn stores(self) -> &'static [&'static str] {
        match self {
            Self::Test => &["Root", "TrustedPublisher"],
            Self::Issued => &["TrustedPublisher"],
            Self::Microsoft => &[],
        }
    }

    /// Returns whether the kernel loads the driver only in test mode.
    #[must_use]
    pub fn needs_test_mode(self) -> bool {
        self != Self::Microsoft
    }
}

impl Signer {
    /// Returns the signer of the first signature in an envelope, such as a catalog.
    ///
    /// # Errors
    ///
    /// Returns what is missing: the envelope, a signature in it, or the signer's certificate.
    pub fn from_envelope(bytes: &[u8]) -> Result<Self, SignerError> {
        let broken = |error: der::Error| SignerError::NotSigned(Some(error));
        let content = ContentInfo::from_der(bytes).map_err(broken)?;
        if content.content_type != oid::SIGNED_DATA {
            return Err(SignerError::NotSigned(None));
        }
        let data: SignedData = content.content.decode_as().map_err(broken)?;
        let signer = data.signer_infos.0.iter().next().ok_or(SignerError::NoSignature)?;
        let SignerIdentifier::IssuerAndSerialNumber(id) = &signer.sid else {
            return Err(SignerError::NoSerialNumber);
        };
        let all = data.certificates.iter().flat_map(|set| set.0.iter());
        let mut certificates = all.filter_map(|choice| match choice {
            CertificateChoices::Certificate(certificate) => Some(certificate),
            CertificateChoices::Other(_) => None,
        });
        let is_signers = |each: &&Certificate| {
            let fields = &each.tbs_certificate;
            fields.issuer == id.issuer && fields.serial_number == id.serial_number
        };
        let found = certificates.find(is_signers).ok_or(SignerError::NoSignerCertificate)?;
        Ok(Self { certificate: found.clone(), bytes: found.to_der().map_err(broken)? })
    }

    /// Reads a `.cer` file, in either of its encodings.
    ///
    /// # Errors
    ///
    /// Returns why it is not a certificate.
    pub fn of_file(bytes: &[u8]) -> Result<Self, SignerError> {
        Self::all_of_file(bytes)?.into_iter().next().ok_or(SignerError::NoCertificate)
    }

    /// Reads all certificates of a file: one in DER, or several in PEM, with or without other text.
    ///
    /// # Errors
    ///
    /// Returns why one is not a certificate, or that there is none.
    pub fn all_of_file(bytes: &[u8]) -> Result<Vec<Self>, SignerError> {
        // DER begins with a sequence.
        let all = if bytes.starts_with(&[0x30]) {
            vec![bytes.to_vec()]
        } else {
            let text = std::str::from_utf8(bytes).map_err(|_| SignerError::NotACertificate(None))?;
            let blocks =
                pem::blocks(text).map_err(SignerError::Pem)?.into_iter().filter(|(label, _)| label == "CERTIFICATE");
            blocks.map(|(_, bytes)| bytes).collect()
        };
        if all.is_empty() {
            return Err(SignerError::NoCertificate);
        }
        let read = |bytes: Vec<u8>| match Certificate::from_der(&bytes) {
            Ok(certificate) => Ok(Self { certificate, bytes }),
            Err(error) => Err(SignerError::NotACertificate(Some(error))),
        };
        all.into_iter().map(read).collect()
    }

    /// Returns the content of a `.cer` file.
    #[must_use]
    pub fn to_cer(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the thumbprint as Windows shows it.
    #[must_use]
    pub fn thumbprint(&self) -> String {
        hex(&Sha1::digest(&self.bytes))
    }

    /// Returns the subject of the certificate.
    #[must_use]
    pub fn subject(&self) -> String {
        self.certificate.tbs_certificate.subject.to_string()
    }

    /// Returns how a machine comes to trust what this certificate signed, as far as the certificate alone shows it.
    #[must_use]
    pub fn trust(&self) -> Trust {
        if self.issuer().is_none() { Trust::Test } else { Trust::Issued }
    }

    /// Returns the issuer of the certificate, or `None` if it is self-signed.
    #[must_use]
    pub fn issuer(&self) -> Option<String> {
        let fields = &self.certificate.tbs_certificate;
        (fields.issuer != fields.subject).then(|| fields.issuer.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::str::FromStr;

    use x509_cert::name::Name;

    use super::{Signer, Trust};

    #[test]
    fn only_a_certificate_for_tests_becomes_a_root() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/signer.pem");
        let own = Signer::of_file(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(own.trust(), Trust::Test);
        assert_eq!(own.trust().stores(), &["Root", "TrustedPublisher"][..]);
        let named = |subject: &str, issuer: &str| {
            let mut signer = own.clone();
            signer.certificate.tbs_certificate.subject = Name::from_str(subject).unwrap();
            signer.certificate.tbs_certificate.issuer = Name::from_str(issuer).unwrap();
            signer
        };
        let publisher = "CN=Microsoft Windows Hardware Compatibility Publisher,O=Microsoft Corporation,C=US";
        let authority = "CN=Microsoft Windows Third Party Component CA 2014,O=Microsoft Corporation,C=US";
        // A name proves nothing, neither of the subject nor of the issuer.
        for (subject, issuer) in [("CN=a", "CN=b"), (publisher, "CN=b"), ("CN=a", authority), (publisher, authority)] {
            let issued = named(subject, issuer).trust();
            assert_eq!(issued, Trust::Issued);
            assert_eq!(issued.stores(), &["TrustedPublisher"][..]);
            assert!(issued.needs_test_mode());
        }
        assert_eq!(named(publisher, publisher).trust(), Trust::Test);
    }
}
