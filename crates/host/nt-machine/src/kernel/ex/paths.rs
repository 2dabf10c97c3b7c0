//! The parts and the spellings of paths in the object manager's namespace.

/// The spellings of the directory of Win32 names.
const WIN32: [&str; 6] = [r"\\.\", r"\\?\", r"\??\", r"\DosDevices\Global\", r"\DosDevices\", r"\GLOBAL??\"];

/// Returns a name with the spelling `\??\` for the directory of Win32 names.
pub(crate) fn canonical(name: &str) -> String {
    let prefix = WIN32.iter().find(|prefix| name.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix)));
    prefix.map_or_else(|| name.to_owned(), |prefix| format!(r"\??\{}", &name[prefix.len()..]))
}

/// Returns the directory of a path.
pub(crate) fn parent(path: &str) -> &str {
    match path.rsplit_once('\\') {
        Some(("", _)) | None => r"\",
        Some((parent, _)) => parent,
    }
}

/// Returns the last part of a path.
pub(crate) fn leaf(path: &str) -> &str {
    path.rsplit_once('\\').map_or(path, |(_, leaf)| leaf)
}
