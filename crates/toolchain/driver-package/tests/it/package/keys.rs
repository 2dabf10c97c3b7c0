//! No private key becomes part of a package, however it is written.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use der::pem::{LineEnding, encode_string};
use driver_package::inf::Arch;
use driver_package::package::Request;
use driver_package::sign::sign_image;
use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};
use rsa::pkcs1::EncodeRsaPrivateKey as _;
use rsa::pkcs8::EncodePrivateKey as _;
use rsa::traits::{PrivateKeyParts as _, PublicKeyParts as _};

use crate::chains::key;
use crate::common::inputs::{INX, image, request, signer};
use crate::common::verifiers::program;
use crate::common::{put, tools};

/// A package whose `firmware.bin` a test writes.
struct Firmware(PathBuf, Request);

impl Firmware {
    fn new(name: &str) -> Self {
        let folder = tools::folder(name);
        let inx = INX.replace("driver.sys = 1\n", "driver.sys = 1\nfirmware.bin = 1\n");
        let request = request(&folder, &image(Arch::X64).build(), inx.as_bytes());
        Self(folder, request)
    }

    /// Returns why the package is refused with this content, or `None` if it is made.
    fn refused(&self, content: &[u8]) -> Option<String> {
        fs::write(self.0.join("firmware.bin"), content).unwrap();
        let problems = self.1.make(&signer()).err()?;
        assert_eq!(problems.0[0].rule.as_str(), "private-key");
        assert_eq!(problems.0[0].file.as_str(), "firmware.bin");
        Some(problems.to_string())
    }
}

fn base64(bytes: &[u8]) -> String {
    let pem = encode_string("X", LineEnding::LF, bytes).unwrap();
    pem.lines().filter(|line| !line.starts_with("-----")).collect::<Vec<_>>().join("\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // With a name in its header.
    [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], b"key.der\0", &compress_to_vec(bytes, 6), &[0; 8]].concat()
}

