//! Tests `verify` with our files and with others, and compares it with other verifiers.

mod authority;
mod changes;
mod trust;
mod weaknesses;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::chains;
use crate::common::inputs::{TIME, data, image, signer, usual};
use crate::common::tools;
use crate::common::verifiers::Verdict;
use authority::Authority;
use cms::cert::CertificateChoices;
use cms::content_info::ContentInfo;
use cms::signed_data::SignedData;
use const_oid::ObjectIdentifier;
use der::asn1::{Any, SetOfVec};
use der::{Decode as _, Encode as _};
use driver_package::inf::Arch;
use driver_package::sign::Signer;
use driver_package::verify::{self, Account, Context, Mark};
use x509_cert::attr::Attribute;
use x509_cert::certificate::Certificate;
use x509_cert::serial_number::SerialNumber;

/// Returns a context in which the test certificate is valid and trusted.
fn trusting() -> Context {
    let own = Signer::of_file(&fs::read(data("signer.pem")).unwrap()).unwrap();
    Context { trusted: vec![own.to_cer().to_vec()], ..Context::new(TIME) }
}

/// Writes one of our packages to disk.
fn package(name: &str) -> PathBuf {
    let folder = tools::folder(&format!("{name}-out"));
    let inputs = tools::folder(&format!("{name}-in"));
    usual(&inputs, Arch::X64).make(&signer()).unwrap().write(&folder).unwrap();
    folder
}

fn of(accounts: &[Account], name: &str) -> Account {
    accounts.iter().find(|account| account.path.ends_with(name)).unwrap().clone()
}

fn failures(account: &Account) -> Vec<&'static str> {
    account.checks.iter().filter(|check| check.mark == Mark::Failed).map(|check| check.what).collect()
}

#[test]
fn a_package_of_ours_is_valid_and_every_file_is_looked_at() {
    let folder = package("verify-own");
    let accounts = verify::dir(&folder, &trusting()).unwrap();
    for name in ["driver.sys", "driver.inf", "driver.cat"] {
        let account = of(&accounts, name);
        assert!(account.is_valid(), "{account}");
    }
    assert!(of(&accounts, "driver.sys").checks.iter().any(|check| check.what == "member"));
    // Folders in the package do not matter.
    fs::create_dir(folder.join("notes")).unwrap();
    assert_eq!(verify::dir(&folder, &trusting()).unwrap(), accounts);
    let mut bytes = fs::read(folder.join("driver.sys")).unwrap();
    assert_eq!(verify::changed(&bytes), None);
    bytes[0x480] ^= 1;
    assert!(verify::changed(&bytes).is_some());
}

#[test]
fn a_changed_file_is_found_with_the_reason() {
    for (name, place, what) in [("driver.sys", 0x480, &["digest", "member"][..]), ("driver.inf", 200, &["member"])] {
        let folder = package(&format!("verify-changed-{name}"));
        let mut bytes = fs::read(folder.join(name)).unwrap();
        bytes[place] ^= 1;
        fs::write(folder.join(name), bytes).unwrap();
        let account = of(&verify::dir(&folder, &trusting()).unwrap(), name);
        assert_eq!(failures(&account), what, "{account}");
    }
    // If the list is changed, the catalog's signature is invalid, and the catalog does not confirm any file.
    let folder = package("verify-changed-catalog");
    let mut bytes = fs::read(folder.join("driver.cat")).unwrap();
    let digest = fs::read(folder.join("driver.inf")).map(|inf| driver_package::sign::Digests::of_file(&inf)).unwrap();
    let place = bytes.windows(32).position(|window| window == digest.sha256).unwrap();
    bytes[place] ^= 1;
    fs::write(folder.join("driver.cat"), bytes).unwrap();
    let accounts = verify::dir(&folder, &trusting()).unwrap();
    assert!(failures(&of(&accounts, "driver.cat")).contains(&"signature"));
    assert!(failures(&of(&accounts, "driver.inf")).contains(&"catalog"));
}

