//! Names and GUIDs of well-known providers, as Windows registers them.
//!
//! The GUID of a manifest provider cannot be computed from its name, unlike that of an `EventSource` or a TraceLogging provider.

use std::collections::HashMap;
use std::sync::LazyLock;

use etw_types::Guid;

/// One provider per line: name and GUID.
const TEXT: &str = include_str!("providers.txt");

static BY_GUID: LazyLock<HashMap<Guid, &'static str>> =
    LazyLock::new(|| all().map(|(name, guid)| (guid, name)).collect());

/// Returns all well-known providers, ordered by name.
pub fn all() -> impl Iterator<Item = (&'static str, Guid)> {
    let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, guid) = line.rsplit_once(' ')?;
        Some((name, Guid::parse(guid).ok()?))
    })
}

/// Returns the name of a well-known provider.
#[must_use]
pub fn name(guid: &Guid) -> Option<&'static str> {
    BY_GUID.get(guid).copied()
}

/// Returns the GUID of a well-known provider. Names do not depend on case.
#[must_use]
pub fn guid(name: &str) -> Option<Guid> {
    all().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, guid)| guid)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use etw_types::Guid;

    use super::{TEXT, all, guid, name};

    #[test]
    fn every_line_is_a_provider_and_none_is_there_twice() {
        let lines = TEXT.lines().filter(|line| !line.starts_with('#')).count();
        let names: HashSet<String> = all().map(|(name, _)| name.to_lowercase()).collect();
        let guids: HashSet<Guid> = all().map(|(_, guid)| guid).collect();
        assert_eq!(names.len(), lines);
        assert_eq!(guids.len(), lines);
        assert!(all().map(|(name, _)| name.to_lowercase()).is_sorted());
    }

    #[test]
    fn a_provider_is_found_by_name_and_by_guid() {
        let process = Guid::parse("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716").unwrap();
        assert_eq!(guid("microsoft-windows-kernel-process"), Some(process));
        assert_eq!(name(&process), Some("Microsoft-Windows-Kernel-Process"));
        assert_eq!(guid("MyDriver"), None);
        assert_ne!(Guid::from_name("Microsoft-Windows-Kernel-Process"), process, "the name's hash is another GUID");
    }
}
