//! Completes packages in the form that the WDK creates.
//!
//! Both build tools create `target/[<triple>/]<profile>/NAME_package` with the image, the stamped INF, the signed
//! catalog, debug information, the map, and the certificate (windows-drivers-rs: `package_task.rs` of cargo-wdk and
//! `rust-driver-makefile.toml` of wdk-build). The files here are our own: no WDK was available.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::inputs::{INX, data, image, names, request, signer, usual};
use crate::common::{Driver, WRITE, tools};
use driver_package::Level;
use driver_package::inf::Arch;
use driver_package::package::{Adopted, Adoption, Request, Scripts};
use driver_package::sign::{Signer, SignerError};

/// The files that `cargo wdk build` creates.
const WDK: [&str; 6] = ["WDRLocalTestCert.cer", "driver.cat", "driver.inf", "driver.map", "driver.pdb", "driver.sys"];
/// The files that are added.
const OURS: [&str; 15] = [
    "README.txt",
    "boot-trace.ps1",
    "boot.ps1",
    "collect.ps1",
    "common.ps1",
    "device.ps1",
    "install.ps1",
    "machine.ps1",
    "package.psd1",
    "record.ps1",
    "remove.ps1",
    "restart.ps1",
    "send.ps1",
    "uninstall.ps1",
    "verifier.ps1",
];

/// Creates a package in a layout of the WDK, such as `target/x86_64-pc-windows-msvc/release`.
fn wdk_package(test: &str, layout: &str, arch: Arch) -> PathBuf {
    wdk_package_of(&image(arch), test, layout)
}

/// As [`wdk_package`], with an image.
fn wdk_package_of(driver: &Driver, test: &str, layout: &str) -> PathBuf {
    let place = tools::folder(test);
    let folder = place.join(layout).join("driver_package");
    let request = request(&place, &driver.build(), INX.as_bytes());
    let request = Request { certificate: "WDRLocalTestCert".into(), ..request };
    let package = request.make(&signer()).unwrap();
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in package.files().iter().filter(|(name, _)| WDK.contains(&name.as_str())) {
        fs::write(folder.join(name), bytes).unwrap();
    }
    fs::write(folder.join("driver.pdb"), "debug information").unwrap();
    fs::write(folder.join("driver.map"), "map").unwrap();
    assert_eq!(names(&folder), WDK);
    folder
}

fn adoption(folder: &Path) -> Adoption {
    Adoption { dir: folder.into(), scripts: None, provider: None, etwctl: None, replace: false }
}

/// Returns every file with its bytes.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    names(folder)
        .into_iter()
        .filter(|name| folder.join(name).is_file())
        .map(|name| (name.clone(), fs::read(folder.join(name)).unwrap()))
        .collect()
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Checks that adopting fails and changes nothing. Returns the rule and the message.
fn refused(adoption: &Adoption, folder: &Path) -> (String, String) {
    let before = content(folder);
    let problems = adoption.adopt().unwrap_err();
    assert_eq!(content(folder), before, "{problems}");
    assert_eq!(names(folder.parent().unwrap()).len(), 1, "nothing is left beside it");
    (problems.0[0].rule.clone(), problems.to_string())
}

