//! In no crate of this repository do the modules of a directory import each other in a circle.
//!
//! `tests/data/circles.txt` lists the circles that exist. A line of it may get shorter, never longer: what is in no
//! circle any more must leave the list. `WDK_ETW_BLESS=1` removes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use test_support::imports::Imports;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository")
}

/// Returns the sources of each crate.
fn crates() -> BTreeMap<String, PathBuf> {
    let entries = |dir: &Path| fs::read_dir(dir).expect("crates").map(|entry| entry.expect("a crate").path());
    let products = entries(&repository().join("crates"));
    let found = products.flat_map(|product| entries(&product).filter(|path| path.is_dir()));
    let mut crates: BTreeMap<String, PathBuf> = found
        .map(|dir| (dir.file_name().expect("a name").to_string_lossy().into_owned(), dir.join("src")))
        .filter(|(_, sources)| sources.is_dir())
        .collect();
    crates.insert("nt-host-demo".into(), repository().join("crates/machine/nt-host/demo"));
    crates.insert("driver-sample".into(), repository().join("driver-sample/src"));
    crates
}

/// A circle that exists: its crate, its modules, and the reason.
struct Circle {
    package: String,
    modules: BTreeSet<String>,
    reason: String,
}

impl Circle {
    /// Parses `CRATE: MODULE MODULE … # REASON`.
    fn parse(line: &str) -> Option<Self> {
        let (package, rest) = line.split_once(": ")?;
        let (modules, reason) = rest.split_once(" # ")?;
        let modules = modules.split_whitespace().map(str::to_owned).collect();
        Some(Self { package: package.into(), modules, reason: reason.into() })
    }

    fn line(&self) -> String {
        let modules: Vec<&str> = self.modules.iter().map(String::as_str).collect();
        format!("{}: {} # {}\n", self.package, modules.join(" "), self.reason)
    }
}

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/circles.txt");
    let mut allowed: Vec<Circle> = fs::read_to_string(&path)
        .expect("the list")
        .lines()
        .map(|line| Circle::parse(line).unwrap_or_else(|| panic!("{line}: expected `CRATE: MODULES # REASON`")))
        .collect();
    let mut new = Vec::new();
    let mut found = BTreeSet::new();
    for (package, sources) in crates() {
        for circle in Imports::from_sources(&sources).circles() {
            if !allowed.iter().any(|allowed| allowed.package == package && allowed.modules.is_superset(&circle)) {
                new.push(format!("{package}: {circle:?}"));
            }
            found.extend(circle.into_iter().map(|module| (package.clone(), module)));
        }
    }
    assert!(new.is_empty(), "new circles; move what they share into a module of its own:\n{}", new.join("\n"));

    let mut gone = Vec::new();
    for allowed in &mut allowed {
        allowed.modules.retain(|module| {
            let is_left = found.contains(&(allowed.package.clone(), module.clone()));
            if !is_left {
                gone.push(format!("{}: {module}", allowed.package));
            }
            is_left
        });
    }
    if std::env::var_os("WDK_ETW_BLESS").is_some() {
        let left: String = allowed.iter().filter(|allowed| !allowed.modules.is_empty()).map(Circle::line).collect();
        fs::write(&path, left).expect("the list");
        return;
    }
    assert!(gone.is_empty(), "in no circle any more; WDK_ETW_BLESS=1 removes them from the list:\n{}", gone.join("\n"));
}
