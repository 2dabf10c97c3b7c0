//! Cargo.lock as text: taking one package out, and comparing two of them.

/// The lock without the entry of a package, so that cargo chooses it anew; all others stay as they are.
pub(super) fn without(lock: &str, package: &str) -> String {
    let name = format!("name = {package:?}");
    blocks(lock).filter(|block| !block.lines().any(|line| line == name)).collect()
}

/// The names of packages that `built` has and `committed` has not, at that version and from that source.
pub(super) fn additions<'a>(built: &'a str, committed: &str) -> Vec<&'a str> {
    let known: Vec<_> = blocks(committed).filter_map(identity).collect();
    blocks(built).filter_map(identity).filter(|new| !known.contains(new)).map(|(name, ..)| name).collect()
}

/// The head and each `[[package]]`.
fn blocks(lock: &str) -> impl Iterator<Item = &str> {
    let mut rest = lock;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.match_indices("[[package]]").map(|(at, _)| at).find(|&at| at > 0).unwrap_or(rest.len());
        let (block, after) = rest.split_at(end);
        rest = after;
        Some(block)
    })
}

/// Name, version, and source if it has one.
fn identity(block: &str) -> Option<(&str, &str, Option<&str>)> {
    let value =
        |key: &str| block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
    block.starts_with("[[package]]").then_some(())?;
    Some((value("name")?, value("version")?, value("source")))
}

#[cfg(test)]
mod tests {
    use super::{additions, without};

    const LOCK: &str = "version = 4\n\n\
        [[package]]\nname = \"wdk\"\nversion = \"0.5.0\"\nsource = \"registry\"\ndependencies = [\n \"wdk-build\",\n]\n\n\
        [[package]]\nname = \"wdk-build\"\nversion = \"0.6.0\"\nsource = \"registry\"\n\n\
        [[package]]\nname = \"wdk-sys\"\nversion = \"0.5.2\"\nsource = \"registry\"\n";

    #[test]
    fn one_package_is_taken_out_and_nothing_else_changes() {
        let text = without(LOCK, "wdk-build");
        assert!(!text.contains("name = \"wdk-build\""));
        assert!(text.starts_with("version = 4\n\n[[package]]\nname = \"wdk\"\n"));
        assert!(text.ends_with("name = \"wdk-sys\"\nversion = \"0.5.2\"\nsource = \"registry\"\n"));
        assert!(text.contains(" \"wdk-build\",\n"), "dependencies are left to cargo");
    }

    #[test]
    fn a_lock_without_the_package_stays_as_it_is() {
        assert_eq!(without(LOCK, "serde"), LOCK);
    }

    #[test]
    fn packages_of_another_version_or_source_are_additions() {
        assert_eq!(additions(LOCK, LOCK), Vec::<&str>::new());
        let changed = LOCK.replace("0.5.2", "0.5.3").replace("0.6.0\"\nsource = \"registry\"", "0.6.0\"");
        assert_eq!(additions(&changed, LOCK), ["wdk-build", "wdk-sys"]);
    }
}
