//! Options that every program has: when to use colours, and how much to say on standard error.

use std::env::args_os;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::Instant;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};

/// See [`Shared`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    /// What the words ask for, before they are parsed: messages about wrong usage have colours too.
    pub(crate) fn of(words: &[OsString]) -> Self {
        let given = |index: usize, word: &OsString| match word.to_str()? {
            "--color" => words.get(index + 1)?.to_str().map(str::to_owned),
            word => word.strip_prefix("--color=").map(str::to_owned),
        };
        let last =
            words.iter().take_while(|word| *word != "--").enumerate().filter_map(|(i, word)| given(i, word)).last();
        last.and_then(|word| Self::from_str(&word, false).ok()).unwrap_or_default()
    }

    pub(crate) const fn choice(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Shared {
    /// When to use colours; auto is on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Say nothing but results and errors: no notes, no progress
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Also say which version runs, which programs it starts, and how long it took
    #[arg(long, short, global = true)]
    verbose: bool,
}

/// What the command line asked for, and when the program began.
static SHARED: OnceLock<(Shared, Instant)> = OnceLock::new();

impl Shared {
    /// From now on they hold.
    pub(crate) fn apply(self, name: &str) {
        match self.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
        let _ = SHARED.set((self, Instant::now()));
        detail(&format!("{name} {}, arguments {:?}", crate::VERSION, args_os().skip(1).collect::<Vec<_>>()));
    }
}

fn get<T: Default>(of: impl FnOnce(&Shared) -> T) -> T {
    SHARED.get().map(|(shared, _)| of(shared)).unwrap_or_default()
}

/// Whether only results and errors are wanted.
#[must_use]
pub fn is_quiet() -> bool {
    get(|shared| shared.quiet)
}

/// Whether everything is wanted.
#[must_use]
pub fn is_verbose() -> bool {
    get(|shared| shared.verbose)
}

/// Whether a stream gets colours: as asked for, else if it is a terminal that shows them and its user wants them.
#[must_use]
pub fn has_colours(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// The same options for a program of the family that this one starts.
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

/// Says something that people should know besides the result.
pub fn note(text: &str) {
    say(&format!("note: {text}"));
}

/// Says what was done, in a line of its own.
pub fn say(text: &str) {
    if !is_quiet() {
        eprintln!("{text}");
    }
}

/// Says what only those want to know who ask for it.
pub(crate) fn detail(text: &str) {
    if is_verbose() {
        eprintln!("detail: {text}");
    }
}

/// Says how it went.
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
            assert_eq!(Color::of(&words), expected, "{line}");
        }
    }
}
