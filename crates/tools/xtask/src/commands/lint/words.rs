//! Checks spelling with typos, and finds phrases that are hard to read. Neither replaces reading.

use std::fs;

use crate::cargo_tool;
use crate::context::Context;
use crate::steps::Outcome;
use driver_build::Error;

const TYPOS_SETTINGS: &str = ".cargo/typos.toml";
/// This file contains the phrases.
const THIS: &str = "crates/tools/xtask/src/commands/lint/words.rs";
/// The files with text for people.
const FILES: [&str; 6] = ["*.rs", "*.md", "*.c", "*.h", "*.ps1", "*.toml"];

/// Phrases in lower case, and what to write instead.
const PHRASES: [(&str, &str); 14] = [
    (" answers with ", "returns"),
    (" answers whether ", "returns whether"),
    (" in order to ", "to"),
    (" in vain", "without effect"),
    (" is asked whether ", "returns whether"),
    (" leverage", "use"),
    (" likewise", "also"),
    (" one of whose ", "two sentences"),
    (" thereof", "of it"),
    (" utilize", "use"),
    (" vouch", "guarantee"),
    (" whence", "from which"),
    (" wherein", "in which"),
    (" whoever ", "the caller, the driver or another subject"),
];

pub(super) fn check(context: &Context) -> Result<Outcome, Error> {
    let typos = cargo_tool::ensure(context, "typos", "typos-cli", &["--version"])?;
    context.tool(&typos).args(["--config", TYPOS_SETTINGS]).run()?;
    let listed = context.tool("git").args(["ls-files", "--"]).args(FILES).capture()?;
    let mut found = Vec::new();
    for path in listed.lines().filter(|path| *path != THIS) {
        let text = fs::read_to_string(context.path(path)).map_err(|error| Error::Failed(format!("{path}: {error}")))?;
        found.extend(
            phrases(&text)
                .map(|(line, phrase, instead)| format!("{path}:{line}: `{}`: write `{instead}`", phrase.trim())),
        );
    }
    if found.is_empty() { Ok(Outcome::Passed) } else { Err(Error::Failed(found.join("\n"))) }
}

/// Returns the phrases in a text: the number of the line, the phrase, and what to write instead.
fn phrases(text: &str) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    (1..).zip(text.lines()).flat_map(|(number, line)| {
        let line = line.to_lowercase();
        let found = PHRASES.into_iter().filter(move |(phrase, _)| line.contains(phrase));
        found.map(move |(phrase, instead)| (number, phrase, instead))
    })
}

#[cfg(test)]
mod tests {
    use super::{Context, THIS, phrases};

    #[test]
    fn a_phrase_is_found_with_its_line() {
        let text = "/// Returns the status.\n/// The driver is called In order to stop.\n";
        assert_eq!(phrases(text).collect::<Vec<_>>(), [(2, " in order to ", "to")]);
    }

    #[test]
    fn this_file_is_where_it_says() {
        assert!(Context::new(Vec::new()).path(THIS).is_file());
    }
}
