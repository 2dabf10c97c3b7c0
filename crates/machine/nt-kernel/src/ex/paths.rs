//! The parts and the spellings of paths in the object manager's namespace.

/// The spellings of the directory of Win32 names.
const WIN32: [&str; 6] = [r"\\.\", r"\\?\", r"\??\", r"\DosDevices\Global\", r"\DosDevices\", r"\GLOBAL??\"];

/// Returns a name with the spelling `\??\` for the directory of Win32 names.
pub(crate) fn canonical(name: &str) -> String {
    let prefix = WIN32.iter().find(|prefix| name.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix)));
    prefix.map_or_else(|| name.to_owned(), |prefix| format!(r"\??\{}", &name[prefix.len()..]))
}

/// Symbolic links of the system to directories: the namespaces of processes in other sessions lead to the global one.
const LINKS: [(&str, &str); 2] =
    [(r"\BaseNamedObjects\Global", r"\BaseNamedObjects"), (r"\BaseNamedObjects\Local", r"\BaseNamedObjects")];

/// Follows the symbolic links of the system.
pub(crate) fn follow_links(path: &str) -> String {
    let rest = |link: &str| {
        let (start, rest) = path.split_at_checked(link.len())?;
        (start.eq_ignore_ascii_case(link) && (rest.is_empty() || rest.starts_with('\\'))).then_some(rest)
    };
    let followed = LINKS.iter().find_map(|(link, target)| Some(format!("{target}{}", rest(link)?)));
    followed.unwrap_or_else(|| path.to_owned())
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
