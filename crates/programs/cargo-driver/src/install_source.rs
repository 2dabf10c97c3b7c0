//! Where this program was installed from, so that a new driver can depend on the same revision.
//!
//! `cargo install` records the source of each program in `.crates2.json`, in the folder above `bin`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use driver_build::Host;
use driver_build::new::Source;
use serde_json::Value;

/// The repository that this program was built in.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// What a new driver depends on: the published crates, a revision of a repository, or a clone on this machine. A program that was not
/// installed, such as one in a target directory, belongs to its clone.
pub(crate) fn find(host: &Host) -> Option<Source> {
    let record = env::current_exe().ok().and_then(|program| recorded(&program));
    let clone = dunce::canonicalize(REPOSITORY).ok();
    let installed = record.and_then(|id| parse(&id).or_else(|| published(host, clone.as_deref()?)));
    installed.or_else(|| clone.map(Source::Path))
}

/// What cargo recorded about the installation of a program: its package id.
fn recorded(program: &Path) -> Option<String> {
    let text = fs::read_to_string(program.parent()?.parent()?.join(".crates2.json")).ok()?;
    let all: Value = serde_json::from_str(&text).ok()?;
    let ids = all.get("installs")?.as_object()?.keys();
    ids.into_iter().find(|id| id.starts_with(concat!(env!("CARGO_PKG_NAME"), " "))).cloned()
}

/// Reads a package id such as `cargo-driver 0.1.0 (git+https://example.com/a.git?branch=main#0123…)`. The source of a clone, which is
/// `path+file:…`, is none: the caller knows the clone.
fn parse(id: &str) -> Option<Source> {
    let mut words = id.splitn(3, ' ');
    let (_, version) = (words.next()?, words.next()?);
    let source = words.next()?.strip_prefix('(')?.strip_suffix(')')?;
    if source.starts_with("registry+") || source.starts_with("sparse+") {
        return Some(Source::Registry { version: version.to_owned() });
    }
    let (url, revision) = source.strip_prefix("git+")?.rsplit_once('#')?;
    let url = url.split('?').next().unwrap_or(url);
    Some(Source::Git { url: url.to_owned(), revision: revision.to_owned() })
}

/// The address and the revision of a clone, if others can fetch this revision: its remote is not a folder of this machine and has the
/// revision.
fn published(host: &Host, clone: &Path) -> Option<Source> {
    let git = |words: &[&str]| {
        let printed = host.tool("git").current_dir(clone).args(words).capture().ok()?;
        Some(printed.trim().to_owned()).filter(|printed| !printed.is_empty())
    };
    let url = git(&["remote", "get-url", "origin"]).filter(|url| url.contains("://") && !url.starts_with("file:"))?;
    let revision = git(&["rev-parse", "HEAD"])?;
    git(&["branch", "--remotes", "--contains", &revision])?;
    Some(Source::Git { url, revision })
}

/// The folder of the repository that this program was built in, for lock files of tested versions.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(REPOSITORY)
}

#[cfg(test)]
mod tests {
    use driver_build::new::Source;

    use super::parse;

    #[test]
    fn the_record_of_cargo_names_the_revision() {
        let git = |url: &str, revision: &str| Some(Source::Git { url: url.into(), revision: revision.into() });
        for (id, source) in [
            ("cargo-driver 0.1.0 (git+https://example.com/a.git#0a1b)", git("https://example.com/a.git", "0a1b")),
            ("cargo-driver 0.1.0 (git+ssh://git@h/a?branch=main#0a1b)", git("ssh://git@h/a", "0a1b")),
            (
                "cargo-driver 0.2.0 (registry+https://github.com/rust-lang/crates.io-index)",
                Some(Source::Registry { version: "0.2.0".into() }),
            ),
            ("cargo-driver 0.1.0 (path+file:///a/crates/programs/cargo-driver)", None),
            ("cargo-driver 0.1.0", None),
        ] {
            assert_eq!(parse(id), source, "{id}");
        }
    }
}
