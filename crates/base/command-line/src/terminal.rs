//! Text that others wrote, on a terminal. File names, debug output of drivers, names in traces and images may contain anything:
//! escape sequences that move the cursor, line ends that begin a line which looks like one of ours, characters that change the
//! direction of text.
//!
//! [`escaped`] is for one piece of such text within a line, whatever the output is. [`Screen`] is the last step before a
//! terminal: it lets nothing through that a terminal executes, except our own colours. Output that is not a terminal gets the
//! bytes unchanged, because they are data.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Escapes text of others, so that it stays within its line and does not affect a terminal. Control characters, line ends,
/// invisible characters and characters that change the text direction are shown as escapes such as `\n` and `\u{202e}`.
///
/// ```
/// assert_eq!(command_line::escaped("a\u{1b}[31m\nerror: b"), "a\\u{1b}[31m\\nerror: b");
/// ```
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|character| push(&mut shown, character));
    Cow::Owned(shown)
}

/// The text of a path in a message: [`escaped`], with bytes that are not UTF-8 as `\xNN`.
#[must_use]
pub fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&escaped(chunk.valid()));
        push_bytes(&mut text, chunk.invalid());
    }
    text
}

/// Whether a character can be printed as it is: not a control character, an invisible one, a line end or a change of direction.
fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~')
        || (!character.is_ascii() && (character.escape_debug().len() == 1 || extends(character)))
}

/// Whether a character is drawn onto the one before it, such as an accent or a vowel sign.
fn extends(character: char) -> bool {
    // The standard library escapes such characters only at the beginning of text.
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().count() == 2
}

fn push(text: &mut String, character: char) {
    if is_printable(character) {
        text.push(character);
    } else {
        text.extend(character.escape_debug());
    }
}

fn push_bytes(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

/// What is written to a [`Screen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Lines of text, or JSON.
    Plain,
    /// Lines of text with our colours. Everything in them that others wrote is [`escaped`].
    Coloured,
    /// Comma-separated values. A line end within quotation marks belongs to a cell.
    Csv,
}

/// A writer that makes text harmless if it goes to a terminal: what is not printable is shown as an escape, except line ends,
/// tabs and, in [`Content::Coloured`], colours. Other outputs get the bytes unchanged.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    is_terminal: bool,
    content: Content,
    /// The beginning of a character, a line end or a colour whose rest has not been written yet.
    pending: Vec<u8>,
    is_quoted: bool,
}

impl<W: Write + IsTerminal> Screen<W> {
    /// Creates the writer for a standard stream.
    pub fn new(out: W, content: Content) -> Self {
        let is_terminal = out.is_terminal();
        Self::with(out, is_terminal, content)
    }
}

impl<W: Write> Screen<W> {
    fn with(out: W, is_terminal: bool, content: Content) -> Self {
        Self { out, is_terminal, content, pending: Vec::new(), is_quoted: false }
    }

    /// Converts the pending bytes. Keeps an incomplete end, unless nothing follows.
    fn take(&mut self, is_end: bool) -> String {
        let bytes = std::mem::take(&mut self.pending);
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            let is_last = chunks.peek().is_none();
            let kept = self.push(&mut text, chunk.valid(), is_last && chunk.invalid().is_empty() && !is_end);
            self.pending.extend_from_slice(kept.as_bytes());
            let is_cut = is_last && !is_end && is_prefix(chunk.invalid());
            if is_cut {
                self.pending.extend_from_slice(chunk.invalid());
            } else {
                push_bytes(&mut text, chunk.invalid());
            }
        }
        text
    }

    /// Converts valid text. Returns its end if that can continue in the next write.
    fn push<'a>(&mut self, text: &mut String, valid: &'a str, may_continue: bool) -> &'a str {
        let mut rest = valid;
        while let Some(character) = rest.chars().next() {
            let after = rest.get(character.len_utf8()..).unwrap_or_default();
            match character {
                '\r' | '\x1b' if may_continue && is_open(rest) => return rest,
                '\x1b' if self.content == Content::Coloured && colour(rest).is_some() => {
                    let length = colour(rest).unwrap_or_default();
                    text.push_str(rest.get(..length).unwrap_or_default());
                    rest = rest.get(length..).unwrap_or_default();
                    continue;
                }
                // The end of a line of CSV. The terminal adds the carriage return itself.
                '\r' if after.starts_with('\n') && !self.is_quoted => {}
                '\n' if !self.is_quoted => text.push('\n'),
                '\t' => text.push('\t'),
                '"' if self.content == Content::Csv => {
                    self.is_quoted = !self.is_quoted;
                    text.push('"');
                }
                _ => push(text, character),
            }
            rest = after;
        }
        ""
    }
}