#[test]
fn a_missing_file_and_a_foreign_root_are_failures() {
    let folder = package("verify-missing");
    fs::remove_file(folder.join("driver.sys")).unwrap();
    assert_eq!(failures(&of(&verify::dir(&folder, &trusting()).unwrap(), "driver.sys")), ["file"]);

    let folder = package("verify-foreign");
    let foreign = Context { trusted: vec![vec![0x30, 0]], ..trusting() };
    assert_eq!(failures(&of(&verify::dir(&folder, &foreign).unwrap(), "driver.sys")), ["chain", "catalog"]);
    let untrusting = Context { trusted: Vec::new(), ..trusting() };
    let accounts = verify::dir(&folder, &untrusting).unwrap();
    let account = of(&accounts, "driver.sys");
    assert!(account.is_valid(), "{account}");
    assert!(account.to_string().contains("self-signed"), "{account}");
    let catalog = of(&accounts, "driver.cat");
    assert!(catalog.to_string().contains("it lists 2 files"), "{catalog}");
}

#[test]
fn a_certificate_is_valid_from_its_first_second_to_its_last() {
    let folder = package("verify-times");
    let validity = signer().certificate().tbs_certificate.validity;
    let from = validity.not_before.to_unix_duration();
    let to = validity.not_after.to_unix_duration();
    let moment = Duration::from_secs(1);
    for (now, is_valid) in [(from.saturating_sub(moment), false), (from, true), (to, true), (to + moment, false)] {
        let account = of(&verify::dir(&folder, &Context { now, ..trusting() }).unwrap(), "driver.sys");
        assert_eq!(!failures(&account).contains(&"certificate"), is_valid, "{account}");
    }
}

#[test]
fn a_file_without_a_signature_or_a_catalog_is_not_valid() {
    let bytes = image(Arch::X64).build();
    let account = verify::file(Path::new("a.sys"), &bytes, None, &trusting());
    assert_eq!(failures(&account), ["signature"], "{account}");

    // Another file cannot have a signature of its own, so the catalog is what is missing.
    let account = verify::file(Path::new("a.inf"), b"[Version]", None, &trusting());
    assert_eq!(failures(&account), ["catalog"], "{account}");
}

#[test]
fn a_file_that_is_cut_is_never_valid() {
    let folder = package("verify-damaged");
    let context = Context { pinned: Vec::new(), ..trusting() };
    for name in ["driver.sys", "driver.cat"] {
        let good = fs::read(folder.join(name)).unwrap();
        let start = if name == "driver.cat" { 0 } else { good.len() - 1400 };
        for place in start..good.len() {
            let cut = verify::file(&folder.join(name), &good[..place], None, &context);
            assert!(!cut.is_valid(), "cut at {place:#x}: {cut}");
        }
    }
}

