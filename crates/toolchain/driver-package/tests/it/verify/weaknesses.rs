//! Old algorithms in files that are otherwise valid, and timestamps of servers that nobody knows.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cms::cert::{CertificateChoices, IssuerAndSerialNumber};
use cms::content_info::CmsVersion;
use cms::signed_data::{SignerIdentifier, SignerInfo};
use const_oid::ObjectIdentifier;
use der::asn1::{Any, OctetString, SetOfVec, UtcTime};
use der::{Decode as _, Encode as _};
use driver_package::verify::{self, Account, Context, Mark, Purpose, Verdict};
use md5::{Digest as _, Md5};
use rsa::pkcs1v15::SigningKey;
use rsa::signature::{SignatureEncoding as _, Signer as _};
use spki::AlgorithmIdentifierOwned;
use x509_cert::attr::Attribute;

use super::{package, trusting, with_data, with_unsigned};
use crate::chains::{TIME_STAMPING, Wanted, key, pin};
use crate::common::inputs::TIME;

fn algorithm(oid: &str) -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid: ObjectIdentifier::new_unwrap(oid), parameters: Some(Any::null()) }
}

fn attribute(oid: &str, value: Any) -> Attribute {
    Attribute { oid: ObjectIdentifier::new_unwrap(oid), values: SetOfVec::try_from(vec![value]).unwrap() }
}

/// Returns a catalog with a countersignature whose digest is MD5, as timestamp servers made them around 2000.
fn stamped(name: &str, digest: &str) -> Vec<u8> {
    let server = key("short.pem");
    let wanted = Wanted { subject: "CN=tsa", issuer: "CN=tsa root", is_authority: false, usages: &[TIME_STAMPING] };
    let certificate = wanted.make(&server, &server);
    let catalog = fs::read(package(name).join("driver.cat")).unwrap();
    let mut signature = Vec::new();
    let catalog = with_data(&catalog, |data| {
        signature = data.signer_infos.0.iter().next().unwrap().signature.as_bytes().to_vec();
        let certificates = &mut data.certificates.as_mut().unwrap().0;
        certificates.insert(CertificateChoices::Certificate(certificate.clone())).unwrap();
    });
    let time = UtcTime::from_unix_duration(TIME).unwrap();
    let data = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
    let attributes = vec![
        attribute("1.2.840.113549.1.9.3", Any::encode_from(&data).unwrap()),
        attribute(
            "1.2.840.113549.1.9.4",
            Any::encode_from(&OctetString::new(&Md5::digest(&signature)[..]).unwrap()).unwrap(),
        ),
        attribute("1.2.840.113549.1.9.5", Any::encode_from(&time).unwrap()),
    ];
    let attributes = SetOfVec::try_from(attributes).unwrap();
    let made = SigningKey::<Md5>::new(server).sign(&attributes.to_der().unwrap());
    let fields = &certificate.tbs_certificate;
    let counter = SignerInfo {
        version: CmsVersion::V1,
        sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
            issuer: fields.issuer.clone(),
            serial_number: fields.serial_number.clone(),
        }),
        digest_alg: algorithm(digest),
        signed_attrs: Some(attributes),
        signature_algorithm: algorithm("1.2.840.113549.1.1.1"),
        signature: OctetString::new(made.to_vec()).unwrap(),
        unsigned_attrs: None,
    };
    let counter = Any::from_der(&counter.to_der().unwrap()).unwrap();
    with_unsigned(&catalog, "1.2.840.113549.1.9.6", vec![counter])
}

fn verdict(bytes: &[u8], context: &Context) -> Account {
    verify::file(Path::new("driver.cat"), bytes, None, context)
}

fn has(account: &Account, mark: Mark, text: &str) -> bool {
    account.checks.iter().any(|check| check.mark == mark && check.text.contains(text))
}

#[test]
fn a_timestamp_with_md5_is_valid_and_weak_and_one_with_another_algorithm_cannot_be_judged() {
    let context = Context { pinned: pin(&key("short.pem"), Purpose::Timestamps), ..trusting() };
    let account = verdict(&stamped("weak-md5", "1.2.840.113549.2.5"), &context);
    assert_eq!(account.verdict(), Verdict::Valid, "{account}");
    assert!(has(&account, Mark::Weak, "its digest is MD5"), "{account}");
    assert!(has(&account, Mark::Weak, "1024 bits"), "{account}");
    // MD2.
    let account = verdict(&stamped("weak-md2", "1.2.840.113549.2.2"), &context);
    assert_eq!(account.verdict(), Verdict::Unjudged, "{account}");
    assert!(has(&account, Mark::Unknown, "1.2.840.113549.2.2 is not known"), "{account}");
}

#[test]
fn a_timestamp_of_an_unknown_server_does_not_prolong_a_certificate() {
    let bytes = stamped("weak-server", "1.2.840.113549.2.5");
    let account = verdict(&bytes, &trusting());
    assert_eq!(account.verdict(), Verdict::Valid, "the certificate is valid today: {account}");
    assert!(has(&account, Mark::Weak, "does not end at a trusted root"), "{account}");
    // After the certificate expired, only the timestamp could tell.
    let later = TIME + Duration::from_hours(24 * 366 * 100);
    let account = verdict(&bytes, &Context { now: later, ..trusting() });
    assert_eq!(account.verdict(), Verdict::Unjudged, "{account}");
    let pinned = pin(&key("short.pem"), Purpose::Timestamps);
    let account = verdict(&bytes, &Context { now: later, pinned, ..trusting() });
    assert_eq!(account.verdict(), Verdict::Valid, "{account}");
}
