//! The results of `cargo driver test`: for CI services, for GitHub, and with another runner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{command, driver, printed, run};

const MANIFEST: &str = "[workspace]\n[package]\nname = \"probe-results-tests\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                        [lib]\npath = \"lib.rs\"\n";
/// The second line of the message of a failed test is text that XML does not have as it is.
const TESTS: &str = r#"#[test]
fn the_image_is_there() {
    assert!(std::fs::metadata(std::env::var_os("DRIVER_IMAGE").unwrap()).is_ok());
}
#[test]
fn refuses() {
    panic!("1 < 2 & more");
}
#[test]
#[ignore = "slow"]
fn waits() {}
#[test]
fn works_the_second_time() {
    let mark = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("mark");
    let is_second = mark.exists();
    std::fs::write(mark, "").unwrap();
    assert!(is_second, "the first time");
}
"#;

fn with_tests(name: &str) -> PathBuf {
    let place = driver(name, "");
    let tests = place.join("host-tests");
    fs::create_dir_all(tests.join("tests")).unwrap();
    fs::write(tests.join("Cargo.toml"), MANIFEST.replace("probe-results", name)).unwrap();
    fs::write(tests.join("lib.rs"), "").unwrap();
    fs::write(tests.join("tests/driver.rs"), TESTS).unwrap();
    place
}

/// The tests in a file with results, and what each element contains.
fn results(path: &Path) -> Vec<(String, &'static str)> {
    let text = fs::read_to_string(path).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let result = |case: roxmltree::Node<'_, '_>| match case.first_element_child() {
        None => "passed",
        Some(inside) if inside.has_tag_name("failure") => "failed",
        Some(inside) if inside.has_tag_name("skipped") => "skipped",
        Some(inside) => panic!("{inside:?}"),
    };
    let mut all: Vec<_> = cases.map(|case| (case.attribute("name").unwrap().to_owned(), result(case))).collect();
    all.sort();
    all
}

fn named(expected: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    expected.iter().map(|(name, result)| ((*name).to_owned(), *result)).collect()
}

#[test]
fn results_are_written_for_ci_services_and_shown_at_their_lines() {
    let place = with_tests("probe-results");
    let path = place.join("new/folder/tests.xml");
    let mut line = command(&place, &["test", "--junit", path.to_str().unwrap()]);
    let output = line.env("GITHUB_ACTIONS", "true").env("GITHUB_WORKSPACE", &place).output().unwrap();
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let expected = [
        ("refuses", "failed"),
        ("the_image_is_there", "passed"),
        ("waits", "skipped"),
        ("works_the_second_time", "failed"),
    ];
    assert_eq!(results(&path), named(&expected), "{text}");
    assert!(fs::read_to_string(&path).unwrap().contains("1 &lt; 2 &amp; more"));
    assert!(text.contains("::error file=host-tests/tests/driver.rs,line=7::the test refuses failed"), "{text}");

    // A name selects tests, and another run replaces the file.
    let output = command(&place, &["test", "second", "--junit", path.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    assert_eq!(results(&path), named(&[("works_the_second_time", "passed")]));
    assert!(!printed(&output).contains("::error"));
}

#[test]
fn nextest_runs_the_tests_and_repeats_those_that_fail() {
    if !Command::new(env!("CARGO")).args(["nextest", "--version"]).output().is_ok_and(|output| output.status.success())
    {
        println!("skipped: cargo-nextest is not installed");
        return;
    }
    let place = with_tests("probe-nextest");
    let path = place.join("tests.xml");
    let run = |more: &[&str]| {
        let _ = fs::remove_file(place.join("host-tests/mark"));
        let line = [&["test", "--nextest", "--no-fail-fast", "--junit", path.to_str().unwrap()], more].concat();
        let output = command(&place, &line).output().unwrap();
        (output.status.code(), printed(&output))
    };
    let (code, text) = run(&[]);
    assert_eq!(code, Some(1), "{text}");
    let expected = [("refuses", "failed"), ("the_image_is_there", "passed"), ("works_the_second_time", "failed")];
    assert_eq!(results(&path), named(&expected), "{text}");
    let (code, text) = run(&["--retries", "1", "second"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(results(&path), named(&[("works_the_second_time", "passed")]), "{text}");
    let (code, text) = run(&["--retries", "1", "refuses"]);
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(results(&path), named(&[("refuses", "failed")]), "{text}");
}

#[test]
fn files_that_cannot_be_written_are_one_error_with_exit_code_2() {
    let place = driver("probe-unwritable", "");
    assert!(run(&place, &["build"]).status.success());
    let output = place.join("target/driver");
    // A folder takes the name of a file that a command writes.
    for (command, file) in [("trace", "trace/probe-unwritable.etl"), ("build", "x64/probe-unwritable.sys")] {
        let file = output.join(file.replace('-', "_"));
        let _ = fs::remove_file(&file);
        fs::create_dir_all(file.join("folder")).unwrap();
        let output = run(&place, &[command]);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert_eq!(text.matches("error: ").count(), 1, "{command}: {text}");
        assert!(text.contains(file.to_str().unwrap()), "{command}: {text}");
        fs::remove_dir_all(file).unwrap();
    }
}
