//! Programs that the macros accept, and the errors for programs that they reject.
//!
//! Each file in `tests/ui/fail` has a list of errors next to it, `NAME.errors`: line, column, and our message. An error
//! that the compiler words itself is listed with its code and the parts of the text that come from us, separated by
//! `|`. The lists therefore hold for every version of the compiler, and the test fails if one of our messages or its
//! location changes. A failing test prints the new list.
#![cfg(test)]

mod compile;
mod expected;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use compile::{Case, cases};
use expected::Expected;

/// Returns the names of the programs in a folder of `tests/ui`.
fn names(folder: &str) -> BTreeSet<String> {
    let files =
        fs::read_dir(compile::ui().join(folder)).expect("the folder").map(|entry| entry.expect("an entry").path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

fn case<'a>(cases: &'a [Case], name: &str) -> &'a Case {
    cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("cargo says nothing about {name}"))
}

#[test]
#[cfg_attr(miri, ignore = "runs a compiler")]
fn macros_accept_what_is_documented() {
    let by_other_names = names("names").into_iter().filter(|name| name != "company");
    for name in names("pass").into_iter().chain(by_other_names) {
        let case = case(cases(), &name);
        let program: &PathBuf = case.program.as_ref().unwrap_or_else(|| panic!("{name}: {:#?}", case.diagnostics));
        let status = Command::new(program).status().expect("a program");
        assert!(status.success(), "{name}: {status}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "runs a compiler")]
fn errors_point_at_the_right_token() {
    let mut mistakes = Vec::new();
    for name in names("fail") {
        let case = case(cases(), &name);
        let list = compile::ui().join("fail").join(&name).with_extension("errors");
        let expected = fs::read_to_string(&list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
        let expected: Vec<Expected> = expected.lines().map(Expected::parse).collect();
        let wrong = expected::differences(&expected, &case.diagnostics);
        if case.program.is_some() || expected.is_empty() || !wrong.is_empty() {
            let now: Vec<String> = case.diagnostics.iter().map(ToString::to_string).collect();
            mistakes.push(format!("{name}:\n{}\nnow it would be\n{}", wrong.join("\n"), now.join("\n")));
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
}
