//! The stand-ins for stampinf and inf2cat make the files that `package` makes, and a program that others wrote signs their catalog.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::common::inputs::{INX, data, names, signer, usual};
use crate::common::tools::folder;
use crate::common::verifiers::{Verdict, ask, program};
use crate::verifiers::list_of;
use driver_package::cli::{inf2cat, stampinf};
use driver_package::inf::Arch;

/// The time of the usual package, as stampinf writes it.
const STAMP: &str = "-d 11/14/2023 -v 22.13.20.0 -a amd64 -c driver.cat -k 1.33";

fn words(line: &str, last: &[String]) -> impl Iterator<Item = OsString> {
    let words: Vec<OsString> = line.split(' ').map(OsString::from).chain(last.iter().map(OsString::from)).collect();
    words.into_iter()
}

fn stamp(file: &Path, line: &str) -> ExitCode {
    stampinf::main(words(&format!("stampinf {line} -f"), &[file.display().to_string()]))
}

fn list(dir: &Path, line: &str) -> ExitCode {
    inf2cat::main(words("inf2cat", &[format!("/driver:{}", dir.display()), line.to_owned()]))
}

/// A list of a catalog without the time at which it was made.
fn timeless(catalog: &[u8]) -> Vec<u8> {
    let mut list = list_of(catalog).to_vec();
    // A UTCTime of 13 characters.
    let time = list.windows(2).position(|window| window == [0x17, 13]).unwrap();
    list.drain(time..time + 15);
    list
}

#[test]
fn a_package_that_the_stand_ins_make_is_that_of_the_program() {
    let inputs = folder("stand-ins-inputs");
    let made = folder("stand-ins-package");
    usual(&inputs, Arch::X64).make(&signer()).unwrap().write(&made).unwrap();
    let dir = folder("stand-ins");
    fs::copy(made.join("driver.sys"), dir.join("driver.sys")).unwrap();
    fs::write(dir.join("driver.inf"), INX).unwrap();
    assert_eq!(stamp(&dir.join("driver.inf"), STAMP), ExitCode::SUCCESS);
    assert_eq!(fs::read(dir.join("driver.inf")).unwrap(), fs::read(made.join("driver.inf")).unwrap());
    assert_eq!(list(&dir, "/os:10_X64"), ExitCode::SUCCESS);
    assert_eq!(names(&dir), ["driver.cat", "driver.inf", "driver.sys"]);
    let own = fs::read(dir.join("driver.cat")).unwrap();
    let signed = fs::read(made.join("driver.cat")).unwrap();
    assert_eq!(timeless(&own), timeless(&signed));
}

#[test]
fn osslsigncode_signs_the_catalog() {
    let Some(program) = program("osslsigncode", &["--version"]) else { return };
    let inputs = folder("stand-ins-signed-inputs");
    let dir = folder("stand-ins-signed");
    usual(&inputs, Arch::X64).make(&signer()).unwrap().write(&dir).unwrap();
    assert_eq!(list(&dir, "/os:10_X64,10_NI_X64"), ExitCode::SUCCESS);
    let at = |name: &str| dir.join(name).display().to_string();
    let pem = fs::read_to_string(data("signer.pem")).unwrap();
    let certificate = &pem[pem.find("-----BEGIN CERTIFICATE-----").unwrap()..];
    fs::write(dir.join("ca.pem"), certificate).unwrap();
    let key = data("signer.pem").display().to_string();
    let ca = at("ca.pem");
    let cat = at("driver.cat");
    let signed = at("signed.cat");
    let sys = at("driver.sys");
    let sign = ["sign", "-h", "sha256", "-certs", &ca, "-key", &key, "-in", &cat, "-out", &signed];
    let (verdict, said) = ask(&program, &sign);
    assert_eq!(verdict, Verdict::Accepted, "{said}");
    let (verdict, said) = ask(&program, &["verify", "-CAfile", &ca, "-catalog", &signed, "-in", &sys]);
    assert_eq!(verdict, Verdict::Accepted, "{said}");
}

#[test]
fn what_is_missing_is_an_error_and_nothing_is_written() {
    let dir = folder("stand-ins-wrong");
    let inf = dir.join("driver.inf");
    let failed = ExitCode::from(1);
    assert_eq!(list(&dir, "/os:10_X64"), failed, "there is no INF");
    for (text, line, what) in [
        (INX, "-d * -v * -a amd64", "$KMDFVERSION$ has no value"),
        ("[Strings]\na = b\n", STAMP, "there is no [Version]"),
    ] {
        fs::write(&inf, text).unwrap();
        assert_eq!(stamp(&inf, line), failed, "{what}");
        assert_eq!(fs::read_to_string(&inf).unwrap(), text, "{what}");
    }
    fs::write(&inf, INX).unwrap();
    assert_eq!(stamp(&inf, STAMP), ExitCode::SUCCESS);
    assert_eq!(list(&dir, "/os:10_X64"), failed, "driver.sys is missing");
    fs::write(dir.join("driver.sys"), "x").unwrap();
    assert_eq!(stamp(&inf, "-d 01/01/2999 -v 1.0 -a amd64 -k 1.33"), ExitCode::SUCCESS);
    assert_eq!(list(&dir, "/os:10_X64"), failed, "a date in the future");
    assert_eq!(stamp(&inf, STAMP), ExitCode::SUCCESS);
    assert_eq!(list(&dir, "/nocat"), failed, "no version of Windows");
    assert_eq!(names(&dir), ["driver.inf", "driver.sys"]);
    // A catalog never replaces another file.
    let stamped = fs::read_to_string(&inf).unwrap();
    for name in ["driver.sys", "driver.inf", "../driver.cat", r"..\driver.cat", "driver"] {
        let text = stamped.replace("driver.cat", name);
        assert_ne!(text, stamped);
        fs::write(&inf, &text).unwrap();
        assert_eq!(list(&dir, "/os:10_X64"), failed, "{name}");
        assert_eq!(names(&dir), ["driver.inf", "driver.sys"]);
        assert_eq!(fs::read_to_string(&inf).unwrap(), text);
        assert_eq!(fs::read(dir.join("driver.sys")).unwrap(), b"x", "{name}");
    }
}

#[cfg(unix)]
#[test]
fn replaced_files_keep_their_mode_and_their_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let dir = folder("stand-ins-modes");
    let inf = dir.join("driver.inf");
    let link = dir.join("link.inf");
    let other = dir.join("driver.inf.new");
    fs::write(&inf, INX).unwrap();
    fs::write(&other, "mine").unwrap();
    fs::set_permissions(&inf, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&inf, &link).unwrap();
    assert_eq!(stamp(&link, STAMP), ExitCode::SUCCESS);
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&inf).unwrap() != INX);
    assert_eq!(fs::metadata(&inf).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(other).unwrap(), "mine");
    assert_eq!(names(&dir), ["driver.inf", "driver.inf.new", "link.inf"]);
}
