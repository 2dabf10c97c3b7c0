//! `CatalogNameValue`: a name, flags and a text that describe the catalog or a member.

use der::asn1::{Any, BmpString, OctetString};
use der::{Decode, Encode, Sequence};
use x509_cert::attr::Attribute;
use x509_cert::ext::Extension;

use crate::sign::oid;

/// `CRYPTCAT_ATTR_AUTHENTICATED | CRYPTCAT_ATTR_NAMEASCII | CRYPTCAT_ATTR_DATAASCII`
const FLAGS: u32 = 0x1001_0001;

#[derive(Sequence)]
struct NameValue {
    name: BmpString,
    flags: u32,
    value: OctetString,
}

impl NameValue {
    fn new(name: &str, value: &str) -> der::Result<Self> {
        let value = OctetString::new(utf16_with_end(value))?;
        Ok(Self { name: BmpString::from_utf8(name)?, flags: FLAGS, value })
    }
}

/// Creates one for the catalog.
pub(super) fn extension(name: &str, value: &str) -> der::Result<Extension> {
    let value = NameValue::new(name, value)?.to_der()?;
    Ok(Extension { extn_id: oid::NAME_VALUE, critical: false, extn_value: OctetString::new(value)? })
}

/// Creates one for a member.
pub(super) fn attribute(name: &str, value: &str) -> der::Result<Attribute> {
    let value = NameValue::new(name, value)?.to_der()?;
    let values = der::asn1::SetOfVec::try_from(vec![Any::from_der(&value)?])?;
    Ok(Attribute { oid: oid::NAME_VALUE, values })
}

/// Encodes text as UTF-16LE with a NUL at the end.
pub(super) fn utf16_with_end(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}
