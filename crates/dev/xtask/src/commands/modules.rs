//! `cargo xtask modules`: lists the modules of a crate and what each owns.
//!
//! The text of a module is the first sentence of its `//!` lines, so the list cannot differ from the sources.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Command, Flag};
use crate::context::Context;
use crate::suggest::nearest;
use driver_build::{Error, output};

pub(super) const COMMAND: Command = Command {
    name: "modules",
    summary: "Lists the modules of a crate, and what each owns",
    details: "\
Prints each module below the crate's src folder with the first sentence of its
documentation. Without a crate, lists the crates of all products.
",
    flags: &[Flag { name: "CRATE", summary: "the name of a crate's folder, for example etw-etl" }],
    only_lists: true,
    run,
};

fn run(context: &Context) -> Result<(), Error> {
    let root = context.path("crates");
    let crates = crates(&root)?;
    let lines = match context.words() {
        [] => crates.iter().map(|dir| crate_line(&root, dir)).collect::<Result<_, _>>()?,
        [name] => modules(find(&crates, name)?)?,
        [_, extra, ..] => return Err(Error::Usage(format!("unexpected argument `{extra}`: name one crate"))),
    };
    let width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    for Line { name, text } in lines {
        output::print_line(&format!("{name:<width$}  {text}"));
    }
    Ok(())
}

/// A module or a crate, and its first sentence.
struct Line {
    name: String,
    text: String,
}

/// Returns the crates of all products.
fn crates(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut crates = Vec::new();
    for product in entries(dir)? {
        if product.is_dir() {
            crates.extend(entries(&product)?.into_iter().filter(|path| path.join("Cargo.toml").is_file()));
        }
    }
    Ok(crates)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

fn find<'a>(crates: &'a [PathBuf], name: &str) -> Result<&'a Path, Error> {
    if let Some(dir) = crates.iter().find(|dir| name_of(dir) == name) {
        return Ok(dir);
    }
    let meant = nearest(name, crates.iter().map(|dir| name_of(dir)));
    let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    Err(Error::Usage(format!("unknown crate `{name}`{meant}\nrun `cargo xtask modules` for the list of crates")))
}

/// Returns the modules of a crate in the order of their paths.
fn modules(dir: &Path) -> Result<Vec<Line>, Error> {
    let src = dir.join("src");
    let mut files = Vec::new();
    collect(&src, &mut files)?;
    files.iter().map(|file| line(file.strip_prefix(&src).unwrap_or(file), file)).collect()
}

/// Adds the source files below a folder, without tests.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for path in entries(dir)? {
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() {
            collect(&path, files)?;
        } else if !is_tests && path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Describes a crate. A program has `main.rs` instead of `lib.rs`.
fn crate_line(root: &Path, dir: &Path) -> Result<Line, Error> {
    let library = dir.join("src/lib.rs");
    let file = if library.is_file() { library } else { dir.join("src/main.rs") };
    line(dir.strip_prefix(root).unwrap_or(dir), &file)
}

/// Describes a module or crate by the documentation in `file`.
fn line(shown: &Path, file: &Path) -> Result<Line, Error> {
    let text = fs::read_to_string(file).map_err(|error| failed(file, &error))?;
    Ok(Line { name: shown.display().to_string(), text: first_sentence(&text) })
}

/// Returns the first sentence of the inner documentation of a source.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
    paragraph.get(..end).unwrap_or(&paragraph).to_owned()
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>();
    let mut paths = read().map_err(|error| failed(dir, &error))?;
    paths.sort();
    Ok(paths)
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{crates, find, first_sentence, modules};
    use crate::context::Context;

    #[test]
    fn the_first_sentence_can_go_over_lines_and_ends_the_text() {
        let source =
            "//! Reads the events of a file, 1.5 times\n//! as fast. And more.\n//!\n//! A paragraph.\nmod a;\n";
        assert_eq!(first_sentence(source), "Reads the events of a file, 1.5 times as fast.");
        assert_eq!(first_sentence("mod a;\n"), "");
    }

    #[test]
    fn every_module_of_every_crate_says_what_it_owns() {
        for dir in crates(&Context::new(Vec::new()).path("crates")).unwrap() {
            if !dir.join("src").is_dir() {
                continue;
            }
            for module in modules(&dir).unwrap() {
                assert!(!module.text.is_empty(), "{}/src/{} has no `//!` line", dir.display(), module.name);
            }
        }
    }

    #[test]
    fn an_unknown_crate_gets_a_suggestion() {
        let crates = crates(&Context::new(Vec::new()).path("crates")).unwrap();
        let error = find(&crates, "etw-elt").unwrap_err().to_string();
        assert!(error.contains("did you mean `etw-etl`?"), "{error}");
    }
}
