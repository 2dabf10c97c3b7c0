//! Verifies signatures that any program made: what was signed, who signed it, and whether the file was changed later.
//!
//! [`file()`] verifies an image or a catalog, and [`dir`] verifies a whole package. The result is an [`Account`]
//! with one [`Check`] for each property, with a reason, and a [`Verdict`]. Names never decide: a signature is trusted
//! only if the keys of its chain lead to a root that is pinned here or that the caller gives.

mod account;
mod catalog;
mod certificate;
mod chain;
mod digest;
mod envelope;
mod image;
mod key;
mod pages;
mod roots;
mod signature;
mod timestamp;
mod tlv;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::inf::{Arch, Inf, Text};
use crate::package::has_extension;
use crate::problem::Problem;
use account::Refusal;
pub use account::{Account, Check, Mark, Trust, Verdict};
pub(crate) use catalog::Members;
pub use roots::{Purpose, Root};
pub(crate) use tlv::Field;

/// The time and the trusted roots for which a signature must be valid.
#[derive(Clone, Debug)]
pub struct Context {
    /// The time, since 1970, at which certificates must be valid if the signature has no timestamp.
    pub now: Duration,
    /// Trusted root certificates (DER). If there are any, every chain must end at one of them or at a pinned root.
    pub trusted: Vec<Vec<u8>>,
    /// Roots that are trusted by their keys.
    pub pinned: Vec<Root>,
}

impl Context {
    /// Trusts Microsoft's roots and no others.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Self { now, trusted: Vec::new(), pinned: roots::microsoft() }
    }
}

/// Verifies a file. A file without a signature is valid if the catalog lists it.
#[must_use]
pub fn file(path: &Path, bytes: &[u8], catalog: Option<(&Path, &[u8])>, context: &Context) -> Account {
    let mut account = Account::new(path);
    if has_extension(path, "cat") {
        signed_catalog(&mut account, bytes, context);
        return account;
    }
    let is_image = bytes.starts_with(b"MZ");
    let has_signature = is_image && image::verify(&mut account, bytes, context);
    match catalog {
        Some((place, catalog)) => {
            let mut list = Account::new(place);
            let members = signed_catalog(&mut list, catalog, context);
            let mark = match list.verdict() {
                Verdict::Valid => Mark::Passed,
                Verdict::NotValid => Mark::Failed,
                Verdict::Unjudged => Mark::Unknown,
            };
            account.trust = account.trust.max(list.trust);
            let text = list.objection().map_or_else(|| "its signature is valid".into(), |check| check.text.clone());
            account.add("catalog", mark, format!("{}: {text}", place.display()));
            member(&mut account, place, bytes, members.as_ref());
        }
        None if has_signature => {}
        None if is_image => account.add("signature", Mark::Failed, "the image has none, and no catalog was given"),
        None => account.add("catalog", Mark::Failed, "no catalog was given that lists the file"),
    }
    account
}

/// Returns why the digests in the signature of an image differ from those of the file, or `None` if they are equal or
/// there is no signature.
#[must_use]
pub fn changed(bytes: &[u8]) -> Option<String> {
    let mut account = Account::new(Path::new(""));
    image::compare(&mut account, bytes);
    let is_digest = |check: &Check| check.mark == Mark::Failed && ["digest", "page hashes"].contains(&check.what);
    account.checks.into_iter().find(is_digest).map(|check| check.text)
}

/// Returns the catalog that an INF names, if the bytes are an INF and the catalog exists beside it.
#[must_use]
pub fn catalog_beside(path: &Path, bytes: &[u8]) -> Option<PathBuf> {
    if !has_extension(path, "inf") {
        return None;
    }
    let inf = Text::decode(bytes).and_then(|text| Inf::parse(&text.text)).ok()?;
    let place = path.with_file_name(crate::package::catalog_of(&inf, &[Arch::X64, Arch::Arm64])?);
    place.is_file().then_some(place)
}

/// Verifies a package: each catalog, each image, and each file that an INF installs.
///
/// # Errors
///
/// If the folder or a file cannot be read, or there is no INF.
pub fn dir(dir: &Path, context: &Context) -> Result<Vec<Account>, Problem> {
    let unreadable = |path: &Path, error: &std::io::Error| Problem::access(path, "package-folder", error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|error| unreadable(dir, &error))? {
        let path = entry.map_err(|error| unreadable(dir, &error))?.path();
        if path.is_file() && !has_extension(&path, "pdb") {
            let bytes = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
            files.push((path, bytes));
        }
    }
    files.sort();
    let named = |name: &str| {
        let is_named = |path: &Path| path.file_name().is_some_and(|own| own.eq_ignore_ascii_case(name));
        files.iter().find(|(path, _)| is_named(path))
    };
    let infs: Vec<_> = files.iter().filter(|(path, _)| has_extension(path, "inf")).collect();
    if infs.is_empty() {
        return Err(Problem::error(dir, "package-file", "it has no .inf, so it is not a driver package"));
    }
    let mut accounts: Vec<Account> = Vec::new();
    for (path, bytes) in infs {
        let (catalog, listed) = match Text::decode(bytes).and_then(|text| Inf::parse(&text.text)) {
            Ok(inf) => (crate::package::catalog_of(&inf, &[Arch::X64, Arch::Arm64]), crate::package::files_of(&inf)),
            Err(fault) => return Err(crate::package::describe(path, &fault)),
        };
        let catalog = catalog.and_then(|name| named(&name)).map(|(path, bytes)| (path.as_path(), bytes.as_slice()));
        if let Some((place, bytes)) = catalog {
            accounts.push(file(place, bytes, None, context));
        }
        accounts.push(file(path, bytes, catalog, context));
        for name in listed {
            if let Some((path, bytes)) = named(&name) {
                accounts.push(file(path, bytes, catalog, context));
            } else {
                let mut account = Account::new(&dir.join(&name));
                let inf = path.file_name().unwrap_or_default().display();
                account.add("file", Mark::Failed, format!("{inf} installs it, but it is not in the folder"));
                accounts.push(account);
            }
        }
    }
    accounts.sort_by(|one, other| one.path.cmp(&other.path));
    accounts.dedup_by(|one, other| one.path == other.path);
    Ok(accounts)
}

/// Checks a catalog's signatures and returns the files that it lists.
fn signed_catalog(account: &mut Account, bytes: &[u8], context: &Context) -> Option<Members> {
    let mut list = None;
    envelope::each(account, bytes, |account, envelope| {
        signature::verify(account, envelope, context);
        match Members::read(envelope) {
            Ok(members) => {
                account.add("members", Mark::Note, format!("it lists {} files", members.len()));
                list.get_or_insert(members);
            }
            Err(refusal) => account.refuse("members", &refusal),
        }
    });
    list
}

/// Checks whether a catalog lists a file.
fn member(account: &mut Account, catalog: &Path, bytes: &[u8], members: Option<&Members>) {
    let Some(members) = members else { return };
    let catalog = catalog.file_name().unwrap_or_default().display();
    match members.find(bytes) {
        Some(algorithm) => {
            let mark = if algorithm.is_weak() { Mark::Weak } else { Mark::Passed };
            account.add("member", mark, format!("{catalog} has its {} digest", algorithm.name()));
        }
        None => account.add(
            "member",
            Mark::Failed,
            format!(
                "{catalog} does not have its digest: it is another file, or it was changed after the catalog was made"
            ),
        ),
    }
}
