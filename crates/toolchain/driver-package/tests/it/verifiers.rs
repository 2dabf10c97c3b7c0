//! Other programs accept what is signed here, and reject it after one byte is changed.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::inputs::{INX, data, image, signer, usual};
use crate::common::tools;
use crate::common::verifiers::{Verdict, ask, program, python, root, script};
use driver_package::catalog::Version;
use driver_package::inf::Arch;
use driver_package::package::Request;

/// A package on disk, with its certificate as PEM.
struct Signed {
    folder: PathBuf,
    name: &'static str,
}

impl Signed {
    fn path(&self, extension: &str) -> String {
        self.folder.join(self.name).with_extension(extension).to_str().unwrap().to_owned()
    }

    fn certificate(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a copy of a file with one byte changed.
    fn changed(&self, extension: &str, place: impl FnOnce(&[u8]) -> usize) -> String {
        let mut bytes = fs::read(self.path(extension)).unwrap();
        let place = place(&bytes);
        bytes[place] ^= 1;
        let path = self.folder.join("changed").with_extension(extension);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Creates packages for both architectures and both catalog versions, and of the sample driver if it has been built.
fn packages(test: &str) -> Vec<Signed> {
    let place = tools::folder(test);
    let mut made = Vec::new();
    for (arch, version) in [(Arch::X64, Version::V2), (Arch::Arm64, Version::V2), (Arch::X64, Version::V1)] {
        let inputs = tools::folder(&format!("{test}-inputs-{}-{version:?}", arch.name()));
        let request = Request { catalog: version, ..usual(&inputs, arch) };
        made.push(write(&request, place.join(format!("{}-{version:?}", arch.name())), "driver"));
    }
    for arch in [Arch::X64, Arch::Arm64] {
        let built = root().join("target/driver").join(arch.name()).join("driver_sample.sys");
        let inx = root().join("driver-sample/driver_sample.inx");
        if built.is_file() {
            let inputs = tools::folder(&format!("{test}-inputs-sample-{}", arch.name()));
            let request = Request { image: built, inx, ..usual(&inputs, arch) };
            made.push(write(&request, place.join(format!("sample-{}", arch.name())), "driver_sample"));
        }
    }
    made
}

fn write(request: &Request, folder: PathBuf, name: &'static str) -> Signed {
    let identity = signer();
    request.make(&identity).unwrap().write(&folder).unwrap();
    let own = fs::read_to_string(data("signer.pem")).unwrap();
    let certificate = &own[own.find("-----BEGIN CERTIFICATE-----").unwrap()..];
    fs::write(folder.join("signer.pem"), certificate).unwrap();
    Signed { folder, name }
}

/// Builds a command line.
fn words(first: &[&str], rest: &[&str]) -> Vec<String> {
    first.iter().chain(rest).map(|word| String::from(*word)).collect()
}

fn accepts<A: AsRef<OsStr> + Debug>(program: &Path, arguments: &[A]) {
    let (verdict, said) = ask(program, arguments);
    assert_eq!(verdict, Verdict::Accepted, "{} {arguments:?}\n{said}", program.display());
}

fn refuses<A: AsRef<OsStr> + Debug>(program: &Path, arguments: &[A]) {
    let (verdict, said) = ask(program, arguments);
    assert_eq!(verdict, Verdict::Refused, "{} {arguments:?}\n{said}", program.display());
    assert!(!said.contains("Traceback"), "it failed for another reason:\n{said}");
    assert!(!said.contains("Usage"), "it failed for another reason:\n{said}");
}

/// Returns a position in the code of every test image.
fn in_code(_: &[u8]) -> usize {
    0x480
}

/// Returns a position in the digest of a member: after the start of the list, before the certificate.
fn in_list(bytes: &[u8]) -> usize {
    let needle = [0x82, 0x37, 12, 1]; // In the object identifier of the member's algorithm.
    bytes.windows(4).rposition(|window| window == needle).unwrap() + 40
}

/// Returns a position in the last bytes of the signature itself.
fn in_signature(bytes: &[u8]) -> usize {
    bytes.len() - 9
}

#[test]
fn osslsigncode() {
    let Some(program) = program("osslsigncode", &["--version"]) else { return };
    for each in packages("osslsigncode") {
        let certificate = each.certificate("signer.pem");
        let sys = each.path("sys");
        let cat = each.path("cat");
        let verify = |rest: &[&str]| words(&["verify", "-CAfile", &certificate], rest);
        accepts(&program, &verify(&["-in", &sys]));
        accepts(&program, &verify(&["-in", &cat]));
        accepts(&program, &verify(&["-catalog", &cat, "-in", &sys]));
        refuses(&program, &verify(&["-in", &each.changed("sys", in_code)]));
        refuses(&program, &verify(&["-catalog", &cat, "-in", &each.changed("sys", in_code)]));
        refuses(&program, &verify(&["-in", &each.changed("cat", in_signature)]));
        refuses(&program, &verify(&["-in", &each.changed("cat", in_list)]));
    }
}

#[test]
fn signify() {
    let Some(program) = python("import signify, oscrypto") else { return };
    for each in packages("signify") {
        let own = script("signify_verify.py");
        let cer = each.certificate("signer.cer");
        let sys = each.path("sys");
        let inf = each.path("inf");
        let cat = each.path("cat");
        let verify = |rest: &[&str]| words(&[&own, &cer], rest);
        let good = [
            verify(&["image", &sys]),
            verify(&["catalog", &cat]),
            verify(&["through", &cat, &sys]),
            verify(&["through", &cat, &inf]),
        ];
        let bad_sys = each.changed("sys", in_code);
        let bad_inf = each.changed("inf", |bytes| bytes.len() / 2);
        let mut bad = vec![
            verify(&["image", &bad_sys]),
            verify(&["through", &cat, &bad_sys]),
            verify(&["through", &cat, &bad_inf]),
        ];
        for place in [in_list, in_signature] {
            let changed = each.changed("cat", place);
            let copy = changed.replace("changed.cat", &format!("changed-{}.cat", bad.len()));
            fs::rename(changed, &copy).unwrap();
            bad.push(verify(&["catalog", &copy]));
            bad.push(verify(&["through", &copy, &inf]));
        }
        for arguments in good {
            accepts(&program, &arguments);
        }
        for arguments in bad {
            refuses(&program, &arguments);
        }
    }
}

#[test]
fn openssl() {
    let Some(program) = program("openssl", &["version"]) else { return };
    for each in packages("openssl") {
        let certificate = each.certificate("signer.pem");
        // The content is not an octet string, so openssl needs it separately, without tag and length.
        let content = each.folder.join("content").to_str().unwrap().to_owned();
        let check = |cat: &str, expected: Verdict| {
            let bytes = fs::read(cat).unwrap();
            fs::write(&content, list_of(&bytes)).unwrap();
            let flags = ["smime", "-verify", "-inform", "DER", "-purpose", "any", "-out", "/dev/null"];
            let files = ["-in", cat, "-content", &content, "-CAfile", &certificate];
            let (verdict, said) = ask(&program, &[&flags[..], &files[..]].concat());
            assert_eq!(verdict, expected, "{said}");
        };
        check(&each.path("cat"), Verdict::Accepted);
        check(&each.changed("cat", in_list), Verdict::Refused);
        check(&each.changed("cat", in_signature), Verdict::Refused);
    }
}

/// Returns the signed list in a catalog, without tag and length: after its object identifier and two headers of four
/// bytes.
pub(crate) fn list_of(catalog: &[u8]) -> &[u8] {
    let kind = [6, 9, 0x2b, 6, 1, 4, 1, 0x82, 0x37, 10, 1];
    let start = catalog.windows(kind.len()).position(|window| window == kind).unwrap() + kind.len() + 4;
    let length = usize::from(catalog[start + 2]) << 8 | usize::from(catalog[start + 3]);
    assert_eq!(catalog[start..start + 2], [0x30, 0x82]);
    &catalog[start + 4..start + 4 + length]
}

#[test]
fn sbverify() {
    let Some(program) = program("sbverify", &["--version"]) else { return };
    for each in packages("sbverify") {
        let certificate = each.certificate("signer.pem");
        accepts(&program, &["--cert", &certificate, &each.path("sys")]);
        refuses(&program, &["--cert", &certificate, &each.changed("sys", in_code)]);
    }
}

#[test]
fn lief() {
    let Some(program) = python("import lief") else { return };
    for each in packages("lief") {
        let own = script("lief_verify.py");
        accepts(&program, &[&own, &each.path("sys")]);
        refuses(&program, &[&own, &each.changed("sys", in_code)]);
        refuses(&program, &[&own, &each.changed("sys", |bytes| bytes.len() - 9)]);
    }
}

/// Other programs accept the golden files of `catalog.rs`.
#[test]
fn the_golden_catalogs_vouch_for_their_files() {
    let folder = tools::folder("golden");
    let own = fs::read_to_string(data("signer.pem")).unwrap();
    fs::write(folder.join("ca.pem"), &own[own.find("-----BEGIN CERTIFICATE-----").unwrap()..]).unwrap();
    fs::write(folder.join("driver.sys"), image(Arch::X64).build()).unwrap();
    fs::write(folder.join("driver.inf"), INX).unwrap();
    fs::write(folder.join("ca.cer"), signer().to_cer().unwrap()).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for name in ["golden-v1.cat", "golden-v2.cat"] {
        let golden = data(name).to_str().unwrap().to_owned();
        if let Some(program) = program("osslsigncode", &["--version"]) {
            let arguments = ["verify", "-CAfile", &file("ca.pem"), "-catalog", &golden, "-in", &file("driver.sys")];
            accepts(&program, &arguments);
        }
        if let Some(program) = python("import signify, oscrypto") {
            for member in ["driver.sys", "driver.inf"] {
                let own = script("signify_verify.py");
                accepts(&program, &[&own, &file("ca.cer"), "through", &golden, &file(member)]);
            }
        }
    }
}
