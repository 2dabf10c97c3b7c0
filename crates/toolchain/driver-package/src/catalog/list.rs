//! The certificate trust list that a catalog signs.

use std::time::Duration;

use der::asn1::{GeneralizedTime, ObjectIdentifier, OctetString, UtcTime};
use der::{Encode, Sequence};
use sha2::{Digest, Sha256};
use spki::AlgorithmIdentifierOwned;
use x509_cert::ext::Extension;
use x509_cert::time::Time;

use super::member::Subscriber;
use super::{Catalog, Version, name_value};
use crate::sign::oid;
use crate::sign::spc::with_null;

/// `CertificateTrustList`, without the parts that catalogs omit.
#[derive(Sequence)]
struct TrustList {
    usage: Vec<ObjectIdentifier>,
    identifier: OctetString,
    this_update: Time,
    algorithm: AlgorithmIdentifierOwned,
    subjects: Vec<Subscriber>,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    extensions: Vec<Extension>,
}

/// Length of the list's identifier. inf2cat uses a random GUID.
const IDENTIFIER: usize = 16;

pub(super) fn encode(catalog: &Catalog) -> der::Result<Vec<u8>> {
    let mut subjects = Vec::new();
    for member in &catalog.members {
        subjects.extend(member.entries(catalog.version)?);
    }
    subjects.sort_by(|a, b| a.tag.as_bytes().cmp(b.tag.as_bytes()));
    if subjects.windows(2).any(|pair| matches!(pair, [a, b] if a.tag == b.tag)) {
        return Err(der::ErrorKind::SetDuplicate.into());
    }
    let mut extensions = vec![name_value::extension("OS", &catalog.systems)?];
    for (index, id) in catalog.hardware_ids.iter().enumerate().rev() {
        extensions.push(name_value::extension(&format!("HWID{}", index + 1), id)?);
    }
    let algorithm = match catalog.version {
        Version::V1 => oid::MEMBER_V1,
        Version::V2 => oid::MEMBER_V2,
    };
    let list = TrustList {
        usage: vec![oid::CATALOG_LIST],
        identifier: OctetString::new(identifier(&subjects, &extensions)?)?,
        this_update: time(catalog.time)?,
        algorithm: with_null(algorithm),
        subjects,
        extensions,
    };
    list.to_der()
}

/// Computes an identifier that is the same for the same files and different for others.
fn identifier(subjects: &[Subscriber], extensions: &[Extension]) -> der::Result<Vec<u8>> {
    let mut digest = Sha256::new();
    for subject in subjects {
        digest.update(subject.to_der()?);
    }
    for extension in extensions {
        digest.update(extension.to_der()?);
    }
    Ok(digest.finalize().into_iter().take(IDENTIFIER).collect())
}

/// Converts to whole seconds, in the short form until 2050.
fn time(since_1970: Duration) -> der::Result<Time> {
    let seconds = Duration::from_secs(since_1970.as_secs());
    UtcTime::from_unix_duration(seconds)
        .map(Time::UtcTime)
        .or_else(|_| GeneralizedTime::from_unix_duration(seconds).map(Time::GeneralTime))
}
