//! Finds private keys, so that none becomes part of a package.
//!
//! A file is searched as it is and as what it encodes: UTF-16, base64, hexadecimal digits and compressed data, in each other.
//! The key that signs is found by its numbers, whatever surrounds them. Other keys are found by the containers that
//! programs write. `docs/packaging.md` lists what is not recognised.

mod streams;
mod views;

use std::fs;
use std::path::Path;

use der::Tag;
use der::asn1::ObjectIdentifier;
use memchr::memmem;

use super::extras::File;
use crate::problem::Problem;
use crate::sign::{Identity, oid};
use crate::verify::Field;

/// Extensions of files that contain private keys.
const EXTENSIONS: [&str; 8] = ["pfx", "p12", "pvk", "pem", "key", "snk", "ppk", "jwk"];

/// Texts in files with keys. An image may contain them, for example if the driver parses such files.
const TEXTS: [(&[&str], &str); 6] = [
    (&["PRIVATE KEY-----"], "a private key in PEM"),
    (&["BEGIN SSH2 ENCRYPTED PRIVATE KEY"], "a private key of SSH"),
    (&["PuTTY-User-Key-File-"], "a private key of PuTTY"),
    (&["PGP PRIVATE KEY BLOCK-----"], "a private key of PGP"),
    (&["\"kty\"", "\"d\""], "a private key as JSON Web Key"),
    (&["<RSAKeyValue", "<D>"], "a private key as XML"),
];

/// The first bytes of containers.
const STARTS: [(&[u8], &str); 4] = [
    (b"openssh-key-v1\0", "a private key of OpenSSH"),
    // The magic number and a reserved field.
    (&[0x1e, 0xf1, 0xb5, 0xb0, 0, 0, 0, 0], "a private key of a .pvk file"),
    // `PRIVATEKEYBLOB` for key exchange and for signatures, then `RSA2`.
    (b"\x07\x02\0\0\0\xa4\0\0RSA2", "a private key of CryptoAPI"),
    (b"\x07\x02\0\0\0\x24\0\0RSA2", "a private key of CryptoAPI"),
];

/// Rejects a file that is or contains a private key. `identity` is the one that signs the package, if it is known.
pub(super) fn refuse(dir: &Path, files: &[File], identity: Option<&Identity>) -> Result<(), Problem> {
    let secrets = identity.map(Identity::secrets).unwrap_or_default();
    files.iter().try_for_each(|(name, bytes)| check(&dir.join(name), bytes, &secrets))
}

/// Rejects a folder that has a private key in one of its files, at any depth. Links to folders are not followed.
pub(super) fn refuse_in(dir: &Path) -> Result<(), Problem> {
    let unreadable = |path: &Path, error: &std::io::Error| Problem::access(path, "package-folder", error);
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).map_err(|error| unreadable(&dir, &error))? {
            let entry = entry.map_err(|error| unreadable(&dir, &error))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else if path.is_file() {
                check(&path, &fs::read(&path).map_err(|error| unreadable(&path, &error))?, &[])?;
            }
        }
    }
    Ok(())
}

fn check(path: &Path, bytes: &[u8], secrets: &[Vec<u8>]) -> Result<(), Problem> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let named = EXTENSIONS.contains(&extension.as_str()).then_some("what its name says is a private key");
    let Some(what) = named.or_else(|| key_in(bytes, secrets)) else { return Ok(()) };
    let text = format!(
        "it contains {what}, or looks like it; packages are copied to other machines, so they must not contain keys"
    );
    Err(Problem::error(path, "private-key", text))
}

/// Returns what kind of key a file contains.
fn key_in(bytes: &[u8], secrets: &[Vec<u8>]) -> Option<&'static str> {
    let is_image = bytes.starts_with(b"MZ");
    views::find(bytes, &mut |view| {
        let has = |needle: &[u8]| memmem::find(view, needle).is_some();
        if secrets.iter().any(|secret| has(secret)) {
            return Some("the key that signs the package");
        }
        let is_text = |(texts, _): &&(&[&str], &str)| texts.iter().all(|text| has(text.as_bytes()));
        let text = TEXTS.iter().find(is_text).filter(|_| !is_image).map(|(_, what)| *what);
        let start = || STARTS.iter().find(|(start, _)| has(start)).map(|(_, what)| *what);
        text.or_else(start).or_else(|| structure(view))
    })
}

/// The contents of a PKCS #12 file: version 3, then an envelope. Windows writes it without lengths, so that it is not DER.
const PFX: [u8; 3] = [0x02, 0x01, 0x03];
const ENVELOPE: [u8; 10] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07];

/// Finds the structures of private keys anywhere in the bytes.
fn structure(bytes: &[u8]) -> Option<&'static str> {
    for place in memmem::find_iter(bytes, &ENVELOPE) {
        // Between them are a tag and a length of one to five bytes.
        let before = bytes.get(place.saturating_sub(PFX.len() + 6)..place).unwrap_or_default();
        if memmem::find(before, &[&PFX[..], &[0x30]].concat()).is_some() {
            return Some("a PKCS #12 file");
        }
    }
    memchr::memchr_iter(0x30, bytes).find_map(|place| key_at(bytes.get(place..)?))
}

/// Recognises a key that begins here.
fn key_at(bytes: &[u8]) -> Option<&'static str> {
    // Most bytes 0x30 are not the beginning of a sequence of numbers or sequences.
    let length = match *bytes.get(1)? {
        1..=0x7f => 2,
        long @ 0x81..=0x83 => 2 + usize::from(long & 7),
        _ => return None,
    };
    if !matches!(bytes.get(length)?, 0x02 | 0x30) {
        return None;
    }
    let (whole, _) = Field::first(bytes).ok()?;
    let fields = whole.fields(Tag::Sequence).ok()?;
    let tags: Vec<Tag> = fields.iter().map(|field| field.tag).collect();
    let version = fields.first().map(|field| field.value).filter(|value| matches!(value, [0 | 1]));
    let kind = |index: usize| -> Option<ObjectIdentifier> {
        let (first, _) = Field::first(fields.get(index)?.value).ok()?;
        first.decode().ok()
    };
    match tags.as_slice() {
        [Tag::Integer, Tag::Sequence, Tag::OctetString, ..] if version.is_some() => {
            kind(1).map(|_| "a private key in PKCS #8")
        }
        [Tag::Integer, Tag::OctetString, Tag::ContextSpecific { .. }, ..] if version.is_some() => {
            fields.get(1).is_some_and(|secret| secret.value.len() >= 20).then_some("a private key in SEC 1")
        }
        // RSA has eight numbers, DSA five.
        [Tag::Integer, rest @ ..] if version.is_some() && rest.len() >= 5 && whole.raw.len() > 100 => {
            rest.iter().all(|tag| *tag == Tag::Integer).then_some("a private key in PKCS #1")
        }
        [Tag::Sequence, Tag::OctetString] => {
            let parent = kind(0)?.to_string();
            let is_encryption = oid::PASSWORD_ENCRYPTION.iter().any(|each| parent.starts_with(each));
            is_encryption.then_some("an encrypted private key in PKCS #8")
        }
        _ => None,
    }
}
