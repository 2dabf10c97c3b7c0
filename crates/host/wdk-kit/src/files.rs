//! The files of this crate that the kit is made of.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The files below a folder, with their paths inside of it.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(path, text)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *text)))
}

/// Changes with every file of the kit, and with the code that makes it.
pub(crate) fn fingerprint() -> &'static str {
    FINGERPRINT
}
