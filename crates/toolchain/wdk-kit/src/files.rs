//! The files of this crate that the kit is made of.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Returns the files below a folder: their paths inside of the folder, and their texts.
pub(crate) fn below(dir: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(path, text)| Some((path.strip_prefix(dir)?.strip_prefix('/')?, *text)))
}

/// Returns a hash of all files of the kit and of the code that makes the kit.
pub(crate) fn fingerprint() -> &'static str {
    FINGERPRINT
}
