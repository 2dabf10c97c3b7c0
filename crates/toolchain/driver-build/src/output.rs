//! Standard output, and notes on standard error. What becomes of output that nobody reads is in `command_line`.

use std::any::Any;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::OnceLock;

use command_line::{escaped, write_stdout};

static MANNER: OnceLock<Manner> = OnceLock::new();

/// How much is printed to standard error, and whether in colours.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// No notes and no progress.
    pub is_quiet: bool,
    /// Also the commands that are started.
    pub is_verbose: bool,
    /// Whether this program and cargo use colours.
    pub has_colours: bool,
    /// Begins to show progress for the work that the text describes. It ends when the returned value is dropped.
    pub activity: fn(&'static str) -> Box<dyn Any>,
}

/// Sets the manner. Call it before anything is printed; later calls have no effect. The default has notes and no details, and
/// colours on a terminal unless `NO_COLOR` is set.
pub fn set(manner: Manner) {
    let _ = MANNER.set(manner);
}

pub(crate) fn manner() -> Manner {
    *MANNER.get_or_init(|| {
        let has_colours = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Manner { is_quiet: false, is_verbose: false, has_colours, activity: |_| Box::new(()) }
    })
}

/// Prints the command that is about to be started, as a detail.
pub(crate) fn starts(command: &impl Display) {
    if manner().is_verbose {
        eprintln!("detail: {}", escaped(&command.to_string()));
    }
}

/// Prints a note to standard error, indented below the title of the current step.
pub fn note(text: &str) {
    for line in text.lines().filter(|_| !manner().is_quiet) {
        eprintln!("      {}", escaped(line));
    }
}

/// Prints an error to standard error. Lines after the first are indented, so that they do not look like other messages.
pub fn error(text: &str) {
    let mut lines = text.lines();
    eprintln!("error: {}", escaped(lines.next().unwrap_or_default()));
    lines.for_each(|line| eprintln!("  {}", escaped(line)));
}

/// Prints the text to standard output, without adding a line end.
pub fn print(text: &str) {
    write_stdout(|mut stdout| {
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
}

/// Prints the text and ends the line.
pub fn print_line(text: &str) {
    print(&format!("{text}\n"));
}
