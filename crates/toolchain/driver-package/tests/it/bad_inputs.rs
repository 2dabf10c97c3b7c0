//! Invalid inputs result in an error with file, line and rule, and leave nothing behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::inputs::{INX, TIME, data, image, names, request, signer, usual};
use crate::common::{Driver, tools};
use driver_package::inf::Arch;
use driver_package::package::Request;
use driver_package::sign::Identity;
use driver_package::{Level, Problem};

/// Returns the errors of a package with a different `.inx`.
fn refused(name: &str, inx: &[u8]) -> Vec<Problem> {
    let folder = tools::folder(name);
    let problems = request(&folder, &image(Arch::X64).build(), inx).make(&signer()).unwrap_err().0;
    for problem in &problems {
        assert!(problem.file.ends_with("driver.inx"), "{problem}");
    }
    problems.into_iter().filter(|problem| problem.level == Level::Error).collect()
}

fn rules(problems: &[Problem]) -> Vec<(&str, Option<usize>)> {
    problems.iter().map(|problem| (problem.rule.as_str(), problem.line)).collect()
}

#[test]
fn missing_sections() {
    for (section, expected) in [
        ("[Version]", ("1001", 1)),
        ("[Manufacturer]", ("1203", 1)),
        ("[Models.NT$ARCH$.10.0...16299]", ("1203", 20)),
        ("[Install.NT]", ("1203", 23)),
        ("[Files]", ("1203", 26)),
        ("[Install.NT.Services]", ("1296", 23)),
        ("[Service]", ("1203", 36)),
        ("[Framework]", ("1203", 45)),
        ("[SourceDisksFiles]", ("1230", 30)),
        ("[DestinationDirs]", ("1322", 30)),
        ("[Strings]", ("1235", 5)),
    ] {
        let inx = INX.replace(section, "[Elsewhere]");
        let problems = refused("bad-sections", inx.as_bytes());
        let (rule, line) = expected;
        assert!(rules(&problems).contains(&(rule, Some(line))), "{section}: {problems:?}");
    }
}

#[test]
fn wrong_encodings() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    for (bytes, line) in [
        (format!("\u{feff}{INX}").into_bytes(), 1),
        (INX.replace("A disk", "Une \u{e9}pave").into_bytes(), 52),
        (utf16(&format!("\u{feff}{INX}")), 1),
        (utf16(INX), 1),
    ] {
        let problems = refused("bad-encoding", &bytes);
        assert_eq!(rules(&problems), [("1003", Some(line))], "{problems:?}");
    }
    // Both of these are valid.
    let folder = tools::folder("good-encoding");
    let le: Vec<u8> = format!("\u{feff}{INX}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let package = request(&folder, &image(Arch::X64).build(), &le).make(&signer()).unwrap();
    assert!(package.files().iter().any(|(name, bytes)| name == "driver.inf" && bytes.starts_with(&[0xff, 0xfe])));
    let mut latin = INX.replace("A disk", "A d?sk").into_bytes();
    let place = latin.iter().position(|byte| *byte == b'?').unwrap();
    latin[place] = 0xef;
    request(&folder, &image(Arch::X64).build(), &latin).make(&signer()).unwrap();
}

#[test]
fn names_of_devices() {
    let inx = INX.replace("driver.sys = 1\n", "driver.sys = 1\nCom1.bin = 1\n");
    let problems = refused("device-listed", inx.as_bytes());
    assert_eq!(rules(&problems), [("package-file", Some(18))], "{problems:?}");
    assert!(problems[0].text.contains("`Com1.bin` cannot be a file on Windows, where COM1 is the name of a device"));
    let folder = tools::folder("device-certificate");
    let request = request(&folder, &image(Arch::X64).build(), INX.as_bytes());
    let problems = Request { certificate: "nul".into(), ..request }.make(&signer()).unwrap_err();
    assert!(problems.to_string().contains("`nul.cer` cannot be a file on Windows"), "{problems}");
}

#[test]
fn a_reserved_class() {
    let by_name = refused("bad-class", INX.replace("= Example\n", "= Sample\n").as_bytes());
    assert_eq!(rules(&by_name), [("1284", Some(3))]);
    assert!(by_name[0].to_string().contains("driver.inx:3: error 1284: class `Sample` is reserved for Microsoft"));
    // One of Microsoft's samples may have it, and no other class.
    let folder = tools::folder("sample-class");
    let of = |class: &str| {
        let inx = INX.replace("= Example\n", &format!("= {class}\n"));
        Request { is_sample: true, ..request(&folder, &image(Arch::X64).build(), inx.as_bytes()) }.make(&signer())
    };
    assert!(of("Sample").is_ok());
    assert_eq!(rules(&of("Decoder").unwrap_err().0), [("1284", Some(3))]);
    let id = "{4d36e97e-e325-11ce-bfc1-08002be10318}";
    let by_id = refused("bad-class-id", INX.replace("{0a1b2c3d-0000-4000-8000-00000000abcd}", id).as_bytes());
    assert_eq!(rules(&by_id), [("1284", Some(4))]);
}

