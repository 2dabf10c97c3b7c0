//! A certificate with its exact bytes, and what it allows.

use std::time::Duration;

use const_oid::ObjectIdentifier;
use der::{Decode as _, Encode as _, Tag};
use x509_cert::certificate::{Certificate, TbsCertificate};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};

use super::digest::Algorithm;
use super::tlv::Field;
use super::{Refusal, key};
use crate::sign::oid;

/// Extensions that are understood, or that restrict nothing here. A critical one that is not in the list could forbid the use.
const UNDERSTOOD: [&str; 8] = [
    "2.5.29.14", // Subject key identifier
    "2.5.29.15", // Key usage
    "2.5.29.17", // Subject alternative name
    "2.5.29.19", // Basic constraints
    "2.5.29.31", // CRL distribution points; revocation is not checked
    "2.5.29.32", // Certificate policies
    "2.5.29.35", // Authority key identifier
    "2.5.29.37", // Extended key usage
];

/// A certificate of a file.
pub(super) struct Cert {
    fields: TbsCertificate,
    signature: Result<(Algorithm, Vec<u8>), Refusal>,
    key: Vec<u8>,
    signed: Vec<u8>,
    raw: Vec<u8>,
}

impl Cert {
    pub(super) fn from_der(raw: &[u8]) -> der::Result<Self> {
        let parts = Field::parse(raw)?.fields(Tag::Sequence)?;
        let signed = parts.first().map(|part| part.raw.to_vec()).unwrap_or_default();
        let Certificate { tbs_certificate: fields, signature_algorithm, signature } = Certificate::from_der(raw)?;
        let kind = signature_algorithm.oid;
        let signature = if signature_algorithm != fields.signature {
            Err(Refusal::Failed("it names two signature algorithms".into()))
        } else if let Some(bytes) = signature.as_bytes() {
            let unknown = || Refusal::Unknown(format!("its signature algorithm {kind} is not known"));
            Algorithm::from_oid(kind).ok_or_else(unknown).map(|algorithm| (algorithm, bytes.to_vec()))
        } else {
            Err(Refusal::Failed("its signature does not have whole bytes".into()))
        };
        let key = fields.subject_public_key_info.to_der()?;
        Ok(Self { fields, signature, key, signed, raw: raw.to_vec() })
    }

    pub(super) fn fields(&self) -> &TbsCertificate {
        &self.fields
    }

    pub(super) fn subject(&self) -> String {
        self.fields.subject.to_string()
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.raw == other.raw
    }

    /// Whether the names say that this is the issuer of another certificate.
    pub(super) fn is_issuer_of(&self, other: &Self) -> bool {
        self.fields.subject == other.fields.issuer
    }

    pub(super) fn is_self_issued(&self) -> bool {
        self.is_issuer_of(self)
    }

    /// The digest algorithm with which its issuer signed it, if it is known.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        self.signature.as_ref().ok().map(|(algorithm, _)| *algorithm)
    }

    /// Checks that the key signed this certificate.
    pub(super) fn is_signed_with(&self, key: &[u8]) -> Result<bool, Refusal> {
        let (algorithm, signature) = self.signature.as_ref().map_err(Clone::clone)?;
        key::verify(key, *algorithm, &self.signed, signature)
    }

    /// Checks that the issuer signed this certificate, and that it may do so. `below` is the number of authorities between them.
    pub(super) fn is_issued_by(&self, issuer: &Self, below: usize) -> Result<(), Refusal> {
        if !self.is_signed_with(&issuer.key)? {
            let text = format!("it was not made with the key of {}, or it was changed later", issuer.subject());
            return Err(Refusal::Failed(text));
        }
        let damaged = |error: der::Error| Refusal::Failed(format!("its issuer's constraints cannot be read: {error}"));
        let constraints = issuer.fields.get::<BasicConstraints>().map_err(damaged)?.map(|(_, constraints)| constraints);
        let may_issue = match &constraints {
            Some(constraints) => constraints.ca,
            // Certificates of version 1 have no extensions. Old roots are such certificates.
            None => issuer.fields.extensions.is_none() && issuer.is_self_issued(),
        };
        let signs = issuer.fields.get::<KeyUsage>().map_err(damaged)?.is_none_or(|(_, usage)| usage.key_cert_sign());
        if !may_issue || !signs {
            return Err(Refusal::Failed(format!("{} may not issue certificates", issuer.subject())));
        }
        let most = constraints.and_then(|constraints| constraints.path_len_constraint);
        if most.is_some_and(|most| below > usize::from(most)) {
            return Err(Refusal::Failed(format!("{} may not issue certificates of authorities", issuer.subject())));
        }
        Ok(())
    }

    /// Returns the extended key usages. Without the extension a certificate may be used for everything.
    pub(super) fn usages(&self) -> Result<Option<Vec<ObjectIdentifier>>, Refusal> {
        let usages = self.fields.get::<ExtendedKeyUsage>();
        let damaged =
            |error: der::Error| Refusal::Failed(format!("the usages of {} cannot be read: {error}", self.subject()));
        usages.map(|found| found.map(|(_, usages)| usages.0)).map_err(damaged)
    }

    /// Checks that a signer's certificate has this usage, and may sign.
    pub(super) fn is_for(&self, usage: ObjectIdentifier, name: &str) -> Result<(), Refusal> {
        let may_sign = self
            .fields
            .get::<KeyUsage>()
            .is_ok_and(|found| found.is_none_or(|(_, usage)| usage.digital_signature() || usage.non_repudiation()));
        if self.usages()?.is_some_and(|usages| !usages.contains(&usage)) || !may_sign {
            return Err(Refusal::Failed(format!("the certificate is not for {name}")));
        }
        Ok(())
    }

    /// Returns a critical extension that is not understood.
    pub(super) fn not_understood(&self) -> Option<ObjectIdentifier> {
        let is_understood = |kind: ObjectIdentifier| UNDERSTOOD.contains(&kind.to_string().as_str());
        let all = self.fields.extensions.iter().flatten();
        all.filter(|each| each.critical && !is_understood(each.extn_id)).map(|each| each.extn_id).next()
    }

    /// Returns the first and the last moment of the validity period.
    pub(super) fn period(&self) -> (Duration, Duration) {
        let validity = &self.fields.validity;
        (validity.not_before.to_unix_duration(), validity.not_after.to_unix_duration())
    }

    pub(super) fn is_valid_at(&self, time: Duration) -> bool {
        let (from, to) = self.period();
        from <= time && time <= to
    }

    /// Returns the size of an RSA key that is shorter than code signing requires today.
    pub(super) fn short_key(&self) -> Option<usize> {
        key::rsa_bits(&self.key).filter(|bits| *bits < 2048)
    }

    /// Whether the certificate has this issuer and serial number.
    pub(super) fn is_named(&self, id: &cms::cert::IssuerAndSerialNumber) -> bool {
        self.fields.issuer == id.issuer && self.fields.serial_number == id.serial_number
    }
}

/// Microsoft's usages for code that the kernel loads: the names are those of the WDK's header wincrypt.h, and of Learn, *How to
/// validate the Microsoft signature*.
pub(super) const KERNEL: [(ObjectIdentifier, &str); 3] = [
    (oid::WHQL, "Windows Hardware Driver Verification"),
    (oid::ATTESTED, "Windows Hardware Driver Attested Verification"),
    (oid::SYSTEM_COMPONENT, "Windows System Component Verification"),
];
