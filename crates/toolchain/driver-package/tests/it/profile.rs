//! Checks the recording profile against Microsoft's documentation of its elements. It has not been tested with WPR.

use crate::common::inputs::{signer, usual};
use crate::common::tools;
use driver_package::inf::Arch;
use driver_package::package::Request;
use roxmltree::{Document, Node};

/// An element: its name, required attributes, optional attributes, and its children in order.
type Element = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// Microsoft Learn, "Recording Profile XML Reference", as far as the profile uses it. Order: collectors, providers,
/// profiles.
const ELEMENTS: [Element; 13] = [
    (
        "WindowsPerformanceRecorder",
        &["Version"],
        &["Author", "Comments", "Company", "Copyright", "Team", "Tag"],
        &["Profiles"],
    ),
    ("Profiles", &[], &[], &["EventCollector", "EventProvider", "Profile"]),
    ("EventCollector", &["Id", "Name"], &["Base", "Secure", "FileMax"], &["BufferSize", "Buffers"]),
    ("BufferSize", &["Value"], &[], &[]),
    ("Buffers", &["Value"], &["PercentageOfTotalMemory", "MaximumBufferSpace"], &[]),
    (
        "EventProvider",
        &["Id", "Name"],
        &["Base", "NonPagedMemory", "Stack", "SID", "TSID", "Level", "CaptureStateOnly", "Strict"],
        &["Keywords", "CaptureStateOnStart", "CaptureStateOnSave"],
    ),
    ("Keywords", &[], &["Operation"], &["Keyword"]),
    ("CaptureStateOnSave", &[], &["Operation"], &["Keyword"]),
    ("Keyword", &["Value"], &[], &[]),
    (
        "Profile",
        &["Id", "Name", "Description", "LoggingMode", "DetailLevel"],
        &["Base", "Strict", "Default"],
        &["Collectors"],
    ),
    ("Collectors", &[], &["Operation"], &["EventCollectorId"]),
    ("EventCollectorId", &["Value"], &[], &["BufferSize", "Buffers", "EventProviders"]),
    ("EventProviders", &[], &["Operation"], &["EventProviderId"]),
];

/// Returns everything that the documentation does not allow.
fn mistakes(text: &str) -> Vec<String> {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => return vec![error.to_string()],
    };
    let mut found = Vec::new();
    let elements = || document.descendants().filter(Node::is_element);
    for node in elements() {
        let name = node.tag_name().name();
        // `EventProviderId` has the same attribute as `EventCollectorId`, and no children in this profile.
        let reference: Element = ("EventProviderId", &["Value"], &[], &[]);
        let Some((_, must, may, children)) = ELEMENTS.iter().chain([&reference]).find(|element| element.0 == name)
        else {
            found.push(format!("{name} is not an element"));
            continue;
        };
        for attribute in must.iter().filter(|attribute| node.attribute(**attribute).is_none()) {
            found.push(format!("{name} has no {attribute}"));
        }
        let is_known = |attribute: &str| must.contains(&attribute) || may.contains(&attribute);
        found.extend(node.attributes().filter(|a| !is_known(a.name())).map(|a| format!("{name} has {}", a.name())));
        let order: Vec<Option<usize>> = node
            .children()
            .filter(Node::is_element)
            .map(|child| children.iter().position(|name| *name == child.tag_name().name()))
            .collect();
        if name == "EventCollector" && order.len() < 2 {
            found.push("a collector says how many buffers it has, and their size".into());
        }
        if order.contains(&None) || !order.is_sorted() {
            found.push(format!("the children of {name} are others, or in another order"));
        }
    }
    let values = |element: &str, attribute: &str| -> Vec<String> {
        let nodes = elements().filter(|node| node.tag_name().name() == element);
        nodes.filter_map(|node| node.attribute(attribute)).map(str::to_owned).collect()
    };
    for (reference, definition) in [("EventCollectorId", "EventCollector"), ("EventProviderId", "EventProvider")] {
        let defined = values(definition, "Id");
        let missing = values(reference, "Value").into_iter().filter(|id| !defined.contains(id));
        found.extend(missing.map(|id| format!("{reference} {id} is not defined")));
    }
    let ids = [values("Profile", "Id"), values("EventCollector", "Id"), values("EventProvider", "Id")].concat();
    found.extend(ids.iter().filter(|id| id.contains([':', ' '])).map(|id| format!("{id} has a colon or a space")));
    for profile in elements().filter(|node| node.tag_name().name() == "Profile") {
        let part = |name| profile.attribute(name).unwrap_or_default();
        let id = format!("{}.{}.{}", part("Name"), part("DetailLevel"), part("LoggingMode"));
        if id != part("Id") {
            found.push(format!("{} is not {id}", part("Id")));
        }
        if profile.attribute("Base").is_some_and(|base| !ids.iter().any(|id| id == base)) {
            found.push(format!("the base of {id} is not defined"));
        }
    }
    let modes = values("Profile", "LoggingMode");
    if !["File", "Memory"].iter().all(|mode| modes.iter().any(|each| each == mode)) {
        found.push("a profile has a file and a memory version".into());
    }
    found
}

/// Returns the profile of a package with this provider.
fn profile(test: &str, provider: &str) -> String {
    let folder = tools::folder(test);
    let request = Request { provider: Some(provider.into()), ..usual(&folder, Arch::X64) };
    let package = request.make(&signer()).unwrap();
    let file = package.files().iter().find(|(name, _)| name == "driver.wprp").expect("a profile");
    String::from_utf8(file.1.clone()).unwrap()
}

#[test]
fn the_profile_follows_the_documentation() {
    // Microsoft's example of a name and its id, from the documentation of TRACELOGGING_DEFINE_PROVIDER.
    let text = profile("profile", "MyCompany.MyComponent");
    assert_eq!(mistakes(&text), [""; 0]);
    let document = Document::parse(&text).unwrap();
    let provider = document.descendants().find(|node| node.tag_name().name() == "EventProvider").unwrap();
    assert_eq!(provider.attribute("Name"), Some("ce5fa4ea-ab00-5402-8b76-9f76ac858fb5"));
    assert_eq!(provider.attribute("NonPagedMemory"), Some("true"));
}

#[test]
fn xml_markup_in_names_is_escaped() {
    for provider in ["A & B <\"C\">", "a--b-->", "tab\tbell\u{7}"] {
        assert_eq!(mistakes(&profile("profile-names", provider)), [""; 0], "{provider}");
    }
}

#[test]
fn without_a_provider_there_is_none() {
    let folder = tools::folder("profile-none");
    let package = usual(&folder, Arch::X64).make(&signer()).unwrap();
    assert!(!package.files().iter().any(|(name, _)| name == "driver.wprp"));
}

#[test]
fn mistakes_are_detected() {
    let text = profile("profile-mistakes", "A.B");
    for (old, new) in [
        ("</Profiles>", ""),
        ("EventProviderId Value=\"EventProvider_driver\"", "EventProviderId Value=\"EventProvider_x\""),
        ("<BufferSize Value=\"128\"/>", ""),
        (" NonPagedMemory=", " Paged="),
        ("LoggingMode=\"Memory\"", "LoggingMode=\"File\""),
        ("Id=\"driver.Verbose.File\"", "Id=\"driver:Verbose.File\""),
        ("<BufferSize Value=\"128\"/>", "<Buffers Value=\"1\"/><BufferSize Value=\"128\"/>"),
    ] {
        let wrong = text.replace(old, new);
        assert_ne!(wrong, text, "{old}");
        assert!(!mistakes(&wrong).is_empty(), "{old} -> {new}");
    }
}
