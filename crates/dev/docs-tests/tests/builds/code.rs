//! Every Rust code block on a page is compiled: by documentation tests, or by a test that follows the page.

use std::fs;

use docs_tests::markdown::{Page, pages, repository};

/// The files that include pages as documentation tests.
const INCLUDERS: [&str; 2] = ["crates/dev/docs-tests/src/lib.rs", "crates/driver/wdk-etw/src/lib.rs"];

/// Pages that a test follows: it makes and builds their files.
const FOLLOWED: [&str; 5] = ["docs/tutorial.md", "docs/kmdf.md", "docs/log.md", "docs/tracing.md", "docs/manifests.md"];

#[test]
fn every_page_with_rust_code_is_compiled() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("a source file");
    let includers = INCLUDERS.map(read).concat();
    let mut compiled = 0;
    for path in pages().expect("the pages") {
        let name = path.strip_prefix(repository()).unwrap_or(&path).display().to_string();
        // A crate's README is part of its documentation, so its code is tested there.
        if name.starts_with("crates/") {
            continue;
        }
        let page = Page::parse(&fs::read_to_string(&path).expect("a page"));
        let mut rust = page.blocks.iter().filter(|block| block.language() == "rust");
        if rust.clone().next().is_none()
            || (FOLLOWED.contains(&name.as_str()) && rust.all(|block| block.value("file").is_some()))
        {
            continue;
        }
        assert!(
            includers.contains(&format!("include_str!(\"../../../../{name}\")")),
            "nothing compiles the code of {name}"
        );
        compiled += 1;
    }
    assert!(compiled >= 4, "only {compiled} pages with code were found");
}
