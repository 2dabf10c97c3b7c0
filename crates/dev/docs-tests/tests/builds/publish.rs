//! Every crate that can be published has what crates.io and docs.rs require, and its package builds.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::manifests::{APART, cargo, packages, text};
use docs_tests::markdown::repository;
use serde_json::Value;

/// The categories of crates.io that the crates use.
const CATEGORIES: [&str; 17] = [
    "api-bindings",
    "command-line-interface",
    "command-line-utilities",
    "development-tools",
    "development-tools::build-utils",
    "development-tools::cargo-plugins",
    "development-tools::debugging",
    "development-tools::profiling",
    "development-tools::testing",
    "emulators",
    "encoding",
    "no-std",
    "no-std::no-alloc",
    "os::linux-apis",
    "os::windows-apis",
    "parser-implementations",
    "visualization",
];

fn published() -> Vec<Value> {
    packages().into_iter().filter(|package| package["publish"].is_null()).collect()
}

fn list<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value[key].as_array().map_or_else(Vec::new, |values| values.iter().filter_map(Value::as_str).collect())
}

/// The crates with a stable interface, as in `docs/publishing.md`.
const STABLE: [&str; 9] = [
    "wdk-etw",
    "wdk-etw-log",
    "wdk-etw-tracing",
    "wdk-kmdf",
    "etw-types",
    "etw-etl",
    "etw-manifest",
    "etw-session",
    "nt-host",
];

/// Returns the mistakes of a package.
fn mistakes(package: &Value, published: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |is_right: bool, what: &str| {
        if !is_right {
            found.push(format!("{}: {what}", text(package, "name")));
        }
    };
    let folder = Path::new(text(package, "manifest_path")).parent().unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    check(text(package, "description").len() > 20, "description");
    check(text(package, "license") == "MIT OR Apache-2.0", "license");
    check(package["rust_version"].is_string(), "rust-version");
    let keywords = list(package, "keywords");
    check((1..=5).contains(&keywords.len()) && keywords.iter().all(|word| word.len() <= 20), "one to five keywords");
    let categories = list(package, "categories");
    check((1..=5).contains(&categories.len()), "one to five categories");
    check(categories.iter().all(|name| CATEGORIES.contains(name)), "a category that crates.io has");
    let readme = read(&folder.join(text(package, "readme")));
    let name = text(package, "name");
    check(readme.starts_with(&format!("# {name}")), "a README with its name");
    check(!readme.contains("docs.rs/"), "a README that does not link to docs.rs, which has no documentation of it yet");
    let is_stable = !readme.contains("no stable interface");
    check(is_stable == STABLE.contains(&name), "a README that says so if the crate has no stable interface");
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let own = read(&folder.join(licence));
        check(!own.is_empty() && own == read(&repository().join(licence)), licence);
    }
    check(!list(&package["metadata"]["docs"]["rs"], "targets").is_empty(), "targets for docs.rs");
    let targets = package["targets"].as_array().unwrap().iter();
    let programs = targets.filter(|target| list(target, "kind").contains(&"bin")).count();
    check(programs < 2 || package["default_run"].is_string(), "default-run, which is what `cargo run` chooses");
    for dependency in package["dependencies"].as_array().unwrap() {
        let is_ours = dependency["path"].is_string() && dependency["kind"] != "dev";
        let name = text(dependency, "name");
        check(!is_ours || published.contains(&name), &format!("it depends on {name}, which is not published"));
        check(!is_ours || text(dependency, "req") != "*", &format!("no version of {name}"));
    }
    found
}

#[test]
fn every_published_crate_says_what_it_is() {
    let packages = published();
    let names: Vec<&str> = packages.iter().map(|package| text(package, "name")).collect();
    for wanted in ["wdk-etw", "wdk-kmdf", "etw-etl", "nt-host", "cargo-driver", "etwctl"] {
        assert!(names.contains(&wanted), "{wanted} is not published");
    }
    let mistakes: Vec<String> = packages.iter().flat_map(|package| mistakes(package, &names)).collect();
    assert_eq!(mistakes, Vec::<String>::new());
}

