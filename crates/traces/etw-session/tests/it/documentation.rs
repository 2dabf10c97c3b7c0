//! The table of classes in the documentation matches the code.

use std::path::Path;
use std::{env, fs};

use etw_session::info::markdown;

/// Run with `UPDATE_DOCS=1 cargo test -p etw-session --test it documentation` to write the page.
#[test]
fn the_page_about_information_classes_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/information-classes.md");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, markdown()).expect("the page can be written");
    }
    let page = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(page == markdown(), "docs/information-classes.md is stale: run this test with UPDATE_DOCS=1");
}