fn zip(bytes: &[u8]) -> Vec<u8> {
    let packed = compress_to_vec(bytes, 6);
    let mut header = vec![0; 30];
    put(&mut header, 0, b"PK\x03\x04");
    put(&mut header, 8, &8_u16.to_le_bytes());
    put(&mut header, 26, &3_u16.to_le_bytes());
    [&header[..], b"key", &packed].concat()
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn hex(bytes: &[u8], between: &str) -> Vec<u8> {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(between).into_bytes()
}

#[test]
fn the_key_that_signs_is_found_in_every_encoding() {
    let firmware = Firmware::new("keys-own");
    let key = key("signer.pem");
    let pkcs8 = key.to_pkcs8_der().unwrap();
    let pkcs1 = key.to_pkcs1_der().unwrap();
    let pem = encode_string("PRIVATE KEY", LineEnding::LF, pkcs8.as_bytes()).unwrap();
    let prime = key.primes()[0].to_bytes_be();
    let little: Vec<u8> = prime.iter().rev().copied().collect();
    let words = format!("the key is {}", base64(pkcs1.as_bytes()));
    let after = |bytes: &[u8]| [&[0xa5; 1001][..], bytes, b"and more"].concat();
    for (what, content) in [
        ("PKCS #8", pkcs8.as_bytes().to_vec()),
        ("PKCS #1", pkcs1.as_bytes().to_vec()),
        ("after other bytes", after(pkcs1.as_bytes())),
        ("one number", after(&prime)),
        ("one number, as CryptoAPI writes it", after(&little)),
        ("the exponent", after(&key.d().to_bytes_be())),
        ("PEM", pem.clone().into_bytes()),
        ("PEM of Windows", pem.replace('\n', "\r\n").into_bytes()),
        ("PEM in UTF-16LE", utf16(&format!("\u{feff}{pem}"), u16::to_le_bytes)),
        ("PEM in UTF-16BE", utf16(&pem, u16::to_be_bytes)),
        ("base64", base64(pkcs8.as_bytes()).into_bytes()),
        ("base64 after words", words.clone().into_bytes()),
        ("base64 in UTF-16", utf16(&words, u16::to_le_bytes)),
        ("base64 of PEM", base64(pem.as_bytes()).into_bytes()),
        ("base64url", base64(pkcs1.as_bytes()).replace('+', "-").replace('/', "_").into_bytes()),
        ("hex", hex(pkcs1.as_bytes(), "")),
        ("hex with colons", hex(&prime, ":")),
        ("an array of C", [b"{ 0x", &hex(pkcs1.as_bytes(), ", 0x")[..], b" }"].concat()),
        ("gzip", gzip(pkcs1.as_bytes())),
        ("gzip of PEM, after other bytes", after(&gzip(pem.as_bytes()))),
        ("base64 of gzip", base64(&gzip(pkcs8.as_bytes())).into_bytes()),
        ("zip", zip(pkcs8.as_bytes())),
        ("zlib", compress_to_vec_zlib(pkcs1.as_bytes(), 6)),
        ("zlib without compression, after other bytes", after(&compress_to_vec_zlib(pem.as_bytes(), 0))),
        ("base64 of zlib", base64(&compress_to_vec_zlib(pkcs8.as_bytes(), 9)).into_bytes()),
        // A program that parses keys contains such words, but not this key.
        ("in an image", [&image(Arch::X64).build()[..], pkcs1.as_bytes()].concat()),
    ] {
        assert!(firmware.refused(&content).is_some(), "{what}");
    }
}

#[test]
fn keys_of_others_are_found_by_their_containers() {
    let firmware = Firmware::new("keys-others");
    let key = key("short.pem");
    let pkcs8 = key.to_pkcs8_der().unwrap();
    let pkcs1 = key.to_pkcs1_der().unwrap();
    let curve =
        [&[0x30, 0x31, 2, 1, 1, 4, 0x20][..], &[7; 32], b"\xa0\x0a\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"].concat();
    let encrypted = b"\x30\x1d\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d\x30\x00\x04\x0c0123456789ab";
    let pfx = b"\x30\x80\x02\x01\x03\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x80\x24\x80";
    let blob = [b"\x07\x02\0\0\0\x24\0\0RSA2\0\x04\0\0\x01\0\x01\0".to_vec(), key.n().to_bytes_le()].concat();
    for (content, said) in [
        (pkcs8.as_bytes().to_vec(), "PKCS #8"),
        (pkcs1.as_bytes().to_vec(), "PKCS #1"),
        ([&[0; 99][..], &gzip(pkcs1.as_bytes())].concat(), "PKCS #1"),
        (curve, "SEC 1"),
        (encrypted.to_vec(), "an encrypted private key"),
        (pfx.to_vec(), "PKCS #12"),
        (blob, "CryptoAPI"),
        (b"\x1e\xf1\xb5\xb0\0\0\0\0\x02\0\0\0".to_vec(), ".pvk"),
        (b"openssh-key-v1\0\0\0\0\x04none".to_vec(), "OpenSSH"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\n".to_vec(), "PEM"),
        (b"PuTTY-User-Key-File-3: ssh-rsa".to_vec(), "PuTTY"),
        (b"{ \"kty\": \"EC\", \"crv\": \"P-256\", \"d\": \"870M\" }".to_vec(), "JSON Web Key"),
        (b"<RSAKeyValue><Modulus>AA</Modulus><D>AA</D></RSAKeyValue>".to_vec(), "XML"),
    ] {
        let text = firmware.refused(&content);
        assert!(text.as_ref().is_some_and(|text| text.contains(said)), "{said}: {text:?}");
    }
}

/// Three lines of `PuTTY-User-Key-File-3: ssh-rsa`, as other programs pack them.
const PACKED: [(&str, &str); 5] = [
    (
        "xz",
        "fd377a585a000004e6d6b4460200210116000000742fe5a3e0005c00275d00281d469859168fa9612962affaeec52e6cf7e207348f63c22e\
         ce3a5ee49bd93361f9f4121100000000f80fe6f522b0595e0001435da48408ee1fb6f37d010000000004595a",
    ),
    (
        "xz --check=sha256 --delta=dist=2 --x86 --lzma2=preset=1",
        "fd377a585a00000ae1fb0ca103020301010400210110000032e4b5c8e0005c002b5d00281d3c8e00ab72938ea803941697a7868c6bc91af6\
         4690e3e6e793e2c0d9adb65293c6a6e5537932ec000000002bcfcc4addea3f56746823fbee33ccf239f5bbd27ef3cab31bae5dc4f305b7ab\
         0001635d06a08c7b189b4b9a01000000000a595a",
    ),
    (
        "bzip2",
        "425a6839314159265359decb754f000011df800010400208100108462022641a202000419ffaa5068d0623d42984d3406989d367697ab2ea\
         b9464aa576884a50c2184acdde2547c951f8bb9229c28486f65baa78",
    ),
    ("zlib", "78da0b280d0989d40d2d4e2dd2f54eadd475cbcc49d535b652282eced02d2a4ee40aa0481a009d781e4f"),
    (
        "zlib with a small window",
        "18d30b280d0989d40d2d4e2dd2f54eadd475cbcc49d535b652282eced02d2a4ee40aa0481a009d781e4f",
    ),
];

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap();
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[test]
fn keys_that_other_programs_packed_are_found() {
    let firmware = Firmware::new("keys-packed");
    for (program, digits) in PACKED {
        let packed = from_hex(digits);
        let after = [&[0x78; 1001][..], &packed].concat();
        for content in [packed.clone(), after, base64(&gzip(&packed)).into_bytes()] {
            let text = firmware.refused(&content);
            assert!(text.as_ref().is_some_and(|text| text.contains("PuTTY")), "{program}: {text:?}");
        }
        // Without its last bytes, a stream ends unexpectedly. bzip2 unpacks only whole blocks.
        if program != "bzip2" {
            assert!(firmware.refused(&packed[..packed.len() - 4]).is_some(), "{program}, cut");
        }
    }
}

#[test]
fn xz_data_that_cannot_be_searched_is_refused() {
    let firmware = Firmware::new("keys-memory");
    // `xz --lzma2=dict=1536MiB`.
    let (header, rest) = PACKED[0].1.split_at(24);
    let large = format!("{header}02002101250000003b787b41{}", &rest[24..]);
    let text = firmware.refused(&from_hex(&large));
    assert!(text.as_ref().is_some_and(|text| text.contains("more than 128 MiB")), "{text:?}");
    // A check of a later version of the format, with the checksum of the header.
    let unknown = format!("fd377a585a000002d373d7af{rest}");
    let text = firmware.refused(&from_hex(&unknown));
    assert!(text.as_ref().is_some_and(|text| text.contains("an unknown check")), "{text:?}");
    // The driver may look for such data, too.
    assert_eq!(firmware.refused(b"\xfd7zXZ\0 is the magic number of xz, BZh91AY&SY of bzip2"), None);
}

#[test]
fn keys_that_openssl_writes_are_found() {
    if program("openssl", &["version"]).is_none() {
        return;
    }
    let firmware = Firmware::new("keys-openssl");
    let run = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = Command::new("openssl").current_dir(&firmware.0).args(&words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=x -keyout rsa.pem -out rsa.crt");
    run("ecparam -name prime256v1 -genkey -noout -out ec.pem");
    run("genpkey -algorithm ed25519 -out ed.pem");
    for words in [
        "pkcs12 -export -inkey rsa.pem -in rsa.crt -passout pass:x -out out",
        "pkcs8 -topk8 -in rsa.pem -outform DER -passout pass:x -out out",
        "pkcs8 -topk8 -nocrypt -in ec.pem -outform DER -out out",
        "ec -in ec.pem -outform DER -out out",
        "pkey -in ed.pem -outform DER -out out",
        "rsa -in rsa.pem -traditional -outform DER -out out",
    ] {
        run(words);
        let content = fs::read(firmware.0.join("out")).unwrap();
        assert!(firmware.refused(&content).is_some(), "{words}");
        assert!(firmware.refused(base64(&content).as_bytes()).is_some(), "{words}, in base64");
    }
    // A certificate and a public key are not secret.
    for words in ["x509 -in rsa.crt -outform DER -out out", "rsa -in rsa.pem -pubout -outform DER -out out"] {
        run(words);
        assert_eq!(firmware.refused(&fs::read(firmware.0.join("out")).unwrap()), None, "{words}");
    }
}

#[test]
fn what_is_not_a_key_is_packaged() {
    let firmware = Firmware::new("keys-none");
    let signed = sign_image(&image(Arch::X64).build(), &signer()).unwrap();
    for content in [
        b"microcode".to_vec(),
        [&signed[..], b"-----BEGIN PRIVATE KEY-----"].concat(),
        signer().to_cer().unwrap(),
        encode_string("CERTIFICATE", LineEnding::LF, &signer().to_cer().unwrap()).unwrap().into_bytes(),
        (0..60_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect(),
        vec![0x30; 20_000],
        gzip(&vec![0; 100_000]),
    ] {
        assert_eq!(firmware.refused(&content), None);
    }
}
