//! Takes the example and the tests of `tracelogging` from Cargo's copy of its sources and changes their `use` line. The
//! tests compile the result.
//!
//! Code that uses private parts of that crate, expects a panic or needs user mode is omitted (see the table in
//! `wdk_etw::compat`).
#![expect(clippy::expect_used, reason = "a build script fails by a panic")]

use std::path::PathBuf;
use std::{env, fs};

const THEIRS: &str = "use tracelogging as tlg;";
const OURS: &str = "use wdk_etw::compat as tlg;";

/// Tests that use only public parts.
const TESTS: [&str; 3] = ["fn guid()", "fn define_provider()", "fn write_event()"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = env::var_os("DEP_TRACELOGGING_SOURCES_ROOT").expect("the oracle says where the sources are");
    let root = PathBuf::from(root);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("the sources are complete");

    let example = read("examples/generate_events.rs");
    assert!(example.contains(THEIRS), "the example has another `use` line");
    fs::write(out.join("example.rs"), example.replace(THEIRS, OURS).replace("fn main()", "pub fn main()"))
        .expect("OUT_DIR is writable");

    let tests = read("tests/tests.rs");
    assert!(tests.contains(THEIRS), "the tests have another `use` line");
    let mut kept = format!("{OURS}\n");
    for item in tests.split("\n\n").fold(Vec::<String>::new(), items) {
        if let Some(test) = TESTS.iter().find(|test| item.contains(*test)) {
            kept += &item.replace(test, &format!("pub {test}")).replace("#[test]", "");
            kept += "\n\n";
        } else if ["struct Unregister(", "for Unregister {"].iter().any(|part| item.contains(part)) {
            kept.extend([item.as_str(), "\n\n"]);
        }
    }
    for test in TESTS {
        assert!(kept.contains(test), "`{test}` was not found in the tests");
    }
    fs::write(out.join("tests.rs"), kept).expect("OUT_DIR is writable");
}

/// Joins blocks of text into items. An item ends when all its braces are closed.
fn items(mut items: Vec<String>, block: &str) -> Vec<String> {
    let is_open = |item: &String| item.matches('{').count() != item.matches('}').count();
    match items.last_mut() {
        Some(last) if is_open(last) => {
            last.push_str("\n\n");
            last.push_str(block);
        }
        _ => items.push(block.to_owned()),
    }
    items
}
