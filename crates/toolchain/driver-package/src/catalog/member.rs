//! A file in a catalog: its tag, and its attributes.

use der::asn1::{Any, BmpString, OctetString, SetOfVec};
use der::{Decode, Encode, Sequence};
use x509_cert::attr::Attribute;

use super::Version;
use super::name_value::{self, utf16_with_end};
use crate::sign::spc::{IndirectData, Subject};
use crate::sign::{Digests, hex, image_digests, oid};

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    name: String,
    is_image: bool,
    digests: Digests,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct Subscriber {
    pub(super) tag: OctetString,
    attributes: SetOfVec<Attribute>,
}

/// The subject interface package of Windows that checks the digest. Only in version 1.
#[derive(Sequence)]
struct MemberInfo {
    package: BmpString,
    version: u32,
}

/// The packages for images and for all other files.
const PACKAGES: [&str; 2] = ["{C689AAB8-8E78-11D0-8C47-00C04FC295EE}", "{DE351A42-8E59-11D0-8C47-00C04FC295EE}"];
const PACKAGE_VERSION: u32 = 0x200;
/// Windows 10 and later.
const SYSTEM: &str = "2:10.0";

impl Member {
    /// Computes the digests: of an image without its signature, of any other file as it is.
    #[must_use]
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        let image = image_digests(bytes);
        let is_image = image.is_ok();
        let digests = image.unwrap_or_else(|_| Digests::of_file(bytes));
        Self { name: name.to_lowercase(), is_image, digests }
    }

    /// Returns the digests that the catalog contains.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Returns the member's entries: one in version 1, one for each digest in version 2.
    pub(super) fn entries(&self, version: Version) -> der::Result<Vec<Subscriber>> {
        let Digests { sha1, sha256 } = &self.digests;
        match version {
            Version::V1 => {
                Ok(vec![self.entry(&utf16_with_end(&hex(sha1)), version, Some((oid::SHA1, sha1.as_slice())))?])
            }
            Version::V2 => Ok(vec![
                self.entry(sha1, version, None)?,
                self.entry(sha256, version, Some((oid::SHA256, sha256.as_slice())))?,
            ]),
        }
    }

    fn entry(
        &self,
        tag: &[u8],
        version: Version,
        digest: Option<(der::asn1::ObjectIdentifier, &[u8])>,
    ) -> der::Result<Subscriber> {
        let mut attributes = vec![name_value::attribute("File", &self.name)?, name_value::attribute("OSAttr", SYSTEM)?];
        attributes.push(self.kind(version)?);
        if let Some((algorithm, digest)) = digest {
            let subject = if self.is_image { Subject::CataloguedImage } else { Subject::CataloguedFile };
            let data = IndirectData::new(subject, algorithm, digest)?;
            attributes.push(single(oid::INDIRECT_DATA, &data.to_der()?)?);
        }
        Ok(Subscriber { tag: OctetString::new(tag)?, attributes: SetOfVec::try_from(attributes)? })
    }

    fn kind(&self, version: Version) -> der::Result<Attribute> {
        match version {
            Version::V1 => {
                let [image, flat] = PACKAGES;
                let package = BmpString::from_utf8(if self.is_image { image } else { flat })?;
                single(oid::MEMBER_INFO_V1, &MemberInfo { package, version: PACKAGE_VERSION }.to_der()?)
            }
            Version::V2 => single(oid::MEMBER_INFO_V2, if self.is_image { &[0x80, 0] } else { &[0x82, 0] }),
        }
    }
}

fn single(oid: der::asn1::ObjectIdentifier, value: &[u8]) -> der::Result<Attribute> {
    Ok(Attribute { oid, values: SetOfVec::try_from(vec![Any::from_der(value)?])? })
}
