//! Tests complete packages.

mod keys;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::common::inputs::{INX, image, names, request, signer, usual};
use crate::common::{Driver, tools};
use driver_package::catalog::Version;
use driver_package::inf::Arch;
use driver_package::package::{Package, Scripts};
use driver_package::sign::{Identity, image_digests, sign_image, test_identity};
use driver_package::{Image, Level, Problem, Target, Verdict};
use windows_releases::{Client, Release};

fn file<'a>(package: &'a Package, name: &str) -> &'a [u8] {
    let found = package.files().iter().find(|(each, _)| each == name);
    found.map_or_else(|| panic!("no {name}"), |(_, bytes)| bytes.as_slice())
}

fn text(package: &Package, name: &str) -> String {
    String::from_utf8(file(package, name).to_vec()).unwrap()
}

#[test]
fn a_package_has_its_files_and_they_say_what_they_should() {
    for (arch, decoration) in [(Arch::X64, "NTamd64"), (Arch::Arm64, "NTarm64")] {
        let folder = tools::folder(&format!("package-{}", arch.name()));
        let package = usual(&folder, arch).make(&signer()).unwrap();
        let all: Vec<&str> = package.files().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(all, ["README.txt", "driver.cat", "driver.inf", "driver.sys", "package.psd1", "signer.cer"]);
        assert!(package.warnings.is_empty(), "{:?}", package.warnings);

        let inf = text(&package, "driver.inf");
        assert!(inf.contains("CatalogFile = driver.cat\n"), "{inf}");
        assert!(inf.contains("DriverVer   = 11/14/2023,22.13.20.0\n"), "{inf}");
        assert!(inf.contains(&format!("[Models.{decoration}.10.0...16299]\n")), "{inf}");
        assert!(inf.contains("KmdfLibraryVersion = 1.33\n"), "{inf}");

        let signed = Image::parse(file(&package, "driver.sys")).unwrap();
        assert!(signed.header.checksum.is_right());
        assert!(signed.signature.as_ref().is_some_and(|signature| signature.problems.is_empty()));
        assert!(Verdict::judge(&signed, Target::default()).findings().is_empty());
        assert_eq!(file(&package, "signer.cer"), signer().to_cer().unwrap());

        let data = text(&package, "package.psd1");
        assert!(data.contains("HardwareIds    = @('Root\\Example', 'Root\\Other')\r\n"), "{data}");
        assert!(data.contains("Services       = @('driver')\r\n"), "{data}");
        assert!(data.contains(&format!("Arch           = '{}'\r\n", arch.name())), "{data}");
        assert!(text(&package, "README.txt").contains("A device (Root\\Example, Root\\Other)\r\n"));
    }
}

#[test]
fn the_oldest_windows_and_framework_are_those_that_the_image_needs() {
    let folder = tools::folder("package-minimum");
    let driver = |minimum| {
        let framework = Some(Client { major: 1, minor: 33, functions: 458, minimum: Some(minimum) });
        Driver { framework, subsystem_version: (6, 0), ..image(Arch::X64) }.build()
    };
    for (minimum, decoration, expected, warns) in [
        (25, "17134", ("17134", "Windows 10 1803", "1.25"), false),
        (25, "16299", ("17134", "Windows 10 1803", "1.25"), true),
        (25, "19041", ("19041", "Windows 10 2004", "1.25"), false),
        (33, "17134", ("20348", "Windows Server 2022 or Windows 11 21H2", "1.33"), true),
    ] {
        let inx = INX.replace("16299", decoration);
        let mut request = request(&folder, &driver(minimum), inx.as_bytes());
        // The image states the framework version that it was built for.
        request.kmdf = None;
        let package = request.make(&signer()).unwrap();
        assert!(text(&package, "driver.inf").contains("KmdfLibraryVersion = 1.33\n"));
        let (build, windows, kmdf) = expected;
        let data = text(&package, "package.psd1");
        for line in [
            format!("MinimumBuild   = {build}\r\n"),
            format!("MinimumWindows = '{windows}'\r\n"),
            format!("Kmdf           = '{kmdf}'\r\n"),
        ] {
            assert!(data.contains(&line), "{line} is not in {data}");
        }
        assert!(text(&package, "README.txt").contains(&format!("for {windows} (build {build}) and later")));
        let warnings: Vec<String> = package.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), usize::from(warns), "{warnings:?}");
        let says = |warning: &String| warning.contains("driver.inx:20: warning minimum-build: ");
        assert!(warnings.iter().all(says), "{warnings:?}");
    }
    let mut other = request(&folder, &driver(25), INX.as_bytes());
    other.kmdf = Some("1.31".into());
    let problem = other.make(&signer()).unwrap_err().to_string();
    assert!(
        problem.contains("kmdf-version: it was built for KMDF 1.33, but a package for KMDF 1.31 was requested"),
        "{problem}"
    );
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let folder = tools::folder("package-same");
    let request = usual(&folder, Arch::X64);
    let first = request.make(&signer()).unwrap();
    let second = request.make(&signer()).unwrap();
    assert_eq!(first.files(), second.files());
    let mut later = request.clone();
    later.time += Duration::from_secs(1);
    let third = later.make(&signer()).unwrap();
    assert_eq!(file(&first, "driver.sys"), file(&third, "driver.sys"), "an image's signature has no time");
    assert_ne!(file(&first, "driver.inf"), file(&third, "driver.inf"));
}

