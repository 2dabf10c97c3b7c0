//! `cargo driver framework`: which files it keeps.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use driver_package::sign::{Identity, sign_image};

use crate::microsoft::original;
use crate::{folder, printed, program};

/// Runs the command with a cache of its own.
fn framework(cache: &Path, arguments: &[&str], file: Option<&Path>) -> Output {
    program().arg("framework").args(arguments).args(file).env("XDG_CACHE_HOME", cache).output().unwrap()
}

/// The bytes of the sample driver, which is not signed.
fn sample() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let path = root.join("target/driver/x64/driver_sample.sys");
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask build` first", path.display()))
}

#[test]
fn only_a_file_that_microsoft_signed_is_kept() {
    let place = folder("framework");
    let file = place.join("Wdf01000.sys");
    let refused = |bytes: &[u8], reason: &str| {
        fs::write(&file, bytes).unwrap();
        let output = framework(&place, &["add"], Some(&file));
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
        let text = printed(&output);
        assert!(text.contains("Wdf01000.sys is not Microsoft's framework: "), "{text}");
        assert!(text.contains(reason), "{text}");
    };
    refused(&sample(), "signature: the image has none");
    refused(b"text", "catalog");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../toolchain/driver-package/tests/data/signer.pem");
    let signed = sign_image(&sample(), &Identity::load(&key, now).unwrap()).unwrap();
    refused(&signed, "its certificates do not lead to a root of Microsoft's");
    let mut changed = signed;
    changed[0x500] ^= 1;
    refused(&changed, "digest");
    let missing = framework(&place, &["add"], Some(&place.join("missing.sys")));
    assert_eq!(missing.status.code(), Some(2), "{}", printed(&missing));
    assert_eq!(printed(&framework(&place, &["list"], None)), "");
    let removed = framework(&place, &["remove", "1.9"], None);
    assert!(printed(&removed).contains("there is no framework 1.9: there is none"), "{}", printed(&removed));
}

/// Runs if `WDK_ETW_FRAMEWORK` names the folder with Microsoft's `Wdf01000.sys`, or if the cache has version 1.9.
#[test]
fn microsofts_framework_is_kept_by_its_version() {
    let Some(file) = original() else { return };
    let cache = folder("framework-original");
    let added = framework(&cache, &["add"], Some(&file));
    assert!(added.status.success(), "{}", printed(&added));
    assert!(printed(&added).contains(": KMDF 1."), "{}", printed(&added));
    let listed = printed(&framework(&cache, &["list"], None));
    let version = listed.split(' ').next().unwrap();
    assert!(framework(&cache, &["remove", version], None).status.success(), "{listed}");
    // A changed file is refused.
    let mut bytes = fs::read(file).unwrap();
    bytes[0x2000] ^= 1;
    let copy = cache.join("Wdf01000.sys");
    fs::write(&copy, bytes).unwrap();
    let refused = framework(&cache, &["add"], Some(&copy));
    assert!(!refused.status.success(), "{}", printed(&refused));
    assert!(printed(&refused).contains("digest"), "{}", printed(&refused));
}
