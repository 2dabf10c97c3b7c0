//! The object identifiers of Authenticode and of catalogs, with Microsoft's names.

use const_oid::ObjectIdentifier;

const fn oid(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(text)
}

pub(crate) const MD5: ObjectIdentifier = oid("1.2.840.113549.2.5");
pub(crate) const SHA1: ObjectIdentifier = oid("1.3.14.3.2.26");
pub(crate) const SHA256: ObjectIdentifier = oid("2.16.840.1.101.3.4.2.1");
pub(crate) const SHA384: ObjectIdentifier = oid("2.16.840.1.101.3.4.2.2");
pub(crate) const SHA512: ObjectIdentifier = oid("2.16.840.1.101.3.4.2.3");
pub(crate) const RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.1");
pub(crate) const SHA256_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.11");
pub(crate) const MD5_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.4");
pub(crate) const SHA1_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.5");
/// The name that the OIW gave it, in certificates of the 2000s.
pub(crate) const OIW_SHA1_WITH_RSA: ObjectIdentifier = oid("1.3.14.3.2.29");
pub(crate) const SHA384_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.12");
pub(crate) const SHA512_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.13");
/// A key of an elliptic curve; which one is a parameter.
pub(crate) const EC: ObjectIdentifier = oid("1.2.840.10045.2.1");
pub(crate) const P256: ObjectIdentifier = oid("1.2.840.10045.3.1.7");
pub(crate) const P384: ObjectIdentifier = oid("1.3.132.0.34");
pub(crate) const SHA256_WITH_ECDSA: ObjectIdentifier = oid("1.2.840.10045.4.3.2");
pub(crate) const SHA384_WITH_ECDSA: ObjectIdentifier = oid("1.2.840.10045.4.3.3");
pub(crate) const SHA512_WITH_ECDSA: ObjectIdentifier = oid("1.2.840.10045.4.3.4");
pub(crate) const DATA: ObjectIdentifier = oid("1.2.840.113549.1.7.1");
pub(crate) const SIGNED_DATA: ObjectIdentifier = oid("1.2.840.113549.1.7.2");
pub(crate) const CONTENT_TYPE: ObjectIdentifier = oid("1.2.840.113549.1.9.3");
pub(crate) const MESSAGE_DIGEST: ObjectIdentifier = oid("1.2.840.113549.1.9.4");
pub(crate) const SIGNING_TIME: ObjectIdentifier = oid("1.2.840.113549.1.9.5");
pub(crate) const COUNTER_SIGNATURE: ObjectIdentifier = oid("1.2.840.113549.1.9.6");
/// The content of a timestamp: `id-ct-TSTInfo`.
pub(crate) const TIMESTAMP: ObjectIdentifier = oid("1.2.840.113549.1.9.16.1.4");
pub(crate) const CODE_SIGNING: ObjectIdentifier = oid("1.3.6.1.5.5.7.3.3");
pub(crate) const TIME_STAMPING: ObjectIdentifier = oid("1.3.6.1.5.5.7.3.8");
pub(crate) const ANY_USAGE: ObjectIdentifier = oid("2.5.29.37.0");
/// `szOID_WHQL_CRYPTO`
pub(crate) const WHQL: ObjectIdentifier = oid("1.3.6.1.4.1.311.10.3.5");
/// `szOID_ATTEST_WHQL_CRYPTO`
pub(crate) const ATTESTED: ObjectIdentifier = oid("1.3.6.1.4.1.311.10.3.5.1");
/// `szOID_NT5_CRYPTO`
pub(crate) const SYSTEM_COMPONENT: ObjectIdentifier = oid("1.3.6.1.4.1.311.10.3.6");

/// `SPC_PE_IMAGE_PAGE_HASHES_V1_OBJID`
pub(crate) const PAGE_HASHES_V1: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.3.1");
/// `SPC_PE_IMAGE_PAGE_HASHES_V2_OBJID`
pub(crate) const PAGE_HASHES_V2: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.3.2");
/// `szOID_NESTED_SIGNATURE`
pub(crate) const NESTED_SIGNATURE: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.4.1");
/// `szOID_RFC3161_counterSign`
pub(crate) const RFC3161: ObjectIdentifier = oid("1.3.6.1.4.1.311.3.3.1");
/// `SPC_INDIRECT_DATA_OBJID`
pub(crate) const INDIRECT_DATA: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.1.4");
/// `SPC_STATEMENT_TYPE_OBJID`
pub(crate) const STATEMENT_TYPE: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.1.11");
/// `SPC_SP_OPUS_INFO_OBJID`
pub(crate) const OPUS_INFO: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.1.12");
/// `SPC_PE_IMAGE_DATA_OBJID`
pub(crate) const IMAGE_DATA: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.1.15");
/// `SPC_INDIVIDUAL_SP_KEY_PURPOSE_OBJID`
pub(crate) const INDIVIDUAL: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.1.21");
/// `SPC_CAB_DATA_OBJID`, which catalogs use for every file that is not an image.
pub(crate) const FLAT_DATA: ObjectIdentifier = oid("1.3.6.1.4.1.311.2.1.25");
/// `szOID_CTL`
pub(crate) const TRUST_LIST: ObjectIdentifier = oid("1.3.6.1.4.1.311.10.1");
/// `szOID_CATALOG_LIST`
pub(crate) const CATALOG_LIST: ObjectIdentifier = oid("1.3.6.1.4.1.311.12.1.1");
/// `szOID_CATALOG_LIST_MEMBER`
pub(crate) const MEMBER_V1: ObjectIdentifier = oid("1.3.6.1.4.1.311.12.1.2");
/// `szOID_CATALOG_LIST_MEMBER2`
pub(crate) const MEMBER_V2: ObjectIdentifier = oid("1.3.6.1.4.1.311.12.1.3");
/// `CAT_NAMEVALUE_OBJID`
pub(crate) const NAME_VALUE: ObjectIdentifier = oid("1.3.6.1.4.1.311.12.2.1");
/// `CAT_MEMBERINFO_OBJID`
pub(crate) const MEMBER_INFO_V1: ObjectIdentifier = oid("1.3.6.1.4.1.311.12.2.2");
/// `CAT_MEMBERINFO2_OBJID`
pub(crate) const MEMBER_INFO_V2: ObjectIdentifier = oid("1.3.6.1.4.1.311.12.2.3");

/// The beginnings of the identifiers of encryption with a password: PKCS #5 and PKCS #12.
pub(crate) const PASSWORD_ENCRYPTION: [&str; 2] = ["1.2.840.113549.1.5.", "1.2.840.113549.1.12."];
