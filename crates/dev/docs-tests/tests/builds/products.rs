//! The folders of crates are products: each needs only the folders above it, and its README lists its crates and what they need,
//! as cargo does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use docs_tests::markdown::repository;
use serde_json::Value;

/// The products, in the order of the table in ARCHITECTURE.md. Each needs only those before it.
const PRODUCTS: [&str; 7] = ["driver", "base", "traces", "machine", "toolchain", "programs", "dev"];

/// Not a member of the workspace: only a driver kit can build it.
const APART: &str = "crates/driver/wdk-kmdf/Cargo.toml";

/// Not a crate of the project: the stand-in for `wdk-build` that tests build.
const STAND_IN: &str = "wdk-build";

/// A crate: its product, and the crates of the workspace that it needs outside of its tests.
struct Package {
    product: String,
    needs: BTreeSet<String>,
}

fn metadata(manifest: &str) -> Value {
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--manifest-path", manifest];
    let output = Command::new(env!("CARGO")).current_dir(repository()).args(arguments).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("metadata")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns the crates of the repository by name.
fn packages() -> BTreeMap<String, Package> {
    let manifests = ["Cargo.toml", APART].map(metadata);
    let all: Vec<&Value> = manifests
        .iter()
        .flat_map(|metadata| metadata["packages"].as_array().expect("packages"))
        .filter(|package| text(package, "name") != STAND_IN)
        .collect();
    let names: BTreeSet<&str> = all.iter().map(|package| text(package, "name")).collect();
    let crates = repository().join("crates");
    let describe = |package: &&Value| {
        let dir = text(package, "manifest_path").strip_prefix(crates.to_str().expect("a path"));
        let product = dir.and_then(|dir| dir.split('/').nth(1)).expect("a folder below crates");
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let needed = dependencies.iter().filter(|dependency| text(dependency, "kind") != "dev");
        let needs = needed.map(|dependency| text(dependency, "name")).filter(|name| names.contains(name));
        let needs = needs.map(str::to_owned).collect();
        (text(package, "name").to_owned(), Package { product: product.to_owned(), needs })
    };
    all.iter().map(describe).collect()
}

fn rank(product: &str) -> usize {
    PRODUCTS.iter().position(|known| *known == product).unwrap_or_else(|| panic!("{product} is not a product"))
}

/// Returns the words in backticks.
fn code_words(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the rows of a product's README: the crate and what it needs, from bottom to top.
fn rows(product: &str) -> Vec<(String, BTreeSet<String>)> {
    let path = repository().join("crates").join(product).join("README.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let table = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = table.take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, name, _, needs, _] = cells[..] else { panic!("{product}: expected three cells: {line}") };
        let name = code_words(name).pop_first().unwrap_or_else(|| panic!("{product}: no crate: {line}"));
        (name, code_words(needs))
    };
    rows.map(row).collect()
}

#[test]
fn a_product_needs_only_the_products_above_it() {
    let packages = packages();
    for (name, package) in &packages {
        for needed in &package.needs {
            let other = &packages[needed].product;
            assert!(
                rank(other) <= rank(&package.product),
                "{name} of crates/{} needs {needed} of crates/{other}",
                package.product
            );
        }
    }
}

#[test]
fn readmes_list_crates_and_what_they_need_from_bottom_to_top() {
    let packages = packages();
    for product in PRODUCTS {
        let rows = rows(product);
        let listed: BTreeSet<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        let members = packages.iter().filter(|(_, package)| package.product == product);
        let members: BTreeSet<&str> = members.map(|(name, _)| name.as_str()).collect();
        assert_eq!(listed, members, "the crates of crates/{product}/README.md");

        let mut below = BTreeSet::new();
        for (name, needs) in &rows {
            assert_eq!(*needs, packages[name].needs, "what {name} needs, in crates/{product}/README.md");
            let of_product = needs.iter().filter(|needed| packages[*needed].product == product);
            for needed in of_product {
                assert!(below.contains(needed), "crates/{product}/README.md: {name} is below {needed}, which it needs");
            }
            below.insert(name.clone());
        }
    }
}

#[test]
fn the_drawing_of_the_architecture_has_the_products_in_their_order() {
    let page = fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("the page");
    let drawn: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| [`crates/").or_else(|| line.strip_prefix("| `crates/")))
        .filter_map(|line| line.split('`').next())
        .collect();
    assert_eq!(drawn, PRODUCTS);
}