#[test]
fn images_that_windows_would_not_load() {
    let folder = tools::folder("bad-image");
    let made = |driver: &Driver| request(&folder, &driver.build(), INX.as_bytes()).make(&signer()).unwrap_err();
    let unsigned = || image(Arch::X64);
    for (driver, rule) in [
        (Driver { subsystem: 3, ..unsigned() }, "subsystem"),
        (Driver { tls: true, ..unsigned() }, "tls"),
        (Driver { machine: 0x14c, ..unsigned() }, "machine"),
    ] {
        let problems = made(&driver);
        assert_eq!(problems.0[0].rule, rule, "{problems}");
        assert!(problems.0[0].file.ends_with("driver.dll"));
    }
    let text = request(&folder, b"MZ, but nothing more", INX.as_bytes()).make(&signer()).unwrap_err().to_string();
    assert!(text.contains("driver.dll: error DOS header: "), "{text}");
    let mut other = usual(&folder, Arch::X64);
    other.arch = Some(Arch::Arm64);
    assert_eq!(other.make(&signer()).unwrap_err().0[0].rule, "machine");
}

#[test]
fn files_that_the_inf_lists_but_that_do_not_exist() {
    let missing = refused("bad-files", INX.replace("driver.sys = 1\n", "driver.sys = 1\nmore.dll = 1\n").as_bytes());
    assert_eq!(rules(&missing), [("package-file", Some(18))]);
    let outside = refused("bad-path", INX.replace("driver.sys = 1\n", "driver.sys = 1\n..\\x = 1\n").as_bytes());
    assert_eq!(rules(&outside), [("package-file", Some(18))]);
    let other = INX.replace("driver.sys", "another.sys");
    assert!(rules(&refused("bad-name", other.as_bytes())).contains(&("package-file", Some(16))));
}

/// Writes the test key with a different certificate.
fn with_certificate(folder: &Path, name: &str) -> std::path::PathBuf {
    let own = fs::read_to_string(data("signer.pem")).unwrap();
    let key = &own[..own.find("-----BEGIN CERTIFICATE-----").unwrap()];
    let path = folder.join(name).with_extension("pem");
    fs::write(&path, format!("{key}{}", fs::read_to_string(data(name)).unwrap())).unwrap();
    path
}

#[test]
fn certificates_that_may_not_sign_code() {
    let folder = tools::folder("bad-certificates");
    for (name, rule) in [
        ("expired.crt", "certificate-expired"),
        ("early.crt", "certificate-not-yet-valid"),
        ("server.crt", "certificate-usage"),
        ("any-use.crt", "certificate-usage"),
        ("no-signatures.crt", "certificate-usage"),
    ] {
        let path = with_certificate(&folder, name);
        let problem = Identity::load(&path, TIME).err().unwrap();
        assert_eq!(problem.rule, rule, "{problem}");
        assert_eq!(problem.file, path.display().to_string());
    }
    let load = |text: &str| {
        let path = folder.join("made.pem");
        fs::write(&path, text).unwrap();
        Identity::load(&path, TIME).err().unwrap()
    };
    let short = Identity::load(&data("short.pem"), TIME).err().unwrap();
    assert_eq!(short.rule, "certificate-key", "{short}");
    let own = fs::read_to_string(data("signer.pem")).unwrap();
    let certificate = &own[own.find("-----BEGIN CERTIFICATE-----").unwrap()..];
    assert_eq!(load(certificate).rule, "certificate-key");
    let foreign = fs::read_to_string(data("short.pem")).unwrap();
    let key = &foreign[..foreign.find("-----BEGIN CERTIFICATE-----").unwrap()];
    assert!(load(&format!("{key}{certificate}")).text.contains("belongs to the private key"));
    assert!(load("0\u{82}").text.contains("openssl pkcs12"));
    assert_eq!(load("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").rule, "certificate-file");
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert!(load(encrypted).text.contains("encrypted"));
    assert!(Identity::load(&folder.join("none.pem"), TIME).is_err());
}

#[test]
fn nothing_is_left_behind_and_the_old_package_stays() {
    let folder = tools::folder("bad-left");
    usual(&folder, Arch::X64);
    let certificate = with_certificate(&folder, "expired.crt");
    let run = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_driver-package");
        let inputs = ["package", "--image", "driver.dll", "--inx", "driver.inx", "--out", "out/x64"];
        let output = Command::new(program).current_dir(&folder).args(inputs).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // An expired certificate.
    let (code, said) = run(&["--kmdf", "1.33", "--cert", certificate.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("expired.pem: error certificate-expired: the certificate expired at 2020-"), "{said}");
    assert!(!folder.join("out").exists());
    // An `.inx` whose `$KMDFVERSION$` has no value.
    let good = data("signer.pem");
    let (code, said) = run(&["--cert", good.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("driver.inx:48: error 1006: `$KMDFVERSION$` has no value"), "{said}");
    assert!(!folder.join("out").exists());
    // An invalid image. The package from an earlier run is not changed.
    assert_eq!(run(&["--kmdf", "1.33", "--cert", good.to_str().unwrap()]).0, Some(0));
    let before = fs::read(folder.join("out/x64/driver.sys")).unwrap();
    fs::write(folder.join("driver.dll"), Driver { subsystem: 2, ..image(Arch::X64) }.build()).unwrap();
    let (code, said) = run(&["--kmdf", "1.33", "--cert", good.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("driver.dll: error subsystem: "), "{said}");
    assert_eq!(fs::read(folder.join("out/x64/driver.sys")).unwrap(), before);
    assert_eq!(names(&folder.join("out")), ["x64"]);
}
