//! The table in `docs/windows-releases.md` is the one that the programs use.

use std::fmt::Write as _;
use std::fs;

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

#[test]
fn the_page_has_the_table_of_the_programs() {
    let page = fs::read_to_string(repository().join("docs/windows-releases.md")).expect("the page");
    assert!(page.contains(&table()), "the page needs this table:\n{}", table());
}