#[test]
fn osslsigncode_and_signify_agree_about_files_that_osslsigncode_signed() {
    let Some(authority) = Authority::new("verify-others") else { return };
    // Signed with a certificate whose root is not trusted.
    let foreign = authority.path("foreign.sys");
    fs::write(&foreign, fs::read(package("verify-stranger").join("driver.sys")).unwrap()).unwrap();
    let stamp = ["-TSA-certs", "tsa.pem", "-TSA-key", "tsa.key"];
    let tampered = |name: &str, place: usize| {
        let mut bytes = fs::read(authority.path(name)).unwrap();
        bytes[place] ^= 1;
        let path = authority.path(&format!("changed-{name}"));
        fs::write(&path, bytes).unwrap();
        path
    };
    for (file, expected) in [
        (authority.sign("plain-256.sys", "code", &["-h", "sha256"]), &[][..]),
        (authority.sign("plain-1.sys", "code", &["-h", "sha1"]), &[]),
        (authority.sign("plain-384.sys", "code", &["-h", "sha384"]), &[]),
        (authority.sign_file("plain-1.sys", "nested.sys", "code", &["-h", "sha256", "-nest"]), &[]),
        (authority.sign("pages.sys", "code", &["-h", "sha256", "-ph"]), &[]),
        (authority.sign("stamped.sys", "code", &stamp), &[]),
        (authority.sign("curve-256.sys", "p256", &["-h", "sha256"]), &[]),
        (authority.sign("curve-384.sys", "p384", &["-h", "sha384"]), &[]),
        (authority.sign("expired.sys", "old", &[]), &["certificate"]),
        (authority.sign("server.sys", "web", &[]), &["certificate"]),
        (tampered("plain-256.sys", 0x480), &["digest"]),
        (tampered("pages.sys", 0x480), &["digest", "page hashes"]),
        (tampered("curve-256.sys", 0x480), &["digest"]),
        // In the signature value of the elliptic curve.
        (tampered("curve-384.sys", last_byte_of(&authority.path("curve-384.sys"))), &["signature"]),
        (foreign.clone(), &["chain"]),
    ] {
        let (ours, theirs, signify) = authority.all(&file);
        assert_eq!(failures(&ours), expected, "{ours}");
        let accepted = if ours.is_valid() { Verdict::Accepted } else { Verdict::Refused };
        assert_eq!(accepted, theirs, "{ours}");
        assert!(signify.is_none_or(|signify| accepted == signify), "signify: {signify:?}, {ours}");
    }
    let (other, ..) = authority.all(&authority.sign("curve-521.sys", "p521", &["-h", "sha512"]));
    assert_eq!(other.verdict(), verify::Verdict::Unjudged, "{other}");
    assert!(other.to_string().contains("1.3.132.0.35 are not checked here"), "{other}");
    let (pages, ..) = authority.all(&authority.path("pages.sys"));
    assert!(pages.checks.iter().any(|check| check.what == "page hashes" && check.mark == Mark::Passed), "{pages}");
    let (nested, ..) = authority.all(&authority.path("nested.sys"));
    let signatures = nested.checks.iter().filter(|check| check.what == "signature" && check.mark == Mark::Passed);
    assert_eq!(signatures.count(), 2, "{nested}");
    let (stamped, ..) = authority.all(&authority.path("stamped.sys"));
    assert!(stamped.checks.iter().any(|check| check.what == "timestamp" && check.mark == Mark::Passed), "{stamped}");
    // The timestamp comes last in the signature, and its own signature value comes last in it.
    let (stamped, ..) = authority.all(&tampered("stamped.sys", last_byte_of(&authority.path("stamped.sys"))));
    assert_eq!(failures(&stamped), ["timestamp"], "{stamped}");
    assert!(stamped.to_string().contains("it was not made with the key of CN=tsa"), "{stamped}");
    // A root of the same name that did not issue the certificate.
    authority.make_root();
    let (other, theirs, signify) = authority.all(&authority.path("plain-256.sys"));
    assert_eq!(failures(&other), vec!["chain"], "{other}");
    assert_eq!(theirs, Verdict::Refused, "{other}");
    assert!(signify.is_none_or(|signify| signify == Verdict::Refused), "{signify:?}");
    assert!(
        other.to_string().contains("the certificate of CN=code: it was not made with the key of CN=Root"),
        "{other}"
    );
}

/// Returns the position of the last byte of a signature, before the padding of the file.
fn last_byte_of(path: &Path) -> usize {
    fs::read(path).unwrap().iter().rposition(|byte| *byte != 0).unwrap()
}

#[test]
fn attributes_in_another_order_than_that_of_der_are_checked_as_cms_says_and_noted() {
    let folder = package("verify-order");
    let path = folder.join("driver.sys");
    let mut bytes = fs::read(&path).unwrap();
    assert!(!verify::file(&path, &bytes, None, &trusting()).to_string().contains("order of DER"));
    // Swap two attributes of the set: the content type, and the one after it. Both begin with a tag and a length.
    let kind = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 3];
    let first = bytes.windows(kind.len()).rposition(|window| window == kind).unwrap() - 2;
    let length = |place: usize| 2 + usize::from(bytes[place + 1]);
    let one = length(first);
    let other = length(first + length(first));
    assert_eq!(bytes[first], 0x30);
    assert_eq!(bytes[first + one], 0x30);
    bytes[first..first + one + other].rotate_left(one);
    let account = verify::file(&path, &bytes, None, &trusting());
    assert!(account.is_valid(), "{account}");
    assert!(account.to_string().contains("not in the order of DER"), "{account}");
}

/// Changes the content of a signed file.
fn with_data(envelope: &[u8], change: impl FnOnce(&mut SignedData)) -> Vec<u8> {
    let mut outer = ContentInfo::from_der(envelope).unwrap();
    let mut data: SignedData = outer.content.decode_as().unwrap();
    change(&mut data);
    outer.content = Any::encode_from(&data).unwrap();
    outer.to_der().unwrap()
}

/// Adds a nested signature to each signature of `envelope`.
fn with_nested(envelope: &[u8], nested: &[u8]) -> Vec<u8> {
    with_all_nested(envelope, &[nested.to_vec()])
}

fn with_all_nested(envelope: &[u8], nested: &[Vec<u8>]) -> Vec<u8> {
    let values = nested.iter().map(|each| Any::from_der(each).unwrap()).collect();
    with_unsigned(envelope, "1.3.6.1.4.1.311.2.4.1", values)
}

