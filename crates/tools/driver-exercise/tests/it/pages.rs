//! The pages of this repository show the evidence that it has.

use std::fs;
use std::path::PathBuf;

use crate::machine::root;
use driver_exercise::{Evidence, page};

#[test]
fn the_page_and_the_row_show_all_evidence_and_nothing_else() {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join("docs/evidence"))
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    let all: Vec<Evidence> = files.iter().map(|path| Evidence::read(path).unwrap()).collect();
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    assert_eq!(read("docs/evidence.md"), page::page(&all), "run `cargo xtask evidence`");
    assert!(read("README.md").lines().any(|line| line == page::row(&all)), "run `cargo xtask evidence`");
}
