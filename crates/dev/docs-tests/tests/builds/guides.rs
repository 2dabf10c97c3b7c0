//! Pages with a complete small driver, followed by the letter.

use std::path::Path;

use crate::programs::program;

/// Follows a page in a folder of its name.
fn follow(page: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guides").join(page);
    let cargo_driver = program("cargo-driver");
    let programs = Path::new(cargo_driver.get_program()).parent().expect("the folder of the programs");
    docs_tests::follow::follow(page, &folder, programs);
}

#[test]
fn the_driver_that_logs_is_built_and_its_messages_are_seen() {
    follow("log.md");
}

#[test]
fn the_framework_driver_is_built_and_clean_whatever_fails() {
    follow("kmdf.md");
}

#[test]
fn the_driver_that_traces_is_built_and_leaves_nothing_behind() {
    follow("tracing.md");
}

#[test]
fn the_driver_with_a_manifest_is_built_and_its_image_describes_its_event() {
    follow("manifests.md");
}
