//! PKCS #7 `SignedData` that other programs made: the content, the certificates, the signatures.
//!
//! The fields are read one by one with the bytes that they have in the file. What is not signed must have the one value
//! that it can have: a version, an algorithm, a tag, the order of the fields.

use std::collections::VecDeque;

use cms::content_info::CmsVersion;
use cms::signed_data::{SignerIdentifier, SignerInfo};
use const_oid::ObjectIdentifier;
use der::asn1::{Any, OctetString};
use der::{Decode as _, Encode as _, Tag, TagNumber};
use spki::AlgorithmIdentifierOwned;

use super::certificate::Cert;
use super::digest::Algorithm;
use super::tlv::{Field, context, unexpected};
use super::{Account, Context, Mark, Refusal, chain, key};
use crate::sign::oid;

/// The maximum number of signatures that are checked in a file. Vendors' catalogs have dozens.
const MOST: usize = 128;
/// The maximum number of certificates in an envelope. Each is checked with the keys of all that have its issuer's name.
const MAX_CERTIFICATES: usize = 64;

/// Signed content.
pub(super) struct Envelope {
    version: u8,
    algorithms: Vec<AlgorithmIdentifierOwned>,
    kind: ObjectIdentifier,
    content: Option<(Vec<u8>, Vec<u8>)>,
    certificates: Vec<Cert>,
    /// Why a certificate could not be read.
    unreadable: Option<String>,
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
        // The decoder skips fields that it does not expect.
        let fields = Field::parse(bytes)?.fields(Tag::Sequence)?;
        let [_, _, _, rest @ ..] = fields.as_slice() else { return Err(unexpected(Tag::Sequence)) };
        let (attributes, rest) = optional(rest, TagNumber::N0);
        let [_, _, rest @ ..] = rest else { return Err(unexpected(Tag::Sequence)) };
        if let (_, [field, ..]) = optional(rest, TagNumber::N1) {
            return Err(unexpected(field.tag));
        }
        // The signed bytes begin with the tag of a set instead of the implicit tag.
        let attributes = attributes.map(|field| Any::new(Tag::Set, field.value).and_then(|set| set.to_der()));
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

    /// Returns an unsigned attribute that is not known.
    pub(super) fn unknown_attribute(&self) -> Option<ObjectIdentifier> {
        let known = [oid::NESTED_SIGNATURE, oid::RFC3161, oid::COUNTER_SIGNATURE];
        let all = self.info.unsigned_attrs.iter().flat_map(|set| set.iter());
        all.map(|each| each.oid).find(|kind| !known.contains(kind))
    }

    /// Whether the signed attributes are not in the order of DER.
    pub(super) fn is_unordered(&self) -> bool {
        self.ordered.is_some()
    }

    /// Returns the digest algorithm, if it is known.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        Algorithm::from_oid(self.info.digest_alg.oid)
    }
}

