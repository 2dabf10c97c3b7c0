//! `wdk-kit make FOLDER`: makes a kit and prints its path. `cargo xtask bench` measures it; builds call the library.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command_line::{Content, Screen, escaped, shown};

const USAGE: &str = "usage: wdk-kit make FOLDER";

/// What the command line requests.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Help,
    Make(PathBuf),
    /// The word that is wrong, if one is.
    Wrong(Option<OsString>),
}

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    match parse(&words.iter().map(OsString::as_os_str).collect::<Vec<_>>()) {
        Request::Help => print(format!("{USAGE}\n").as_bytes()),
        Request::Make(dir) => match wdk_kit::make(&dir) {
            Ok(root) => print(&[root.as_os_str().as_encoded_bytes(), b"\n"].concat()),
            Err(error) => fail(1, &error.to_string()),
        },
        Request::Wrong(Some(word)) => fail(2, &format!("unexpected argument '{}'; {USAGE}", shown(Path::new(&word)))),
        Request::Wrong(None) => fail(2, USAGE),
    }
}

/// Prints to standard output. A terminal gets escapes in place of what it would execute.
fn print(text: &[u8]) -> ExitCode {
    let mut screen = Screen::new(io::stdout().lock(), Content::Plain);
    match screen.write_all(text).and_then(|()| screen.finish()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => fail(2, &format!("cannot write to standard output: {error}")),
    }
}

fn fail(code: u8, text: &str) -> ExitCode {
    eprintln!("error: {}", escaped(text));
    ExitCode::from(code)
}

fn parse(words: &[&OsStr]) -> Request {
    let is_option = |word: &OsStr| word.as_encoded_bytes().starts_with(b"-");
    let is_help = |word: &OsStr| word == "--help" || word == "-h";
    match *words {
        [word, ..] if is_help(word) => Request::Help,
        [command, word, ..] if command == "make" && is_help(word) => Request::Help,
        // A folder whose name begins with a dash can be written as ./-name.
        [command, dir] if command == "make" && !is_option(dir) => Request::Make(PathBuf::from(dir)),
        [] => Request::Wrong(None),
        [command] if command == "make" => Request::Wrong(None),
        [command, dir, ..] if command == "make" && is_option(dir) => Request::Wrong(Some(dir.to_owned())),
        [command, _, word, ..] if command == "make" => Request::Wrong(Some(word.to_owned())),
        [word, ..] => Request::Wrong(Some(word.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, parse};

    fn parsed(words: &[&str]) -> Request {
        parse(&words.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    #[test]
    fn help_is_the_usage_and_no_name_of_a_folder() {
        for words in [&["--help"][..], &["-h"], &["make", "--help"], &["make", "-h"]] {
            assert_eq!(parsed(words), Request::Help, "{words:?}");
        }
        assert_eq!(parsed(&["make", "x"]), Request::Make("x".into()));
    }

    #[test]
    fn unknown_arguments_are_rejected() {
        for (words, wrong) in [
            (&["build", "x"][..], "build"),
            (&["make", "--folder", "x"], "--folder"),
            (&["make", "-"], "-"),
            (&["make", "one", "two"], "two"),
        ] {
            assert_eq!(parsed(words), Request::Wrong(Some(wrong.into())), "{words:?}");
        }
        assert_eq!(parsed(&[]), Request::Wrong(None));
        assert_eq!(parsed(&["make"]), Request::Wrong(None));
    }
}
