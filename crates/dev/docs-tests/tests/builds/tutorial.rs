//! The tutorial, followed by the letter: a test runs its commands and checks the output that it shows.
//!
//! The folder has the same path in each run, so that cargo finds the driver's dependencies compiled in the cache.

use std::fs;
use std::path::Path;

use crate::programs::program;
use docs_tests::follow::follow;

#[test]
fn the_tutorial_leads_from_an_empty_folder_to_events() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    let cargo_driver = program("cargo-driver");
    let programs = Path::new(cargo_driver.get_program()).parent().expect("the folder of the programs");
    follow("tutorial.md", &folder, programs);
    let page = folder.join("adder/target/driver/trace/adder.html");
    let page = fs::read_to_string(page).expect("the page of the last step");
    assert!(page.contains("Example.Adder"));
    assert!(page.contains("STATUS_INVALID_DEVICE_REQUEST"));
}
