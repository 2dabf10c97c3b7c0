//! Hashes, keys and random numbers of CNG.

use std::path::PathBuf;

use crate::common::c::{Log, build};
use nt_host::{Error, Finding, GapKind, Matrix, NtHost, Os, Rule};

fn image(bug: u32) -> PathBuf {
    build("cng", bug, "DriverEntry", &["ntoskrnl", "cng"])
}

/// The results are those of the standards: FIPS 180-4 and RFC 1321 ("abc"), RFC 4231, RFC 6070, NIST SP 800-38A, and test
/// cases 1 and 2 of GCM.
#[test]
fn known_answers() {
    let host = NtHost::builder().driver(image(0)).start().expect("DriverEntry");
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let expected = [
        "MD5: 00000000 900150983cd24fb0d6963f7d28e17f72",
        "SHA1: 00000000 a9993e364706816aba3e25717850c26c9cd0d89d",
        &format!("SHA256: 00000000 {sha256}"),
        "SHA384: 00000000 cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        "SHA512: 00000000 ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "HMAC: 00000000 5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        &format!("BCryptHash: 00000000 {sha256}"),
        "short: c000000d ",
        "secret: c000000d ",
        "PBKDF2: 00000000 ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957",
        "unknown: c0000225 ",
        "random: different",
        "no handle: c0000008 ",
        "block of 16 bytes",
        "key: 00000000 ",
        "CBC: 00000000 7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
        "vector: 00000000 5086cb9b507219ee95db113a917678b2",
        "uneven: c0000206 ",
        "padded: 00000000 32",
        "too small: c0000023 32",
        "import: 00000000 4b44424d01000000100000002b7e151628aed2a6abf7158809cf4f3c",
        "decrypted: 00000000 6bc1bee22e409f96e93d7e117393172aae2d8a57",
        "no padding: c000000d ",
        "ECB: 00000000 3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf",
        "GCM: 00000000 0388dace60b6a392f328c2b971b2fe78",
        "tag: 00000000 ab6e47d42cec13bdf53a67b21257bddf",
        "opened: 00000000 00000000000000000000000000000000",
        "forged: c000a002 ",
        "nothing: 00000000 58e2fccefa7e3061367f1d57a4e7455a",
    ];
    assert_eq!(Log::default().lines(&host), expected);
    host.unload().expect("unload").assert_clean();
}

/// `ksecdd.sys` exports the routines as well: drivers for Windows Vista link its library.
#[test]
fn both_modules_have_the_routines_and_an_old_windows_lacks_the_newer_ones() {
    let image = build("cng", 0, "DriverEntry", &["ntoskrnl", "ksecdd"]);
    let host = NtHost::builder().driver(&image).start().expect("DriverEntry");
    host.unload().expect("unload").assert_clean();
    let refused = NtHost::builder().driver(&image).os(Os::Win81).start();
    assert!(matches!(refused, Err(Error::NotLoaded(..))), "{refused:?}");
}

/// Each mistake is found, and the driver without it is clean.
#[test]
fn mistakes_with_cng_are_found() {
    for (bug, rule, routine, detail) in [
        (1, Rule::HandleLeak, None, "does not close a handle (algorithm provider)"),
        (2, Rule::HandleLeak, None, "does not close a handle (hash)"),
        (3, Rule::HandleLeak, None, "does not close a handle (key)"),
        (4, Rule::IrqlTooHigh, Some("BCryptHashData"), "called at IRQL 2 for a provider that was opened without"),
        (5, Rule::IrqlTooHigh, Some("BCryptGenRandom"), "called at IRQL 2 with BCRYPT_USE_SYSTEM_PREFERRED_RNG"),
        (6, Rule::UseAfterFree, Some("BCryptDestroyHash"), ""),
        (7, Rule::BadArgument, Some("BCryptDestroyHash"), "overwrites the memory of a hash or key"),
        (8, Rule::BadArgument, Some("BCryptHashData"), "uses a hash after BCryptFinishHash"),
        (9, Rule::BadArgument, Some("BCryptDestroyHash"), "0x"),
        (10, Rule::BadArgument, Some("BCryptCloseAlgorithmProvider"), "closes a provider that was opened with"),
        (11, Rule::NotImplemented, Some("BCryptOpenAlgorithmProvider"), "opens a provider of the algorithm RSA"),
        (12, Rule::NotImplemented, Some("BCryptSetProperty"), "sets the chaining mode ChainingModeCFB"),
    ] {
        let host = NtHost::builder().driver(image(bug)).prepare().expect("a driver");
        let report = match host.load().and_then(|()| host.unload()) {
            Ok(report) => report,
            Err(_) => host.report(),
        };
        let is_it = |found: &&Finding| found.rule == rule && found.detail.starts_with(detail);
        let Some(found) = report.findings().iter().find(is_it) else { panic!("BUG {bug}: {:#?}", report.findings()) };
        assert_eq!(found.routine.as_deref(), routine, "BUG {bug}: {found:#?}");
        // The provider of a hash that is not destroyed is closed before the hash.
        assert_eq!(report.findings().len(), if bug == 2 { 2 } else { 1 }, "BUG {bug}: {:#?}", report.findings());
        assert!(found.location.as_ref().is_some_and(|location| location.line.is_some()), "BUG {bug}: {found:#?}");
    }
}

#[test]
fn each_routine_may_fail() {
    let builder = NtHost::builder().driver(image(0)).allow(GapKind::NotFailed);
    let survey = Matrix::new(builder).run(|host| {
        host.load()?;
        host.unload().map(drop)
    });
    let survey = survey.expect("a driver without failures");
    survey.assert_clean();
    assert!(survey.failures > 60, "{}", survey.failures);
}
