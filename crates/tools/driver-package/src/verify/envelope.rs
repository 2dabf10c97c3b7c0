//! PKCS #7 `SignedData` that other programs made: the content, the certificates, the signatures.
//!
//! The fields are read one by one, not decoded as a whole, for two reasons: a certificate that cannot be decoded must
//! not hide the others, and the signed attributes are needed with the bytes that they have in the file.

use std::collections::VecDeque;

use cms::signed_data::{SignerIdentifier, SignerInfo};
use const_oid::ObjectIdentifier;
use der::asn1::{Any, OctetString};
use der::{Decode as _, Encode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _};
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use rsa::RsaPublicKey;
use rsa::pkcs8::DecodePublicKey as _;
use x509_cert::Certificate;

use super::digest::Algorithm;
use super::timestamp::{self, Stamp};
use super::{Account, Context, Mark, chain};
use crate::sign::oid;

/// The maximum number of signatures in a file. Only hostile files have more.
const MOST: usize = 16;

/// Signed content.
pub(super) struct Envelope {
    kind: ObjectIdentifier,
    content: Option<Any>,
    content_der: Vec<u8>,
    certificates: Vec<Certificate>,
    signers: Vec<Signer>,
}

/// A signature, and the bytes of its signed attributes, if it has any: as they are in the file, and in the order of
/// DER if it differs. The signature is made over the DER order (RFC 5652, 5.4), but OpenSSL checks the bytes in the
/// file.
pub(super) struct Signer {
    info: SignerInfo,
    attributes: Option<Vec<u8>>,
    ordered: Option<Vec<u8>>,
}

impl Signer {
    pub(super) fn from_der(bytes: &[u8]) -> der::Result<Self> {
        let info = SignerInfo::from_der(bytes)?;
        let fields = items(Any::from_der(bytes)?.value())?;
        let attributes = fields.iter().find(|field| is_context(field, TagNumber::N0)).map(|field| {
            // The signed bytes begin with the tag of a set instead of the implicit tag.
            Any::new(Tag::Set, field.value()).and_then(|set| set.to_der())
        });
        let attributes = attributes.transpose()?;
        // Decoding a set sorts it.
        let ordered = info.signed_attrs.as_ref().map(der::Encode::to_der).transpose()?;
        let ordered = ordered.filter(|ordered| attributes.as_ref() != Some(ordered));
        Ok(Self { info, attributes, ordered })
    }

    /// Returns the bytes of the signature, which a timestamp confirms.
    pub(super) fn signature(&self) -> &[u8] {
        self.info.signature.as_bytes()
    }

    /// Returns the first value of a signed attribute.
    pub(super) fn signed(&self, kind: ObjectIdentifier) -> Option<&Any> {
        self.info.signed_attrs.iter().flat_map(|set| set.iter()).find(|each| each.oid == kind)?.values.iter().next()
    }

    /// Returns the values of an unsigned attribute.
    pub(super) fn unsigned(&self, kind: ObjectIdentifier) -> impl Iterator<Item = &Any> {
        let all = self.info.unsigned_attrs.iter().flat_map(|set| set.iter());
        all.filter(move |each| each.oid == kind).flat_map(|each| each.values.iter())
    }
}

