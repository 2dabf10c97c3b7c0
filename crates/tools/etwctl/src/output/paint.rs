//! Colours: of events by their level, on terminals only.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

use etw_session::platform::shows_colours;
use etw_types::Level;

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

/// The colour of a level; `None` for plain.
pub(crate) const fn of_level(level: Level) -> Option<&'static str> {
    match level {
        Level::Critical => Some("\x1b[1;31m"),
        Level::Error => Some("\x1b[31m"),
        Level::Warning => Some("\x1b[33m"),
        Level::Verbose => Some("\x1b[2m"),
        _ => None,
    }
}

/// The colour of the next line.
pub(crate) type Brush = Rc<Cell<Option<&'static str>>>;

/// A writer that colours every line with the brush.
#[derive(Debug)]
pub(crate) struct Painted<W> {
    out: W,
    brush: Brush,
}

impl<W> Painted<W> {
    pub(crate) fn new(out: W) -> (Self, Brush) {
        let brush = Brush::default();
        (Self { out, brush: Rc::clone(&brush) }, brush)
    }
}

impl<W> Painted<W> {
    /// What was written to.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for Painted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (self.brush.get(), bytes.strip_suffix(b"\n")) {
            (Some(colour), Some(line)) => {
                self.out.write_all(colour.as_bytes())?;
                self.out.write_all(line)?;
                self.out.write_all(b"\x1b[0m\n")?;
            }
            _ => self.out.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use etw_types::Level;

    use super::{Painted, of_level};

    #[test]
    fn lines_are_coloured_by_the_brush_and_end_plain() {
        let mut bytes = Vec::new();
        let (mut painted, brush) = Painted::new(&mut bytes);
        brush.set(of_level(Level::Error));
        painted.write_all(b"bad\n").unwrap();
        brush.set(of_level(Level::Informational));
        painted.write_all(b"good\n").unwrap();
        assert_eq!(bytes, b"\x1b[31mbad\x1b[0m\ngood\n");
    }
}
