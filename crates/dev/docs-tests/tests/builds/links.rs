//! The target of every link exists.

use std::fs;
use std::path::Path;

use docs_tests::markdown::{Page, pages, repository};

/// Returns the mistake of a link on a page. For a link to another site, only its form is checked.
fn mistake(page: &Path, anchors: &[String], link: &str) -> Option<String> {
    let link = link.trim_matches(['<', '>']);
    // An item of the crate that includes this page in its documentation. rustdoc checks it.
    if link.starts_with("crate::") {
        return None;
    }
    if let Some((scheme, rest)) = link.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        let is_good = scheme == "https" && host.contains('.') && !link.contains(char::is_whitespace);
        return (!is_good).then(|| String::from("is not an https address"));
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() {
        let is_there = anchor.is_some_and(|anchor| anchors.iter().any(|known| known == anchor));
        return (!is_there).then(|| String::from("is not a heading of this page"));
    }
    let target = page.parent().unwrap_or(page).join(path);
    let Ok(target) = target.canonicalize() else { return Some("does not exist".into()) };
    if !target.starts_with(repository()) {
        return Some("is outside of the repository".into());
    }
    let anchor = anchor?;
    let text = fs::read_to_string(&target).unwrap_or_default();
    let is_there = Page::parse(&text).anchors.iter().any(|known| known == anchor);
    (!is_there).then(|| format!("has no heading {anchor}"))
}

#[test]
fn links_lead_somewhere() {
    let pages = pages().expect("the pages");
    assert!(pages.len() >= 10, "{pages:?}");
    let mut mistakes = Vec::new();
    let mut links = 0;
    for path in pages {
        let page = Page::parse(&fs::read_to_string(&path).expect("a page"));
        for (line, link) in &page.links {
            links += 1;
            if let Some(reason) = mistake(&path, &page.anchors, link) {
                mistakes.push(format!("{}:{line}: {link} {reason}", path.display()));
            }
        }
    }
    assert!(links > 40, "only {links} links were found");
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_detected() {
    let page = repository().join("README.md");
    let anchors = ["limits".to_owned()];
    for link in
        ["nothing.md", "ARCHITECTURE.md#nothing", "#nothing", "http://a.b", "https://nowhere", "../outside.md", "/etc"]
    {
        assert!(mistake(&page, &anchors, link).is_some(), "{link}");
    }
    for link in ["ARCHITECTURE.md#the-products", "#limits", "https://a.b/c", "docs"] {
        assert_eq!(mistake(&page, &anchors, link), None, "{link}");
    }
}

#[test]
fn every_page_of_the_documentation_is_in_its_index() {
    let docs = repository().join("docs");
    let index = Page::parse(&fs::read_to_string(docs.join("README.md")).expect("the index"));
    for path in pages().expect("the pages").iter().filter(|path| path.parent() == Some(&docs)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_there = name == "README.md" || index.links.iter().any(|(_, link)| *link == name);
        assert!(is_there, "{name} is not in docs/README.md");
    }
}

/// The table "How to add …" names files to copy.
#[test]
fn files_that_contributors_are_sent_to_exist() {
    let text = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("the page");
    let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("crates/")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|path| !repository().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
