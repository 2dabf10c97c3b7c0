//! Colours of events by their level.

use etw_types::Level;

/// Ends a colour.
pub(super) const PLAIN: &str = "\x1b[0m";

/// The colour of a level, as an escape sequence; `None` for plain.
pub(super) const fn of_level(level: Level) -> Option<&'static str> {
    match level {
        Level::Critical => Some("\x1b[1;31m"),
        Level::Error => Some("\x1b[31m"),
        Level::Warning => Some("\x1b[33m"),
        Level::Verbose => Some("\x1b[2m"),
        _ => None,
    }
}
