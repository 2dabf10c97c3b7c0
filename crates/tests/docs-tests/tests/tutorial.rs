//! Follows the tutorial: makes its files, runs its commands, and checks the output that the page shows.
//!
//! The folder is the same in each run, so cargo reuses the packages that an earlier run compiled.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::Path;

use docs_tests::follow::follow;
use docs_tests::markdown::repository;

#[test]
fn the_tutorial_leads_from_an_empty_folder_to_events() {
    for left in ["target/adder.etl", "target/adder.html", "target/driver/x64/adder.sys"] {
        let _ = fs::remove_file(repository().join(left));
    }
    follow("tutorial.md", &Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial"));
    let page = fs::read_to_string(repository().join("target/adder.html")).expect("the page of the last step");
    assert!(page.contains("Example.Adder") && page.contains("STATUS_INVALID_DEVICE_REQUEST"));
}
