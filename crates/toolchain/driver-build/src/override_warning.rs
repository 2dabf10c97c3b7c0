//! Hides one warning of cargo from the user.

use crate::explain::strip_colors;

/// Cargo warns about every `paths` entry that changes dependencies. The warning begins with these words and ends with an
/// address. It is hidden because the entry is there to change the dependencies.
const OVERRIDE: &str = "warning: path override for crate `";
const OVERRIDE_ENDS: &str = "overriding-dependencies.html";

/// Removes that warning from cargo's messages.
#[derive(Default)]
pub(crate) struct WithoutOverride {
    pending: Vec<u8>,
    is_inside: bool,
    /// The warning has just ended; the empty line after it belongs to it.
    has_ended: bool,
}

impl WithoutOverride {
    /// Takes the next part of the messages and returns the bytes to show now: whole lines, and an unfinished line unless it could
    /// be the beginning of the warning.
    pub(crate) fn pass(&mut self, text: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(text);
        let mut shown = Vec::new();
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.line(&line, &mut shown);
        }
        let start = strip_colors(&String::from_utf8_lossy(&self.pending));
        if !self.is_inside && !start.is_empty() && !OVERRIDE.starts_with(&start) && !start.starts_with(OVERRIDE) {
            shown.append(&mut self.pending);
        }
        shown
    }

    /// Returns the rest after the last part.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        if self.is_inside { Vec::new() } else { std::mem::take(&mut self.pending) }
    }

    fn line(&mut self, line: &[u8], shown: &mut Vec<u8>) {
        let text = strip_colors(&String::from_utf8_lossy(line));
        let was_inside = self.is_inside;
        self.is_inside |= text.starts_with(OVERRIDE);
        let is_rest = std::mem::take(&mut self.has_ended) && text.trim().is_empty();
        if !self.is_inside && !is_rest {
            shown.extend_from_slice(line);
        } else if was_inside && text.trim_end().ends_with(OVERRIDE_ENDS) {
            self.is_inside = false;
            self.has_ended = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WithoutOverride;

    #[test]
    fn the_warning_about_the_override_is_not_shown_and_everything_else_is() {
        let output = "   Compiling x\nwarning: path override for crate `wdk-build` has altered the original list of\n\
                    dependencies; the\n\nThis\n\nhttps://doc/overriding-dependencies.html\n\nwarning: unused\n    Bui";
        for size in [1, 7, 1000] {
            let mut filter = WithoutOverride::default();
            let mut shown: Vec<u8> = output.as_bytes().chunks(size).flat_map(|chunk| filter.pass(chunk)).collect();
            shown.extend(filter.rest());
            assert_eq!(String::from_utf8(shown).unwrap(), "   Compiling x\nwarning: unused\n    Bui", "{size}");
        }
    }
}