#[test]
fn a_package_of_either_pipeline_is_completed() {
    for (index, (layout, arch)) in [
        // cargo wdk build and cargo make without a target, then with one.
        ("target/debug", Arch::X64),
        ("target/x86_64-pc-windows-msvc/release", Arch::X64),
        ("target/aarch64-pc-windows-msvc/debug", Arch::Arm64),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = wdk_package(&format!("adopt-{index}"), layout, arch);
        let before = content(&folder);
        let adopted = Adoption { provider: Some("A.B".into()), ..adoption(&folder) }.adopt().unwrap();
        let mut added = OURS.map(String::from).to_vec();
        added.push("driver.wprp".into());
        added.sort();
        assert_eq!(adopted, Adopted { dir: folder.clone(), arch, added, replaced: vec![], warnings: vec![] });
        for (name, bytes) in before {
            assert_eq!(fs::read(folder.join(&name)).unwrap(), bytes, "{name}");
        }
        assert!(!content(&folder).iter().any(|(_, bytes)| bytes.windows(11).any(|window| window == b"PRIVATE KEY")));
        let data = text(&folder, "package.psd1");
        for line in [
            "Name           = 'driver'",
            &format!("Arch           = '{}'", arch.name()),
            "Certificate    = 'WDRLocalTestCert.cer'",
            "Stores         = @('Root', 'TrustedPublisher')",
            "TestMode       = $true",
            "DriverVer      = '11/14/2023,22.13.20.0'",
            "MinimumBuild   = 20348",
            "MinimumWindows = 'Windows Server 2022 or Windows 11 21H2'",
            "Kmdf           = '1.33'",
            "HardwareIds    = @('Root\\Example', 'Root\\Other')",
            "Services       = @('driver')",
            &format!("Thumbprint     = '{}'", signer().thumbprint().unwrap()),
        ] {
            assert!(data.contains(&format!("    {line}\r\n")), "{line} is not in\n{data}");
        }
        // The data is the same as in a package that was made here.
        let place = tools::folder(&format!("adopt-own-{index}"));
        let own = Request {
            certificate: "WDRLocalTestCert".into(),
            provider: Some("A.B".into()),
            scripts: Scripts::In(folder.clone()),
            ..usual(&place, arch)
        };
        for (name, bytes) in own.make(&signer()).unwrap().files() {
            // The list of files has only those that were added.
            let lines = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes).into_owned();
                text.lines().filter(|line| !line.contains("Files  ")).map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(lines(&fs::read(folder.join(name)).unwrap()), lines(bytes), "{name}");
        }
    }
}

#[test]
fn the_folder_of_a_profile_with_one_package_will_do() {
    let folder = wdk_package("adopt-profile", "target/release", Arch::X64);
    let profile = folder.parent().unwrap();
    // Other folders in the package do not matter.
    fs::create_dir(folder.join("notes")).unwrap();
    assert_eq!(adoption(profile).adopt().unwrap().dir, folder);
    fs::create_dir(profile.join("other_package")).unwrap();
    let problem = adoption(profile).adopt().unwrap_err().to_string();
    assert!(problem.contains("several packages"), "{problem}");
    assert!(problem.contains("other_package"), "{problem}");
    let problem = adoption(profile.parent().unwrap()).adopt().unwrap_err().to_string();
    assert!(problem.contains("cargo wdk build"), "{problem}");
}

#[test]
fn a_certificate_that_is_missing_is_taken_from_the_catalog() {
    let folder = wdk_package("adopt-certificate", "target/release", Arch::X64);
    let certificate = fs::read(folder.join("WDRLocalTestCert.cer")).unwrap();
    fs::remove_file(folder.join("WDRLocalTestCert.cer")).unwrap();
    let adopted = adoption(&folder).adopt().unwrap();
    assert!(adopted.added.contains(&"driver.cer".into()), "{adopted:?}");
    assert_eq!(fs::read(folder.join("driver.cer")).unwrap(), certificate);
    assert!(text(&folder, "package.psd1").contains("Certificate    = 'driver.cer'\r\n"));
}

#[test]
fn an_image_that_memory_integrity_rejects_is_adopted_with_a_warning() {
    let mut driver = image(Arch::X64);
    driver.rights[0] |= WRITE;
    let folder = wdk_package_of(&driver, "adopt-warning", "target/release");
    let adopted = adoption(&folder).adopt().unwrap();
    let [warning] = adopted.warnings.as_slice() else { panic!("{adopted:?}") };
    assert_eq!(warning.level, Level::Warning, "{warning}");
    assert!(warning.to_string().contains("driver.sys: warning "), "{warning}");
}

