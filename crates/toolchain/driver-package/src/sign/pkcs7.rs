//! The envelope of signed content: PKCS #7 `SignedData` of version 1, as Windows writes and expects it.
//!
//! It has no signing time, because Windows trusts only the time of a timestamp server. RSA with PKCS #1 v1.5 padding
//! uses no random numbers, so the same content and key result in the same bytes.

use cms::cert::{CertificateChoices, IssuerAndSerialNumber};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    CertificateSet, EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use const_oid::ObjectIdentifier;
use der::asn1::{Any, OctetString, SetOfVec};
use der::{Decode, Encode, Sequence};
use sha2::{Digest, Sha256};
use x509_cert::attr::Attribute;

use super::identity::Identity;
use super::oid;
use super::spc::with_null;

/// `SpcStatementType`
#[derive(Sequence)]
struct Statement {
    purpose: ObjectIdentifier,
}

/// `SpcSpOpusInfo` without a program name and a link.
const EMPTY_OPUS: [u8; 2] = [0x30, 0x00];

/// Signs a DER value.
pub(crate) fn sign(identity: &Identity, kind: ObjectIdentifier, content: &[u8]) -> der::Result<Vec<u8>> {
    let content = Any::from_der(content)?;
    // The digest covers the content's value without tag and length.
    let digest = Sha256::digest(content.value());
    let attributes = SetOfVec::try_from(vec![
        attribute(oid::CONTENT_TYPE, Any::encode_from(&kind)?)?,
        attribute(oid::MESSAGE_DIGEST, Any::encode_from(&OctetString::new(digest.as_slice())?)?)?,
        attribute(oid::OPUS_INFO, Any::from_der(&EMPTY_OPUS)?)?,
        attribute(oid::STATEMENT_TYPE, Any::encode_from(&Statement { purpose: oid::INDIVIDUAL })?)?,
    ])?;
    let certificate = identity.certificate();
    let signer = SignerInfo {
        version: CmsVersion::V1,
        sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
            issuer: certificate.tbs_certificate.issuer.clone(),
            serial_number: certificate.tbs_certificate.serial_number.clone(),
        }),
        digest_alg: with_null(oid::SHA256),
        signature: OctetString::new(identity.sign(&attributes.to_der()?))?,
        signed_attrs: Some(attributes),
        signature_algorithm: with_null(oid::RSA),
        unsigned_attrs: None,
    };
    let certificates = identity.certificates().map(|each| CertificateChoices::Certificate(each.clone()));
    let envelope = SignedData {
        version: CmsVersion::V1,
        digest_algorithms: SetOfVec::try_from(vec![with_null(oid::SHA256)])?,
        encap_content_info: EncapsulatedContentInfo { econtent_type: kind, econtent: Some(content) },
        certificates: Some(CertificateSet(SetOfVec::try_from(certificates.collect::<Vec<_>>())?)),
        crls: None,
        signer_infos: SignerInfos(SetOfVec::try_from(vec![signer])?),
    };
    ContentInfo { content_type: oid::SIGNED_DATA, content: Any::encode_from(&envelope)? }.to_der()
}

/// Puts a DER value into an envelope without a signature, which programs such as signtool add later.
pub(crate) fn unsigned(kind: ObjectIdentifier, content: &[u8]) -> der::Result<Vec<u8>> {
    let envelope = SignedData {
        version: CmsVersion::V1,
        digest_algorithms: SetOfVec::new(),
        encap_content_info: EncapsulatedContentInfo { econtent_type: kind, econtent: Some(Any::from_der(content)?) },
        certificates: None,
        crls: None,
        signer_infos: SignerInfos(SetOfVec::new()),
    };
    ContentInfo { content_type: oid::SIGNED_DATA, content: Any::encode_from(&envelope)? }.to_der()
}

/// Creates an attribute with one value.
pub(crate) fn attribute(oid: ObjectIdentifier, value: Any) -> der::Result<Attribute> {
    Ok(Attribute { oid, values: SetOfVec::try_from(vec![value])? })
}