#[test]
fn an_image_has_the_same_digests_before_and_after_signing_and_signing_again() {
    for odd in [0, 1, 7] {
        let mut unsigned = image(Arch::X64).build();
        unsigned.extend(vec![0x5a; odd]);
        let once = sign_image(&unsigned, &signer()).unwrap();
        assert_eq!(image_digests(&unsigned).unwrap(), image_digests(&once).unwrap());
        assert_eq!(sign_image(&once, &signer()).unwrap(), once, "the old signature is replaced");
    }
    // The placeholder, which is not a real signature, is replaced.
    let placeholder = Driver::default().build();
    assert_eq!(sign_image(&placeholder, &signer()).unwrap(), sign_image(&image(Arch::X64).build(), &signer()).unwrap());
}

#[test]
fn a_catalog_of_the_first_version_can_be_chosen() {
    let folder = tools::folder("package-v1");
    let mut request = usual(&folder, Arch::X64);
    let second = request.make(&signer()).unwrap();
    request.catalog = Version::V1;
    let first = request.make(&signer()).unwrap();
    assert_ne!(file(&first, "driver.cat"), file(&second, "driver.cat"));
    assert_eq!(file(&first, "driver.inf"), file(&second, "driver.inf"));
}

#[test]
fn other_files_of_a_driver_and_scripts_come_along() {
    let folder = tools::folder("package-others");
    let inx = INX.replace("driver.sys = 1\n", "driver.sys = 1\nfirmware.bin = 1\n");
    let mut request = request(&folder, &image(Arch::X64).build(), inx.as_bytes());
    fs::write(folder.join("firmware.bin"), "microcode").unwrap();
    fs::create_dir(folder.join("deploy")).unwrap();
    fs::write(folder.join("deploy/install.ps1"), "exit 0").unwrap();
    fs::write(folder.join("deploy/notes.txt"), "not for the package").unwrap();
    request.scripts = Scripts::In(folder.join("deploy"));
    request.provider = Some("MyCompany.MyComponent".into());
    let package = request.make(&signer()).unwrap();
    assert_eq!(file(&package, "firmware.bin"), b"microcode");
    assert_eq!(file(&package, "install.ps1"), b"exit 0");
    assert!(!package.files().iter().any(|(name, _)| name == "notes.txt"));
    // Microsoft's example of a name and its id, from the documentation of TRACELOGGING_DEFINE_PROVIDER.
    assert!(text(&package, "package.psd1").contains("ProviderId     = 'ce5fa4ea-ab00-5402-8b76-9f76ac858fb5'\r\n"));
    assert!(text(&package, "README.txt").contains(".\\install.ps1"));
}

