//! The folders of crates are products: each needs only the folders above it, and its README lists its crates and what they need,
//! as cargo does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::manifests::{packages, text};
use docs_tests::markdown::repository;
use serde_json::Value;

/// The products, in the order of the table in ARCHITECTURE.md. Each needs only those before it.
const PRODUCTS: [&str; 7] = ["driver", "base", "traces", "machine", "toolchain", "programs", "dev"];

/// Not a crate of the project: the stand-in for `wdk-build` that tests build.
const STAND_IN: &str = "wdk-build";

/// A crate: its product, and the crates of the workspace that it needs outside of its tests.
struct Crate {
    product: String,
    needs: BTreeSet<String>,
}

/// Returns the crates of the repository by name.
fn crates() -> BTreeMap<String, Crate> {
    let mut all = packages();
    all.retain(|package| text(package, "name") != STAND_IN);
    let names: BTreeSet<&str> = all.iter().map(|package| text(package, "name")).collect();
    let folder = repository().join("crates");
    let describe = |package: &Value| {
        let dir = text(package, "manifest_path").strip_prefix(folder.to_str().expect("a path"));
        let product = dir.and_then(|dir| dir.split('/').nth(1)).expect("a folder below crates");
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let needed = dependencies.iter().filter(|dependency| text(dependency, "kind") != "dev");
        let needs = needed.map(|dependency| text(dependency, "name")).filter(|name| names.contains(name));
        let needs = needs.map(str::to_owned).collect();
        (text(package, "name").to_owned(), Crate { product: product.to_owned(), needs })
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
    let crates = crates();
    for (name, this) in &crates {
        for needed in &this.needs {
            let other = &crates[needed].product;
            assert!(
                rank(other) <= rank(&this.product),
                "{name} of crates/{} needs {needed} of crates/{other}",
                this.product
            );
        }
    }
}

#[test]
fn readmes_list_crates_and_what_they_need_from_bottom_to_top() {
    let crates = crates();
    for product in PRODUCTS {
        let rows = rows(product);
        let listed: BTreeSet<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        let members = crates.iter().filter(|(_, other)| other.product == product);
        let members: BTreeSet<&str> = members.map(|(name, _)| name.as_str()).collect();
        assert_eq!(listed, members, "the crates of crates/{product}/README.md");

        let mut below = BTreeSet::new();
        for (name, needs) in &rows {
            assert_eq!(*needs, crates[name].needs, "what {name} needs, in crates/{product}/README.md");
            let of_product = needs.iter().filter(|needed| crates[*needed].product == product);
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