impl Envelope {
    /// Reads the first value in `bytes`. The bytes after it are padding.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::read(bytes).map_err(|error| format!("it is not a PKCS #7 signature: {error}"))
    }

    fn read(bytes: &[u8]) -> der::Result<Self> {
        let unexpected = |tag: Tag| der::Error::from(der::ErrorKind::TagUnexpected { expected: None, actual: tag });
        let outer = items(Any::decode(&mut SliceReader::new(bytes)?)?.value())?;
        let [kind, content] = outer.as_slice() else { return Err(unexpected(Tag::Sequence)) };
        let kind: ObjectIdentifier = kind.decode_as()?;
        if kind != oid::SIGNED_DATA {
            return Err(der::ErrorKind::OidUnknown { oid: kind }.into());
        }
        // Version, digest algorithms, content, certificates, revocation lists, signatures.
        let fields = items(Any::from_der(content.value())?.value())?;
        let [_, _, inner, rest @ ..] = fields.as_slice() else { return Err(unexpected(Tag::Sequence)) };
        let inner = items(inner.value())?;
        let kind = inner.first().map_or(Err(unexpected(Tag::Sequence)), Any::decode_as)?;
        let content = inner.get(1).map(|content| Any::from_der(content.value())).transpose()?;
        let content_der = content.as_ref().map_or(Ok(Vec::new()), Any::to_der)?;
        let mut certificates = Vec::new();
        for each in rest.iter().filter(|field| is_context(field, TagNumber::N0)) {
            // Items that are not certificates are skipped.
            let all = items(each.value())?;
            certificates.extend(all.iter().filter_map(|each| Certificate::from_der(&each.to_der().ok()?).ok()));
        }
        let mut signers = Vec::new();
        for each in rest.iter().filter(|field| field.tag() == Tag::Set) {
            for signer in items(each.value())? {
                signers.push(Signer::from_der(&signer.to_der()?)?);
            }
        }
        Ok(Self { kind, content, content_der, certificates, signers })
    }

    /// Returns the type of the signed content.
    pub(super) fn kind(&self) -> ObjectIdentifier {
        self.kind
    }

    /// Returns the signed content as DER.
    pub(super) fn content_der(&self) -> &[u8] {
        &self.content_der
    }

    /// Returns the bytes that are digested: the content without its tag and length.
    pub(super) fn content_value(&self) -> &[u8] {
        self.content.as_ref().map(Any::value).unwrap_or_default()
    }

    /// Returns the signatures.
    pub(super) fn signers(&self) -> &[Signer] {
        &self.signers
    }

    /// Checks every signature, and the certificate chain of its signer.
    pub(super) fn verify(&self, account: &mut Account, context: &Context) {
        if self.signers.is_empty() {
            account.add("signature", Mark::Failed, "the envelope contains none");
        }
        for signer in &self.signers {
            let certificate = match self.check(signer, self.content_value()) {
                Ok(certificate) => certificate,
                Err(Refusal::Failed(text)) => {
                    account.add("signature", Mark::Failed, text);
                    continue;
                }
                Err(Refusal::Unknown(text)) => {
                    account.add("signature", Mark::Unknown, text);
                    continue;
                }
            };
            let subject = &certificate.tbs_certificate.subject;
            account.add("signature", Mark::Passed, format!("by {subject}"));
            if signer.ordered.is_some() {
                let text =
                    "its attributes are not in the order of DER, which CMS requires: other verifiers may refuse it";
                account.add("signature", Mark::Note, text);
            }
            if certificate.tbs_certificate.subject_public_key_info.algorithm.oid == oid::EC {
                let text = "it is ECDSA; whether Windows loads such a driver was not tested";
                account.add("signature", Mark::Note, text);
            }
            let time = match timestamp::of(self, signer) {
                Ok(Some(Stamp { time, by })) => {
                    account.add("timestamp", Mark::Passed, format!("{}, by {by}", timestamp::show(time)));
                    time
                }
                Ok(None) => {
                    account.add(
                        "timestamp",
                        Mark::Note,
                        "there is none: the signature is not valid after its certificate expires",
                    );
                    context.now
                }
                Err(reason) => {
                    account.add("timestamp", Mark::Failed, reason);
                    context.now
                }
            };
            chain::verify(account, certificate, &self.certificates, time, context);
        }
    }

    /// Checks one signature over `content`. Returns the certificate of its signer.
    pub(super) fn check(&self, signer: &Signer, content: &[u8]) -> Result<&Certificate, Refusal> {
        let info = &signer.info;
        let SignerIdentifier::IssuerAndSerialNumber(id) = &info.sid else {
            return Err(Refusal::Unknown("its signer is not named by issuer and serial number".into()));
        };
        let is_signers = |each: &&Certificate| {
            let fields = &each.tbs_certificate;
            fields.issuer == id.issuer && fields.serial_number == id.serial_number
        };
        let certificate = self.certificates.iter().find(is_signers);
        let certificate = certificate.ok_or_else(|| Refusal::Failed("its certificate is not in the file".into()))?;
        let algorithm = Algorithm::of(info.digest_alg.oid)
            .ok_or_else(|| Refusal::Unknown(format!("its digest algorithm {} is not known", info.digest_alg.oid)))?;
        let message = match &signer.attributes {
            None => content,
            Some(attributes) => {
                let digest = signer.signed(oid::MESSAGE_DIGEST).and_then(|value| value.decode_as::<OctetString>().ok());
                if digest.is_none_or(|digest| digest.as_bytes() != algorithm.digest(&[content])) {
                    return Err(Refusal::Failed("its content was changed after it was signed".into()));
                }
                attributes
            }
        };
        let verify = |message: &[u8]| verify_signature(certificate, algorithm, message, signer.signature());
        verify(message).or_else(|refusal| signer.ordered.as_deref().map_or(Err(refusal), verify))?;
        Ok(certificate)
    }
}