#[test]
fn etwctl_comes_along_with_a_signature() {
    let folder = tools::folder("package-etwctl");
    let program = Driver { subsystem: 3, ..image(Arch::X64) }.build();
    fs::write(folder.join("etwctl.exe"), &program).unwrap();
    let mut request = usual(&folder, Arch::Arm64);
    let without = request.make(&signer()).unwrap();
    assert!(!text(&without, "README.txt").contains("etwctl.exe               records"));
    request.etwctl = Some(folder.join("etwctl.exe"));
    let package = request.make(&signer()).unwrap();
    assert_eq!(file(&package, "etwctl.exe"), sign_image(&program, &signer()).unwrap());
    assert!(text(&package, "README.txt").contains("etwctl.exe               records"));
    fs::write(folder.join("etwctl.exe"), "#!/bin/sh").unwrap();
    assert!(request.make(&signer()).unwrap_err().to_string().contains("etwctl.exe"));
}

#[test]
fn a_package_says_which_windows_it_needs() {
    let folder = tools::folder("package-needs");
    let data = |kmdf: &str| {
        let mut request = usual(&folder, Arch::X64);
        request.kmdf = Some(kmdf.into());
        text(&request.make(&signer()).unwrap(), "package.psd1")
    };
    // The INF applies to build 16299 and later, which is Windows 10 1709.
    for release in Release::ALL {
        let kmdf = release.kmdf();
        let first = Release::first_with_kmdf(kmdf.minor).unwrap().max(Release::Win10_1709);
        let data = data(&kmdf.to_string());
        assert!(data.contains(&format!("MinimumBuild   = {}\r\n", first.build())), "{data}");
        assert!(data.contains(&format!("MinimumWindows = '{}", first.title())), "{data}");
        assert!(data.contains(&format!("Kmdf           = '{kmdf}'\r\n")), "{data}");
    }
    assert!(data("1.33").contains("MinimumWindows = 'Windows Server 2022 or Windows 11 21H2'\r\n"));
    let mut request = usual(&folder, Arch::X64);
    request.kmdf = Some("1.99".into());
    let warnings = request.make(&signer()).unwrap().warnings;
    let is_expected = |warning: &Problem| warning.rule == "kmdf-version" && warning.level == Level::Warning;
    assert!(warnings.iter().any(is_expected), "{warnings:?}");
}

#[test]
fn the_certificate_is_described_as_what_it_is() {
    let folder = tools::folder("package-trust");
    let text = text(&usual(&folder, Arch::X64).make(&signer()).unwrap(), "README.txt").replace("\r\n", " ");
    assert!(text.contains("trusts all code that it signs"), "{text}");
    assert!(text.contains("in test mode or not, until"), "{text}");
    assert!(!text.contains("only while they"), "{text}");
}

