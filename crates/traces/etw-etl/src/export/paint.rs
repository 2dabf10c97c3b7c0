//! Colours of events, by level.

use etw_types::Level;

/// The escape sequence that resets the colour.
pub(super) const PLAIN: &str = "\x1b[0m";

/// Returns the escape sequence for the colour of a level, or `None` if it has no colour.
pub(super) const fn of_level(level: Level) -> Option<&'static str> {
    match level {
        Level::Critical => Some("\x1b[1;31m"),
        Level::Error => Some("\x1b[31m"),
        Level::Warning => Some("\x1b[33m"),
        Level::Verbose => Some("\x1b[2m"),
        _ => None,
    }
}
