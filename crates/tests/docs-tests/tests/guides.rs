//! Follows the pages that contain a complete small driver.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;

use docs_tests::follow::follow;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("guides").join(name)
}

#[test]
fn the_driver_that_logs_is_built_and_its_messages_are_seen() {
    follow("log.md", &folder("log"));
}

#[test]
fn the_framework_driver_is_built_and_clean_whatever_fails() {
    follow("kmdf.md", &folder("kmdf"));
}

#[test]
fn the_driver_that_traces_is_built_and_leaves_nothing_behind() {
    follow("tracing.md", &folder("tracing"));
}

#[test]
fn the_driver_with_a_manifest_is_built_and_its_image_describes_its_event() {
    follow("manifests.md", &folder("manifests"));
}