/// Whether the text is the beginning of a line end or of a colour, and nothing else.
fn is_open(text: &str) -> bool {
    match text.strip_prefix('\x1b') {
        Some("") => true,
        Some(rest) => rest.strip_prefix('[').is_some_and(|parameters| {
            parameters.len() <= 16 && parameters.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
        }),
        None => text == "\r",
    }
}

/// The length of the colour, `ESC [ numbers m`, that the text begins with.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let length = parameters.bytes().position(|byte| !(byte.is_ascii_digit() || byte == b';'))?;
    (parameters.as_bytes().get(length) == Some(&b'm')).then_some(length + 3)
}

/// Whether bytes that are not UTF-8 are the beginning of a character.
fn is_prefix(bytes: &[u8]) -> bool {
    !bytes.is_empty() && str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        let text = self.take(false);
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> Screen<W> {
    /// Writes what is still pending, and returns the writer below.
    ///
    /// # Errors
    ///
    /// Any error of the writer below.
    pub fn finish(mut self) -> io::Result<W>
    where
        W: Write,
    {
        let text = self.take(true);
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use super::{Content, Screen, escaped, shown};

    /// Writes the bytes in pieces of every length. The result must not depend on it.
    fn on_screen(bytes: &[u8], content: Content) -> String {
        let write = |size: usize| {
            let mut screen = Screen::with(Vec::new(), true, content);
            bytes.chunks(size).for_each(|piece| screen.write_all(piece).unwrap());
            String::from_utf8(screen.finish().unwrap()).unwrap()
        };
        let whole = write(bytes.len().max(1));
        (1..bytes.len()).for_each(|size| assert_eq!(write(size), whole, "in pieces of {size}"));
        whole
    }

    #[test]
    fn text_of_others_stays_in_its_line() {
        for (text, expected) in [
            ("plain ünïcode 日本 ที่ नी e\u{301} 👍\u{fe0f}", "plain ünïcode 日本 ที่ नी e\u{301} 👍\u{fe0f}"),
            ("two\nlines\r\n\tend", "two\\nlines\\r\\n\\tend"),
            ("\x1b]0;title\x07\x1b[2J", "\\u{1b}]0;title\\u{7}\\u{1b}[2J"),
            ("\u{9b}31m\u{85}\u{7f}\0", "\\u{9b}31m\\u{85}\\u{7f}\\0"),
            (
                "a\u{202e}b\u{2066}c\u{200f}\u{61c}\u{2028}\u{feff}",
                "a\\u{202e}b\\u{2066}c\\u{200f}\\u{61c}\\u{2028}\\u{feff}",
            ),
        ] {
            assert_eq!(escaped(text), expected);
        }
        assert_eq!(shown(Path::new("a\nerror: b")), "a\\nerror: b");
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf_8_shows_its_bytes() {
        let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xff\x1b.etl");
        assert_eq!(shown(Path::new(path)), "odd\\xff\\u{1b}.etl");
    }

    #[test]
    fn a_terminal_gets_lines_and_our_colours_and_nothing_else_that_it_executes() {
        let all = b"\x1b[31mred\x1b[0m\ttab\r\nnext \x1b[2K\x1b[1;1H\rover \xff \xe2\x80\xae \xc3\xbc\x1b[";
        let plain = on_screen(all, Content::Plain);
        assert_eq!(
            plain,
            "\\u{1b}[31mred\\u{1b}[0m\ttab\nnext \\u{1b}[2K\\u{1b}[1;1H\\rover \\xff \\u{202e} ü\\u{1b}["
        );
        let coloured = on_screen(all, Content::Coloured);
        assert_eq!(coloured, "\x1b[31mred\x1b[0m\ttab\nnext \\u{1b}[2K\\u{1b}[1;1H\\rover \\xff \\u{202e} ü\\u{1b}[");
    }

    #[test]
    fn a_cell_of_csv_cannot_begin_a_line() {
        let csv = b"time,event\r\n1,\"a \"\"b\"\"\r\nerror: c\nd\"\r\n2,e\r\n";
        assert_eq!(on_screen(csv, Content::Csv), "time,event\n1,\"a \"\"b\"\"\\r\\nerror: c\\nd\"\n2,e\n");
    }

    #[test]
    fn what_is_not_a_terminal_gets_the_bytes() {
        let bytes = b"\x1b[2J\r\n\xff\xe2\x80";
        for content in [Content::Plain, Content::Coloured, Content::Csv] {
            let mut screen = Screen::with(Vec::new(), false, content);
            screen.write_all(bytes).unwrap();
            assert_eq!(screen.finish().unwrap(), bytes);
        }
    }
}
