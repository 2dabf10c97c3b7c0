//! Options that every program has: when to use colours, and how much to print to standard error.

use std::env::args_os;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::Instant;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};

use crate::escaped;

/// The value of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    /// Finds the last `--color` before the command line is parsed.
    pub(crate) fn from_words(words: &[OsString]) -> Self {
        let given = |index: usize, word: &OsString| match word.to_str()? {
            "--color" => words.get(index + 1)?.to_str().map(str::to_owned),
            word => word.strip_prefix("--color=").map(str::to_owned),
        };
        let last =
            words.iter().take_while(|word| *word != "--").enumerate().filter_map(|(i, word)| given(i, word)).last();
        last.and_then(|word| Self::from_str(&word, false).ok()).unwrap_or_default()
    }

    /// Puts the choice into effect for the rest of the run.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Shared {
    /// When to use colours; with auto, on a terminal unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Print only results and errors: no notes, no progress
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Also print the version, the arguments, the programs that are started, the time and the exit code
    #[arg(long, short, global = true)]
    verbose: bool,
}

/// The options of this run, and when the program began.
static SHARED: OnceLock<(Shared, Instant)> = OnceLock::new();

impl Shared {
    /// Puts the options into effect for the rest of the run. `name` is the program's name.
    pub(crate) fn apply(self, name: &str) {
        self.color.apply();
        let _ = SHARED.set((self, Instant::now()));
        detail(&format!("{name} {}, arguments {:?}", crate::VERSION, args_os().skip(1).collect::<Vec<_>>()));
    }
}

fn get<T: Default>(read: impl FnOnce(&Shared) -> T) -> T {
    SHARED.get().map(|(shared, _)| read(shared)).unwrap_or_default()
}

/// Whether `--quiet` was given: only results and errors are printed.
#[must_use]
pub fn is_quiet() -> bool {
    get(|shared| shared.quiet)
}

/// Whether `--verbose` was given: details are printed, too.
#[must_use]
pub fn is_verbose() -> bool {
    get(|shared| shared.verbose)
}

/// Whether to write colours to a stream: as `--color` says. With `auto`, if the stream is a terminal that shows colours and
/// `NO_COLOR` does not forbid them.
#[must_use]
pub fn has_colours(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// The shared options of this run as arguments, for another program of this project that this one starts.
#[must_use]
pub fn words() -> Vec<OsString> {
    let color = match get(|shared| shared.color) {
        Color::Auto => None,
        Color::Always => Some("--color=always"),
        Color::Never => Some("--color=never"),
    };
    let others = [(is_quiet(), "--quiet"), (is_verbose(), "--verbose")];
    let others = others.into_iter().filter_map(|(is_on, word)| is_on.then_some(word));
    color.into_iter().chain(others).map(Into::into).collect()
}

/// Prints an error to standard error.
pub fn error(text: &str) {
    message(&format!("error: {text}"));
}

/// Prints a note to standard error, unless the program is quiet.
pub fn note(text: &str) {
    info(&format!("note: {text}"));
}

/// Prints a line to standard error, unless the program is quiet.
pub fn info(text: &str) {
    if !is_quiet() {
        message(text);
    }
}

/// Prints a line to standard error, even with `--quiet`. The text is [`escaped`](crate::escaped), so it is one line whatever it
/// contains.
pub fn message(text: &str) {
    eprintln!("{}", escaped(text));
}

/// Prints a detail to standard error if `--verbose` was given.
pub(crate) fn detail(text: &str) {
    if is_verbose() {
        message(&format!("detail: {text}"));
    }
}

/// Prints the elapsed time and the exit code as a detail.
pub(crate) fn ended(code: u8) {
    if let Some((_, start)) = SHARED.get() {
        detail(&format!("{:.1?}, exit code {code}", start.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::Color;

    #[test]
    fn colours_are_known_before_the_words_are_parsed() {
        for (line, expected) in [
            ("run x", Color::Auto),
            ("run --color never x", Color::Never),
            ("--color=always --color", Color::Always),
            ("run --color odd", Color::Auto),
            ("run -- --color never", Color::Auto),
        ] {
            let words: Vec<_> = line.split(' ').map(Into::into).collect();
            assert_eq!(Color::from_words(&words), expected, "{line}");
        }
    }
}
