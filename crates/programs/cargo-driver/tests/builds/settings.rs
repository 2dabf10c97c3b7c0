//! The settings in `[package.metadata.driver]`: each takes effect, and an option of the command line comes before it. The tests of
//! `driver-build` have `headers` and `exports`, which have no option.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{driver, printed, report, run, set};

/// The build of Windows that the driver printed, and the kinds of its requests.
fn seen(report: &Value) -> (String, Vec<String>) {
    let kinds =
        report["requests"].as_array().unwrap().iter().map(|request| request["kind"].as_str().unwrap().to_owned());
    (report["output"].to_string(), kinds.collect())
}

#[test]
fn a_run_has_the_release_and_the_requests_of_the_settings() {
    let place = driver("probe-run", "windows = \"win10-1809\"\nrun = [\"--read\", \"16\"]");
    for (arguments, build, requests) in [
        (&[][..], "build 17763", &["read"][..]),
        (&["--", "--write", "01"], "build 17763", &["write"]),
        (&["--", "--os", "win7"], "build 7601", &[]),
        (&["--", "--os=win7", "--read", "1", "--write", "01"], "build 7601", &["read", "write"]),
    ] {
        let (output, kinds) = seen(&report(&place, &[&["run", "--json"], arguments].concat()));
        assert!(output.contains(build), "{arguments:?}: {output}");
        assert_eq!(kinds, requests, "{arguments:?}");
    }
    let release = |arguments: &[&str]| {
        report(&place, &[&["inspect", "--json"], arguments].concat())["images"][0]["windows"].clone()
    };
    assert_eq!(release(&[]), "win10-1809");
    assert_eq!(release(&["--windows", "win7"]), "win7");
}

#[test]
fn a_framework_of_the_settings_is_used_unless_another_one_is_named() {
    let place = driver("probe-framework", "framework = \"frameworks/own\"");
    let refused = |arguments: &[&str], name: &str| {
        let output = run(&place, arguments);
        assert!(!output.status.success(), "{arguments:?}: {}", printed(&output));
        assert!(printed(&output).contains(name), "{arguments:?}: {}", printed(&output));
    };
    let own = place.join("frameworks/own");
    refused(&["run"], own.to_str().unwrap());
    refused(&["run", "--framework", "frameworks/other"], "frameworks/other");
    refused(&["run", "--", "--framework", "frameworks/third"], "frameworks/third");
    // Imports do not depend on a framework.
    assert!(report(&place, &["list", "--json"])["imports"].is_array());
}

/// An `.inx` that installs the driver as a service.
const INX: &str = r#"[Version]
Signature = "$WINDOWS NT$"
Class = System
ClassGuid = {4D36E97D-E325-11CE-BFC1-08002BE10318}
Provider = "Example"
CatalogFile = probe_package.cat
DriverVer =
PnpLockdown = 1
[DestinationDirs]
DefaultDestDir = 13
[SourceDisksNames]
1 = "Disk"
[SourceDisksFiles]
probe_package.sys = 1
[DefaultInstall.NT$ARCH$]
CopyFiles = Files
[Files]
probe_package.sys
[DefaultInstall.NT$ARCH$.Services]
AddService = probe_package,,Service
[Service]
ServiceType = 1
StartType = 3
ErrorControl = 1
ServiceBinary = %13%\probe_package.sys
[DefaultUninstall.NT$ARCH$]
LegacyUninstall = 1
DelFiles = Files
[DefaultUninstall.NT$ARCH$.Services]
DelService = probe_package,0x200
"#;

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns the version of a catalog's format: its members are 1.3.6.1.4.1.311.12.1.2 in the first version, and 12.1.3 in the second.
fn catalog_version(catalog: &[u8]) -> Option<u8> {
    let member = |last| [0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x0C, 0x01, last];
    [1, 2].into_iter().find(|version| contains(catalog, &member(version + 1)))
}

#[test]
fn a_package_is_made_as_the_settings_say() {
    let place = driver("probe-package", "");
    fs::write(place.join("probe_package.inx"), INX).unwrap();
    let package = |arguments: &[&str]| {
        let output = run(&place, &[&["package"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", printed(&output));
        let dir = place.join("target/package/x64");
        let read = |name: &str| fs::read(dir.join(name)).unwrap();
        let catalog = read("probe_package.cat");
        let provider = String::from_utf8(read("package.psd1")).unwrap();
        let provider =
            provider.lines().find(|line| line.trim_start().starts_with("Provider ")).unwrap_or_default().to_owned();
        let is_own = contains(&catalog, b"driver-package test");
        (catalog_version(&catalog), provider, is_own, dir.join("etwctl.exe").is_file())
    };
    let (version, provider, is_own, has_etwctl) = package(&[]);
    assert_eq!(version, Some(2), "{provider}");
    assert!(!is_own, "{provider}");
    assert!(!has_etwctl, "{provider}");

    // Any image for x64 is accepted as etwctl.exe.
    fs::copy(place.join("target/driver/x64/probe_package.sys"), place.join("etwctl.exe")).unwrap();
    let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../toolchain/driver-package/tests/data/signer.pem");
    fs::create_dir(place.join("keys")).unwrap();
    fs::copy(key, place.join("keys/signer.pem")).unwrap();
    set(
        &place,
        "provider = \"Example.Settings\"\ncatalog = \"v1\"\ncert = \"keys/signer.pem\"\netwctl = \"etwctl.exe\"",
    );
    let (version, provider, is_own, has_etwctl) = package(&[]);
    assert_eq!(version, Some(1));
    assert!(is_own);
    assert!(has_etwctl);
    assert!(provider.contains("'Example.Settings'"), "{provider}");

    let (version, provider, ..) = package(&["--catalog", "v2", "--provider", "Example.Option"]);
    assert_eq!(version, Some(2));
    assert!(provider.contains("'Example.Option'"), "{provider}");
    for option in ["--cert", "--etwctl"] {
        let output = run(&place, &["package", option, "no-such-file"]);
        assert!(!output.status.success(), "{option}: {}", printed(&output));
        assert!(printed(&output).contains("no-such-file"), "{option}: {}", printed(&output));
    }
}
