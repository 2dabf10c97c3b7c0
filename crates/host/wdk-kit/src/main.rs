//! `wdk-kit make FOLDER`: makes a kit and prints its path. `cargo xtask bench` measures it; builds call the library.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: wdk-kit make FOLDER";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Help,
    Make(PathBuf),
    /// The word that is wrong, if one is.
    Wrong(Option<String>),
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match parse(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Request::Help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Request::Make(dir) => match wdk_kit::make(&dir) {
            Ok(root) => {
                println!("{}", root.display());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
        Request::Wrong(word) => {
            if let Some(word) = word {
                eprintln!("error: unexpected argument '{word}'");
            }
            eprintln!("{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[&str]) -> Request {
    match words {
        ["--help" | "-h", ..] | ["make", "--help" | "-h", ..] => Request::Help,
        // A folder whose name begins with a dash can be written as ./-name.
        ["make", dir] if !dir.starts_with('-') => Request::Make(PathBuf::from(dir)),
        [] | ["make"] => Request::Wrong(None),
        ["make", dir, ..] if dir.starts_with('-') => Request::Wrong(Some((*dir).to_owned())),
        ["make", _, word, ..] | [word, ..] => Request::Wrong(Some((*word).to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, parse};

    #[test]
    fn help_is_the_usage_and_no_name_of_a_folder() {
        for words in [&["--help"][..], &["-h"], &["make", "--help"], &["make", "-h"]] {
            assert_eq!(parse(words), Request::Help, "{words:?}");
        }
        assert_eq!(parse(&["make", "x"]), Request::Make("x".into()));
    }

    #[test]
    fn unknown_arguments_are_rejected() {
        for (words, wrong) in [
            (&["build", "x"][..], "build"),
            (&["make", "--folder", "x"], "--folder"),
            (&["make", "-"], "-"),
            (&["make", "one", "two"], "two"),
        ] {
            assert_eq!(parse(words), Request::Wrong(Some(wrong.to_owned())), "{words:?}");
        }
        assert_eq!((parse(&[]), parse(&["make"])), (Request::Wrong(None), Request::Wrong(None)));
    }
}