/// Sets the unsigned attributes of each signature of `envelope`.
fn with_unsigned(envelope: &[u8], kind: &str, values: Vec<Any>) -> Vec<u8> {
    let values = SetOfVec::try_from(values).unwrap();
    let attribute = Attribute { oid: ObjectIdentifier::new_unwrap(kind), values };
    let attributes = SetOfVec::try_from(vec![attribute]).unwrap();
    with_data(envelope, |data| {
        let mut signers = data.signer_infos.0.clone().into_vec();
        for signer in &mut signers {
            signer.unsigned_attrs = Some(attributes.clone());
        }
        data.signer_infos.0 = SetOfVec::try_from(signers).unwrap();
    })
}

#[test]
fn the_signer_is_found_among_certificates_of_one_issuer() {
    let bytes = fs::read(package("verify-issuer").join("driver.cat")).unwrap();
    let own = Signer::from_envelope(&bytes).unwrap();
    // One of the numbers comes before the signer's, and one after it.
    for serial in [[1; 16], [0x7f; 16]] {
        let mut other = Certificate::from_der(own.to_cer()).unwrap();
        other.tbs_certificate.serial_number = SerialNumber::new(&serial).unwrap();
        let bytes = with_data(&bytes, |data| {
            let certificates = &mut data.certificates.as_mut().unwrap().0;
            certificates.insert(CertificateChoices::Certificate(other)).unwrap();
        });
        assert_eq!(Signer::from_envelope(&bytes).unwrap().to_cer(), own.to_cer());
    }
}

#[test]
fn signatures_at_every_depth_are_checked_and_too_many_cannot_be_judged() {
    let path = package("verify-nested").join("driver.cat");
    let one = fs::read(&path).unwrap();
    let of = |bytes: &[u8]| verify::file(&path, bytes, None, &trusting());
    let mut bytes = one.clone();
    for count in 1..=17 {
        let account = of(&bytes);
        let passed = account.checks.iter().filter(|check| check.what == "signature" && check.mark == Mark::Passed);
        assert_eq!(passed.count(), count, "{account}");
        assert!(account.is_valid(), "{account}");
        assert_eq!(account.to_string().contains(" of the file"), count > 1, "{account}");
        bytes = with_nested(&one, &bytes);
    }
    // Each contains all before it, so that the last one has 256 signatures.
    let mut all = vec![one.clone()];
    for _ in 1..9 {
        all.push(with_all_nested(&one, &all));
    }
    let account = of(all.last().unwrap());
    assert_eq!(account.verdict(), verify::Verdict::Unjudged, "{account}");
    assert_eq!(failures(&account).len(), 0, "{account}");
    assert!(account.to_string().contains("more than 128"), "{account}");

    let unreadable = with_nested(&one, &with_nested(&one, &[0x30, 0]));
    assert_eq!(failures(&of(&unreadable)), ["signature"]);
}

#[test]
fn the_command_says_what_is_wrong_and_ends_with_1_or_4() {
    let folder = package("verify-command");
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_driver-package"));
        let output = command.current_dir(&folder).arg("verify").args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, said, _) = run(&["."]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("driver.sys: valid"), "{said}");
    let (code, said, _) = run(&["driver.inf", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["files"][0]["valid"], true);
    let mut bytes = fs::read(folder.join("driver.sys")).unwrap();
    bytes[0x480] ^= 1;
    fs::write(folder.join("driver.sys"), bytes).unwrap();
    let mut inspect = std::process::Command::new(env!("CARGO_BIN_EXE_driver-package"));
    let output = inspect.current_dir(&folder).args(["inspect", "driver.sys"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("signature-digest"));
    let (code, said, _) = run(&["driver.sys"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("the file was changed after it was signed"), "{said}");
    let publisher = chains::publisher(&tools::folder("verify-command-chain"), &[chains::CODE_SIGNING], false, true);
    let unknown = tools::folder("verify-command-unknown");
    usual(&tools::folder("verify-command-unknown-in"), Arch::X64).make(&publisher).unwrap().write(&unknown).unwrap();
    fs::copy(unknown.join("driver.cat"), folder.join("unknown.cat")).unwrap();
    let (code, said, _) = run(&["unknown.cat"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("CANNOT BE JUDGED"), "{said}");
    assert!(said.contains("--trusted"), "{said}");
    // What is not valid outweighs what cannot be judged.
    assert_eq!(run(&["unknown.cat", "driver.sys"]).0, Some(1));
    let (code, _, said) = run(&["missing.sys"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("missing.sys"), "{said}");
}