#[test]
fn the_test_certificate_is_made_once_and_its_key_is_private() {
    let folder = tools::folder("package-key");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let keys = folder.join("keys");
    let first = test_identity(&keys, now).unwrap();
    let second = test_identity(&keys, now).unwrap();
    assert_eq!(first.thumbprint().unwrap(), second.thumbprint().unwrap());
    assert_eq!(names(&keys), ["WDRLocalTestCert.pem"]);
    assert_eq!(first.certificate().tbs_certificate.subject.to_string(), "CN=WDRLocalTestCert");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(keys.join("WDRLocalTestCert.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let package = usual(&folder, Arch::X64).make(&first).unwrap();
    for (name, bytes) in package.files() {
        assert!(!bytes.windows(11).any(|window| window == b"PRIVATE KEY"), "{name}");
    }
    // It is valid from its first second to its last.
    let validity = &first.certificate().tbs_certificate.validity;
    let from = validity.not_before.to_unix_duration();
    let to = validity.not_after.to_unix_duration();
    let moment = Duration::from_secs(1);
    for (time, rule) in [
        (from.saturating_sub(moment), Some("certificate-not-yet-valid")),
        (from, None),
        (to, None),
        (to + moment, Some("certificate-expired")),
    ] {
        let problem = Identity::load(&keys.join("WDRLocalTestCert.pem"), time).err();
        assert_eq!(problem.as_ref().map(|problem| problem.rule.as_str()), rule, "{time:?}");
    }
}

fn package(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_driver-package");
    let inputs = ["package", "--image", "driver.dll", "--inx", "driver.inx", "--kmdf", "1.33"];
    let command = &mut Command::new(program);
    command.current_dir(folder).env("SOURCE_DATE_EPOCH", "1700000000").args(inputs).args(arguments).output().unwrap()
}

#[test]
fn the_command_makes_a_package_and_replaces_it() {
    let folder = tools::folder("package-command");
    usual(&folder, Arch::Arm64);
    for _ in 0..2 {
        let output = package(&folder, &["--out", "out/arm64", "--keys", "keys", "--arch", "arm64"]);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(printed.starts_with("out/arm64 (arm64)\n  README.txt ("), "{printed}");
    }
    assert_eq!(names(&folder.join("out")), ["arm64"]);
    assert!(fs::read(folder.join("out/arm64/driver.inf")).unwrap().windows(10).any(|text| text == b"11/14/2023"));
    assert!(names(&folder.join("out/arm64")).contains(&"WDRLocalTestCert.cer".to_owned()));
}

#[cfg(unix)]
#[test]
fn files_of_the_user_and_a_package_on_a_full_disk_are_not_touched() {
    let folder = tools::folder("package-foreign");
    usual(&folder, Arch::X64);
    assert_eq!(package(&folder, &["--out", "out/x64", "--keys", "keys"]).status.code(), Some(0));
    let out = folder.join("out/x64");
    let before = names(&out);
    // Not even the first script fits.
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_driver-package"),
        "package",
    ]);
    shell.args(["--image", "driver.dll", "--inx", "driver.inx", "--kmdf", "1.33", "--keys", "keys"]);
    let full = |shell: &mut Command, out: &str| shell.args(["--out", out]).current_dir(&folder).output().unwrap();
    let output = full(&mut shell, "out/x64");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("error package-folder: File too large"), "{printed}");
    assert_eq!(names(&out), before);
    assert_eq!(names(&folder.join("out")), ["x64"]);

    // The user keeps the source and the keys beside the package.
    fs::copy(folder.join("driver.inx"), out.join("driver.inx")).unwrap();
    let output = package(&folder, &["--out", "out/x64", "--keys", "out/x64/keys"]);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("as its own: driver.inx, keys/; nothing was changed"), "{printed}");
    assert!(out.join("driver.inx").is_file());
    assert!(out.join("keys/WDRLocalTestCert.pem").is_file());
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_or_written_is_exit_code_2_and_an_input_that_is_refused_is_1() {
    let folder = tools::folder("package-access");
    usual(&folder, Arch::X64);
    fs::create_dir(folder.join("foreign")).unwrap();
    for file in ["plain", "foreign/thesis.txt"] {
        fs::write(folder.join(file), "").unwrap();
    }
    for (arguments, code, text) in [
        // Not even root can create a folder here.
        (["--out", "/proc/no-such-folder/x64", "--keys", "keys"], 2, "error package-folder: "),
        (["--out", "plain", "--keys", "keys"], 2, "plain: error package-folder: Not a directory"),
        (["--out", "out", "--keys", "plain"], 2, "error certificate-file: "),
        (["--out", "out", "--cert", "none.pem"], 2, "none.pem: error certificate-file: "),
        (["--out", "out", "--scripts", "none"], 2, "none: error package-file: "),
        (["--out", "foreign", "--keys", "keys"], 1, "foreign: error package-folder: it contains files"),
        (["--out", "out", "--cert", "plain"], 1, "plain: error certificate-file: "),
    ] {
        let output = package(&folder, &arguments);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.contains(text), "{arguments:?}: {printed}");
    }
    fs::remove_file(folder.join("driver.dll")).unwrap();
    let output = package(&folder, &["--out", "out", "--keys", "keys"]);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("driver.dll: error package-file: "), "{printed}");
    assert!(!folder.join("out").exists(), "{printed}");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = tools::folder("package-usage");
    usual(&folder, Arch::X64);
    for (arguments, text) in [
        (&[][..], "--out <FOLDER>"),
        (&["--arch", "x86"], "[possible values: x64, arm64]"),
        (&["--catalog", "v3"], "[possible values: v1, v2]"),
        (&["--cert"], "a value is required for '--cert <FILE>'"),
        (&["--certificate", "x"], "unexpected argument '--certificate' found"),
    ] {
        let output = package(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(printed.contains(text), "{arguments:?}: {printed}");
    }
    let help = String::from_utf8(package(&folder, &["--help"]).stdout).unwrap();
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}
