//! No module imports another module that imports it, directly or indirectly.

use std::path::Path;

use test_support::imports::Imports;

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let cycles = Imports::from_sources(&sources).without(&["Engine", "Session", "WeakEngine"]).cycles();
    assert!(cycles.is_empty(), "{cycles:#?}");
}