#[test]
fn the_certificate_of_somebody_else_is_refused() {
    let folder = wdk_package("adopt-other-certificate", "target/release", Arch::X64);
    fs::copy(data("server.crt"), folder.join("WDRLocalTestCert.cer")).unwrap();
    let (rule, text) = refused(&adoption(&folder), &folder);
    assert_eq!(rule, "certificate-mismatch", "{text}");
    fs::write(folder.join("WDRLocalTestCert.cer"), "none").unwrap();
    assert_eq!(refused(&adoption(&folder), &folder).0, "certificate-file");
}

#[test]
fn an_incomplete_or_inconsistent_package_is_rejected() {
    type Change = fn(&Path);
    let changes: [(&str, Change, &str, &str); 10] = [
        (
            "no-inf",
            |folder| fs::rename(folder.join("driver.inf"), folder.join("x.txt")).unwrap(),
            "package-folder",
            "no .inf",
        ),
        ("two-infs", |folder| fs::write(folder.join("x.inf"), "").unwrap(), "package-file", "one .inf"),
        ("no-image", |folder| fs::remove_file(folder.join("driver.sys")).unwrap(), "package-file", "kernel drivers"),
        ("no-catalog", |folder| fs::remove_file(folder.join("driver.cat")).unwrap(), "package-file", "catalog"),
        (
            "stale-image",
            |folder| fs::write(folder.join("driver.sys"), Driver { cookie: 1, ..image(Arch::X64) }.build()).unwrap(),
            "catalog-digest",
            "driver.sys",
        ),
        (
            "changed-inf",
            |folder| {
                let inf = fs::read_to_string(folder.join("driver.inf")).unwrap();
                fs::write(folder.join("driver.inf"), inf.replace("A disk", "a disk")).unwrap();
            },
            "catalog-digest",
            "driver.inf",
        ),
        (
            "no-signature",
            |folder| fs::write(folder.join("driver.cat"), unsigned(folder)).unwrap(),
            "catalog-signature",
            "driver.cat",
        ),
        (
            "key",
            |folder| fs::write(folder.join("WDRLocalTestCert.pfx"), "x").unwrap(),
            "private-key",
            "WDRLocalTestCert.pfx",
        ),
        (
            "key-below",
            |folder| {
                fs::create_dir_all(folder.join("notes/old")).unwrap();
                fs::copy(data("signer.pem"), folder.join("notes/old/readme.txt")).unwrap();
            },
            "private-key",
            "notes/old/readme.txt",
        ),
        (
            "key-as-symbols",
            |folder| assert!(fs::copy(data("signer.pem"), folder.join("driver.pdb")).is_ok()),
            "private-key",
            "driver.pdb",
        ),
    ];
    for (name, change, rule, printed) in changes {
        let folder = wdk_package(&format!("adopt-{name}"), "target/release", Arch::X64);
        change(&folder);
        let (found, text) = refused(&adoption(&folder), &folder);
        assert!(found == rule, "{name}: {text}");
        assert!(text.replace('\\', "/").contains(printed), "{name}: {text}");
    }
}

#[test]
fn a_catalog_or_certificate_cut_anywhere_is_an_error() {
    let folder = wdk_package("adopt-cut", "target/release", Arch::X64);
    for (name, read) in [
        ("driver.cat", Signer::from_envelope as fn(&[u8]) -> Result<Signer, SignerError>),
        ("WDRLocalTestCert.cer", Signer::of_file),
    ] {
        let bytes = fs::read(folder.join(name)).unwrap();
        assert_eq!(read(&bytes).unwrap().thumbprint(), signer().thumbprint().unwrap());
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{name}: {length}");
            let mut changed = bytes.clone();
            changed[length] ^= 0x55;
            // The changed file may be valid or not, but reading it must not panic.
            let _ = read(&changed);
        }
    }
}

/// Returns the catalog without the start of its envelope.
fn unsigned(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("driver.cat")).unwrap()[4..].to_vec()
}