/// What the crates that drivers link depend on at run time.
const LINKED: [(&str, &[&str]); 5] = [
    ("etw-types", &[]),
    // `wdk-sys` is optional: the feature `wdk-sys`.
    ("wdk-etw", &["etw-types", "wdk-etw-macros", "wdk-sys"]),
    ("wdk-etw-log", &["log", "wdk-etw"]),
    ("wdk-etw-tracing", &["tracing-core", "wdk-etw"]),
    ("wdk-kmdf", &["wdk-etw", "wdk-sys"]),
];

#[test]
fn crates_that_drivers_link_depend_only_on_what_they_are_made_for() {
    let packages = published();
    for (name, expected) in LINKED {
        let package = packages.iter().find(|package| text(package, "name") == name).expect("a published crate");
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let mut found: Vec<&str> =
            dependencies.filter(|one| one["kind"].is_null()).map(|one| text(one, "name")).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }
}

/// Packages a manifest's crates without building them. Online, cargo would ask the registry again for each of them.
fn package(arguments: &[&str]) {
    let words = ["package", "--quiet", "--offline", "--allow-dirty", "--no-verify"];
    cargo(&[words.as_slice(), arguments].concat());
}

/// Unpacks the packages into a workspace of their own and builds it.
///
/// `cargo package` would build them from copies that it keeps in cargo's home by name and version only, so it would
/// build old sources if the version did not change.
#[test]
fn every_package_builds_outside_of_its_workspace() {
    let is_member = |package: &&Value| !text(package, "manifest_path").ends_with(APART);
    let members: Vec<(String, String)> = published()
        .iter()
        .filter(is_member)
        .map(|package| (text(package, "name").to_owned(), text(package, "version").to_owned()))
        .collect();
    package(&members.iter().flat_map(|(name, _)| ["-p", name]).collect::<Vec<_>>());
    package(&["--exclude-lockfile", "--manifest-path", APART]);

    let archives = members.iter().map(|(name, version)| {
        let archive = repository().join(format!("target/package/{name}-{version}.crate"));
        (fs::read(&archive).unwrap(), archive)
    });
    let (contents, archives): (Vec<_>, Vec<_>) = archives.unzip();
    let contents = contents.concat();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published");
    let unpacked = folder.join("unpacked");
    // Cargo builds again what is newer than its last build, so packages that did not change stay unpacked.
    let is_unpacked = fs::read(&unpacked).is_ok_and(|old| old == contents);
    if !is_unpacked {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for archive in &archives {
            // Files get the current time. Archives have fixed times, with which cargo would not notice a change.
            let tar = Command::new("tar").arg("-xzmf").arg(archive).arg("-C").arg(&folder).status().unwrap();
            assert!(tar.success(), "{}", archive.display());
        }
        fs::write(&unpacked, contents).unwrap();
    }
    // With the same profiles and build directory, cargo reuses the dependencies that the tests compiled. The programs go to
    // another directory: those in `target/debug` belong to the other tests.
    let workspace = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let (_, profiles) = workspace.split_once("[profile.dev]\n").unwrap();
    let mut manifest = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[patch.crates-io]\n");
    for (name, version) in &members {
        writeln!(manifest, "{name} = {{ path = \"{name}-{version}\" }}").expect("text in memory");
    }
    let root = folder.join("Cargo.toml");
    fs::write(&root, format!("{manifest}[profile.dev]\n{profiles}")).unwrap();
    fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let root = root.to_str().unwrap();
    let own = folder.join("target");
    let shared = format!("build.build-dir={:?}", repository().join("target"));
    cargo(&["build", "--quiet", "--manifest-path", root, "--target-dir", own.to_str().unwrap(), "--config", &shared]);
}
