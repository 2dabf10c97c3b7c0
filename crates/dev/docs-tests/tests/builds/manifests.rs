//! The packages of the repository, as cargo describes them.

use std::process::Command;

use docs_tests::markdown::repository;
use serde_json::Value;

/// The manifest of a crate that is not a member of the workspace: only a driver kit can build it.
pub(crate) const APART: &str = "crates/driver/wdk-kmdf/Cargo.toml";

/// Runs cargo in the repository, and returns what it prints.
pub(crate) fn cargo(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO")).current_dir(repository()).args(arguments).output().expect("cargo");
    assert!(output.status.success(), "cargo {arguments:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Returns all packages of the repository.
pub(crate) fn packages() -> Vec<Value> {
    let of_manifest = |manifest| {
        let words = ["metadata", "--no-deps", "--format-version", "1", "--manifest-path", manifest];
        let mut metadata: Value = serde_json::from_slice(&cargo(&words)).expect("metadata");
        metadata["packages"].as_array_mut().expect("packages").drain(..).collect::<Vec<Value>>()
    };
    ["Cargo.toml", APART].into_iter().flat_map(of_manifest).collect()
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