#[test]
fn files_that_are_there_are_replaced_only_on_request() {
    let folder = wdk_package("adopt-again", "target/release", Arch::X64);
    adoption(&folder).adopt().unwrap();
    let again = adoption(&folder).adopt().unwrap();
    assert!(again.added.is_empty(), "{again:?}");
    assert!(again.replaced.is_empty(), "{again:?}");
    fs::write(folder.join("install.ps1"), "# mine").unwrap();
    let (rule, printed) = refused(&adoption(&folder), &folder);
    assert!(rule == "package-file", "{printed}");
    assert!(printed.contains("install.ps1"), "{printed}");
    assert!(printed.contains("--replace"), "{printed}");
    let replaced = Adoption { replace: true, ..adoption(&folder) }.adopt().unwrap();
    assert_eq!(replaced.replaced, ["install.ps1"]);
    assert!(text(&folder, "install.ps1").contains("Assert-Machine"));
}

#[test]
fn a_program_and_scripts_of_ones_own_come_along() {
    let folder = wdk_package("adopt-extras", "target/release", Arch::Arm64);
    let place = tools::folder("adopt-extras-inputs");
    let program = Driver { subsystem: 3, ..image(Arch::X64) }.build();
    fs::write(place.join("program.exe"), &program).unwrap();
    fs::write(place.join("only.ps1"), "exit 0").unwrap();
    let adoption =
        Adoption { scripts: Some(place.clone()), etwctl: Some(place.join("program.exe")), ..adoption(&folder) };
    let adopted = adoption.adopt().unwrap();
    assert_eq!(adopted.added, ["README.txt", "etwctl.exe", "only.ps1", "package.psd1"]);
    assert_eq!(fs::read(folder.join("etwctl.exe")).unwrap(), program, "as it is");
    // ARM64 can run programs for x64, but not the reverse.
    let folder = wdk_package("adopt-extras-x64", "target/release", Arch::X64);
    fs::write(place.join("program.exe"), Driver { subsystem: 3, ..image(Arch::Arm64) }.build()).unwrap();
    assert_eq!(refused(&Adoption { dir: folder.clone(), ..adoption }, &folder).0, "machine");
}

fn adopt(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_driver-package");
    Command::new(program).current_dir(folder).arg("adopt").args(arguments).output().unwrap()
}

#[test]
fn the_command_says_what_it_did() {
    let folder = wdk_package("adopt-command", "target/debug", Arch::X64);
    let output = adopt(&folder, &["--provider", "A.B", "."]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.starts_with(". (x64)\n  added README.txt\n"), "{printed}");
    assert!(printed.contains("  added driver.wprp\n"), "{printed}");
    assert!(!printed.contains("already"), "{printed}");
    let printed = String::from_utf8(adopt(&folder, &["--provider", "A.B", "."]).stdout).unwrap();
    assert!(printed.contains("everything was there already"), "{printed}");
    let output = adopt(&folder, &["--provider", "C.D", "."]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("package.psd1: error package-file: it already exists"), "{printed}");
    for (arguments, text) in [
        (&[][..], "<FOLDER>"),
        (&["a", "b"], "unexpected argument 'b' found"),
        (&["--provider"], "a value is required"),
        (&["--force", "."], "unexpected argument '--force' found"),
    ] {
        let output = adopt(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(text), "{arguments:?}");
    }
    let help = String::from_utf8(adopt(&folder, &["--help"]).stdout).unwrap();
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[test]
fn a_file_that_the_package_is_made_from_is_not_replaced() {
    let folder = wdk_package("adopt-input", "target/debug", Arch::X64);
    let program = folder.join("package.psd1");
    fs::write(&program, fs::read(folder.join("driver.sys")).unwrap()).unwrap();
    let adoption = Adoption { etwctl: Some(program), replace: true, ..adoption(&folder) };
    let (rule, text) = refused(&adoption, &folder);
    assert_eq!(rule, "package-file");
    assert!(text.contains("is the input "), "{text}");
}
