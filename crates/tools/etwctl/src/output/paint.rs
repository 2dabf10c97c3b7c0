//! Whether output has colours.

use std::io::{self, IsTerminal};

use etw_session::platform::shows_colours;

use crate::cli::Color;

/// Whether colours are used.
pub(crate) fn wanted(color: Color) -> bool {
    match color {
        Color::Auto => io::stdout().is_terminal() && may_colour(),
        Color::Always => true,
        Color::Never => false,
    }
}

/// Whether a terminal shows colours and its user wants them.
pub(crate) fn may_colour() -> bool {
    // By the convention of no-color.org: set, and not to nothing.
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && shows_colours()
}
