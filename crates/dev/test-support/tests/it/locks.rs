//! The drivers of this repository depend on the same versions. Drivers share what is compiled for them, so each version is
//! compiled once, and `wdk-sys` writes its bindings once for each model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the versions of each package in a lock file.
fn versions(lock: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(lock).unwrap_or_else(|error| panic!("{}: {error}", lock.display()));
    let value = |line: Option<&str>, key: &str| {
        line.and_then(|line| line.strip_prefix(key)?.strip_suffix('"')).expect("a package").to_owned()
    };
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    for package in text.split("[[package]]\n").skip(1) {
        let mut lines = package.lines();
        let name = value(lines.next(), "name = \"");
        versions.entry(name).or_default().insert(value(lines.next(), "version = \""));
    }
    versions
}

/// Returns the lock files in a folder and below it.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let own = files.into_iter().filter(|file| file.ends_with("Cargo.lock"));
    let below = folders.iter().filter(|path| !path.ends_with("target")).flat_map(|folder| locks(folder));
    own.chain(below).collect()
}

#[test]
fn drivers_depend_on_the_versions_of_the_sample() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let sample = versions(&repository.join("driver-sample/Cargo.lock"));
    let mut compared = 0;
    let mut differences = Vec::new();
    for lock in locks(&repository.join("crates")) {
        let other = versions(&lock);
        // A driver on an older `wdk-sys` has the versions that this release needs.
        if other.get("wdk-sys") != sample.get("wdk-sys") {
            continue;
        }
        compared += 1;
        let changed =
            other.iter().filter(|(name, versions)| sample.get(*name).is_some_and(|sample| sample != *versions));
        differences.extend(changed.map(|(name, versions)| format!("{}: {name} {versions:?}", lock.display())));
    }
    assert!(compared >= 3, "only {compared} lock files of drivers");
    assert!(
        differences.is_empty(),
        "`cargo update NAME --precise VERSION` with the sample's version:\n{}",
        differences.join("\n")
    );
}
