//! The table in `docs/windows-releases.md` is the one that the programs use.

use std::fmt::Write as _;
use std::{env, fs};

use docs_tests::markdown::repository;
use windows_releases::Release;

fn table() -> String {
    let mut text = String::from("| `--os`, `--windows` | Windows | build | kernel | KMDF | functions | also |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for release in Release::ALL {
        let kmdf = release.kmdf();
        let also: Vec<String> = release.aliases().iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            text,
            "| `{release}` | {} | {} | {} | {kmdf} | {} | {} |",
            release.title(),
            release.build(),
            release.nt_version(),
            kmdf.functions,
            also.join(", ")
        );
    }
    text
}

/// Run with `UPDATE_DOCS=1 cargo test -p docs-tests releases` to write the table.
#[test]
fn the_page_has_the_table_of_the_programs() {
    let path = repository().join("docs/windows-releases.md");
    let page = fs::read_to_string(&path).expect("the page");
    let start = page.find("| `--os`, `--windows` |").expect("a table of the releases");
    let (before, rest) = page.split_at(start);
    let (_, after) = rest.split_once("\n\n").expect("text after the table");
    let expected = format!("{before}{}\n{after}", table());
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).expect("the page can be written");
    }
    let page = fs::read_to_string(&path).expect("the page");
    assert!(page == expected, "docs/windows-releases.md is stale: run this test with UPDATE_DOCS=1");
}