impl Envelope {
    /// Reads a signature. Bytes after it are an error.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        Self::read(bytes).map_err(|error| Refusal::from(error).about("it is not a PKCS #7 signature"))
    }

    fn read(bytes: &[u8]) -> der::Result<Self> {
        let outer = Field::parse(bytes)?.fields(Tag::Sequence)?;
        let [kind, content] = outer.as_slice() else { return Err(unexpected(Tag::Sequence)) };
        let kind: ObjectIdentifier = kind.decode()?;
        if kind != oid::SIGNED_DATA {
            return Err(der::ErrorKind::OidUnknown { oid: kind }.into());
        }
        let fields = content.explicit(TagNumber::N0)?.fields(Tag::Sequence)?;
        let [version, algorithms, content, rest @ ..] = fields.as_slice() else {
            return Err(unexpected(Tag::Sequence));
        };
        let algorithms = algorithms.fields(Tag::Set)?;
        let content = content.fields(Tag::Sequence)?;
        let (kind, content) = match content.as_slice() {
            [kind] => (kind, None),
            [kind, content] => (kind, Some(content.explicit(TagNumber::N0)?)),
            _ => return Err(unexpected(Tag::Sequence)),
        };
        let kind: ObjectIdentifier = kind.decode()?;
        if let Some(content) = content {
            // The digest does not cover the tag.
            content.expect(if kind == oid::TIMESTAMP { Tag::OctetString } else { Tag::Sequence })?;
        }
        // The certificates, then revocation lists, then the signatures.
        let (certificates, rest) = optional(rest, TagNumber::N0);
        let (_, rest) = optional(rest, TagNumber::N1);
        let [signers] = rest else { return Err(unexpected(Tag::Set)) };
        let mut envelope = Self {
            version: version.decode()?,
            algorithms: algorithms.iter().map(Field::decode).collect::<der::Result<_>>()?,
            kind,
            content: content.map(|content| (content.raw.to_vec(), content.value.to_vec())),
            certificates: Vec::new(),
            unreadable: None,
            signers: signers
                .fields(Tag::Set)?
                .iter()
                .map(|each| Signer::from_der(each.raw))
                .collect::<der::Result<_>>()?,
        };
        for each in certificates.map_or(Ok(Vec::new()), |field| field.fields(context(TagNumber::N0)))? {
            match Cert::from_der(each.raw) {
                // Attribute certificates, which Microsoft's timestamps have.
                _ if each.tag == context(TagNumber::N1) || each.tag == context(TagNumber::N2) => {}
                Ok(_) if envelope.certificates.len() == MAX_CERTIFICATES => {
                    envelope.unreadable = Some(format!("there are more than {MAX_CERTIFICATES}"));
                }
                Ok(certificate) => envelope.certificates.push(certificate),
                Err(error) => envelope.unreadable = Some(error.to_string()),
            }
        }
        Ok(envelope)
    }

    /// Returns the type of the signed content.
    pub(super) fn kind(&self) -> ObjectIdentifier {
        self.kind
    }

    /// Returns the signed content as DER.
    pub(super) fn content_der(&self) -> &[u8] {
        self.content.as_ref().map(|(raw, _)| raw.as_slice()).unwrap_or_default()
    }

    /// Returns the bytes that are digested: the content without its tag and length.
    pub(super) fn content_value(&self) -> &[u8] {
        self.content.as_ref().map(|(_, value)| value.as_slice()).unwrap_or_default()
    }

    /// Returns the signatures.
    pub(super) fn signers(&self) -> &[Signer] {
        &self.signers
    }

    pub(super) fn certificates(&self) -> &[Cert] {
        &self.certificates
    }

    /// Checks what no signature covers: the version, the algorithms, and that all certificates belong to each other.
    pub(super) fn check_frame(&self) -> Result<(), Refusal> {
        let expected = if self.kind == oid::TIMESTAMP { 3 } else { 1 };
        if self.version != expected {
            return Err(Refusal::Unknown(format!("the version {} of its envelope is not known", self.version)));
        }
        if let Some(reason) = &self.unreadable {
            return Err(Refusal::Unknown(format!("a certificate in it cannot be read: {reason}")));
        }
        for each in &self.algorithms {
            if Algorithm::from_oid(each.oid).is_none() || !key::has_no_parameters(each) {
                return Err(Refusal::Unknown(format!("its digest algorithm {} is not known", each.oid)));
            }
        }
        for each in &self.certificates {
            let mut issuers = self.certificates.iter().filter(|issuer| issuer.is_issuer_of(each)).peekable();
            let has_issuer = issuers.peek().is_some();
            // An unknown algorithm matters only in a chain, which is checked later.
            let may_sign =
                |issuer: &Cert| !matches!(each.is_signed_with(issuer.key()), Ok(false) | Err(Refusal::Failed(_)));
            if has_issuer && !issuers.any(may_sign) {
                let subject = each.subject();
                let text = format!("the certificate of {subject} was not made by its issuer, or it was changed later");
                return Err(Refusal::Failed(text));
            }
        }
        Ok(())
    }

    /// Checks one signature over `content`, whose type is `kind`. Returns the certificate of its signer.
    pub(super) fn check(&self, signer: &Signer, kind: ObjectIdentifier, content: &[u8]) -> Result<&Cert, Refusal> {
        let info = &signer.info;
        let SignerIdentifier::IssuerAndSerialNumber(id) = &info.sid else {
            return Err(Refusal::Unknown("its signer is not named by issuer and serial number".into()));
        };
        let certificate = self.certificates.iter().find(|each| each.is_named(id));
        let certificate = certificate.ok_or_else(|| match &self.unreadable {
            Some(reason) => Refusal::Unknown(format!("its certificate cannot be read: {reason}")),
            None => Refusal::Failed("its certificate is not in the file".into()),
        })?;
        let unknown = |what: &str, oid| Refusal::Unknown(format!("its {what} {oid} is not known"));
        let algorithm = signer.algorithm().filter(|_| key::has_no_parameters(&info.digest_alg));
        let algorithm = algorithm.ok_or_else(|| unknown("digest algorithm", info.digest_alg.oid))?;
        if info.version != CmsVersion::V1 {
            return Err(Refusal::Unknown(format!("its version {:?} is not known", info.version)));
        }
        if !key::fits(&info.signature_algorithm, algorithm) {
            return Err(unknown("signature algorithm", info.signature_algorithm.oid));
        }
        let message = match &signer.attributes {
            None => content,
            Some(attributes) => {
                let digest = signer.signed(oid::MESSAGE_DIGEST).and_then(|value| value.decode_as::<OctetString>().ok());
                if digest.is_none_or(|digest| digest.as_bytes() != algorithm.digest(&[content])) {
                    return Err(Refusal::Failed("its content was changed after it was signed".into()));
                }
                let own = signer.signed(oid::CONTENT_TYPE).map(Any::decode_as::<ObjectIdentifier>);
                if own.is_some_and(|own| own != Ok(kind)) {
                    return Err(Refusal::Failed("its content has another type than the signed one".into()));
                }
                attributes
            }
        };
        let verify = |message: &[u8]| key::verify(certificate.key(), algorithm, message, signer.signature());
        let is_good = verify(message)? || signer.ordered.as_deref().map_or(Ok(false), verify)?;
        if is_good {
            return Ok(certificate);
        }
        let subject = certificate.subject();
        Err(Refusal::Failed(format!("it was not made with the key of {subject}, or it was changed later")))
    }

    /// Returns the certificates that nothing in the file and no trusted root confirms.
    pub(super) fn unconfirmed(&self, context: &Context, trusted: &[Cert]) -> Vec<String> {
        let is_confirmed = |each: &Cert| {
            let is_issuer =
                |issuer: &Cert| issuer.is_issuer_of(each) && each.is_signed_with(issuer.key()).is_ok_and(|is| is);
            self.certificates.iter().any(is_issuer)
                || chain::trusted_end(each, 0, context, trusted, oid::TIME_STAMPING).is_some()
        };
        let all = self.certificates.iter().filter(|each| !is_confirmed(each));
        all.map(|each| format!("nothing confirms the certificate of {}", each.subject())).collect()
    }

    /// Whether the envelope lists the digest algorithm of a signature.
    pub(super) fn lists(&self, algorithm: Algorithm) -> bool {
        self.algorithms.iter().any(|each| Algorithm::from_oid(each.oid) == Some(algorithm))
    }
}

/// Splits off an optional field.
fn optional<'f, 'a>(fields: &'f [Field<'a>], number: TagNumber) -> (Option<Field<'a>>, &'f [Field<'a>]) {
    match fields {
        [first, rest @ ..] if first.tag == context(number) => (Some(*first), rest),
        _ => (None, fields),
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
            return account.add("signature", Mark::Unknown, text);
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
            Err(refusal) => account.refuse("signature", &refusal),
        }
    }
}