/// Passes the signature in `bytes`, and those that are nested in it, to `check`. A signature that cannot be read fails.
pub(super) fn each(account: &mut Account, bytes: &[u8], mut check: impl FnMut(&mut Account, &Envelope)) {
    let mut waiting = VecDeque::from([bytes.to_vec()]);
    let mut number = 0;
    while let Some(bytes) = waiting.pop_front() {
        number += 1;
        if number > MOST {
            let text = format!("there are more than {MOST}, and only the first {MOST} were checked");
            return account.add("signature", Mark::Failed, text);
        }
        if number > 1 {
            account.add("signature", Mark::Note, format!("signature {number} of the file"));
        }
        match Envelope::parse(&bytes) {
            Ok(envelope) => {
                check(account, &envelope);
                let nested = envelope.signers.iter().flat_map(|signer| signer.unsigned(oid::NESTED_SIGNATURE));
                waiting.extend(nested.map(|value| value.to_der().unwrap_or_default()));
            }
            Err(reason) => account.add("signature", Mark::Failed, reason),
        }
    }
}

/// Why a signature is not valid.
pub(super) enum Refusal {
    /// The signature is wrong.
    Failed(String),
    /// The signature uses an algorithm that is not supported.
    Unknown(String),
}

/// Checks that the key of a certificate made a signature over a message.
pub(super) fn verify_signature(
    certificate: &Certificate,
    algorithm: Algorithm,
    message: &[u8],
    signature: &[u8],
) -> Result<(), Refusal> {
    let key = &certificate.tbs_certificate.subject_public_key_info;
    let subject = &certificate.tbs_certificate.subject;
    let digest = algorithm.digest(&[message]);
    let curve = key.algorithm.parameters.as_ref().and_then(|parameters| parameters.decode_as().ok());
    let bytes = key.to_der().map_err(|error| Refusal::Failed(error.to_string()))?;
    let is_good = match (key.algorithm.oid, curve) {
        (oid::RSA, _) => RsaPublicKey::from_public_key_der(&bytes).ok().map(|key| {
            // Some timestamp servers sign the digest without the identifier of its algorithm. Windows accepts that.
            let paddings = [algorithm.padding(), rsa::Pkcs1v15Sign::new_unprefixed()];
            paddings.into_iter().any(|padding| key.verify(padding, &digest, signature).is_ok())
        }),
        (oid::EC, Some(oid::P256)) => p256::ecdsa::VerifyingKey::from_public_key_der(&bytes).ok().map(|key| {
            let signature = p256::ecdsa::Signature::from_der(signature);
            signature.is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
        }),
        (oid::EC, Some(oid::P384)) => p384::ecdsa::VerifyingKey::from_public_key_der(&bytes).ok().map(|key| {
            let signature = p384::ecdsa::Signature::from_der(signature);
            signature.is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
        }),
        (kind, curve) => {
            let kind = curve.filter(|_| kind == oid::EC).unwrap_or(kind);
            return Err(Refusal::Unknown(format!("keys of the algorithm {kind} are not checked here")));
        }
    };
    match is_good {
        Some(true) => Ok(()),
        Some(false) => {
            Err(Refusal::Failed(format!("it was not made with the key of {subject}, or it was changed later")))
        }
        None => Err(Refusal::Failed("the key of its certificate cannot be read".into())),
    }
}

/// Returns the values of a sequence or a set.
pub(super) fn items(value: &[u8]) -> der::Result<Vec<Any>> {
    let mut reader = SliceReader::new(value)?;
    let mut items = Vec::new();
    while !reader.is_finished() {
        items.push(Any::decode(&mut reader)?);
    }
    Ok(items)
}

fn is_context(field: &Any, wanted: TagNumber) -> bool {
    matches!(field.tag(), Tag::ContextSpecific { number, .. } if number == wanted)
}
