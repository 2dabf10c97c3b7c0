//! Strings that the rows of a page share.

use std::collections::HashMap;

/// Strings that events share, each written once.
#[derive(Debug, Default)]
pub(super) struct Strings {
    numbers: HashMap<String, usize>,
    pub(super) texts: Vec<String>,
}

impl Strings {
    /// Returns the index of a string, or -1 if there is none.
    pub(super) fn number(&mut self, text: Option<&str>) -> i64 {
        let Some(text) = text else { return -1 };
        let number = self.numbers.get(text).copied().unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.numbers.insert(text.to_owned(), self.texts.len() - 1);
            self.texts.len() - 1
        });
        i64::try_from(number).unwrap_or(-1)
    }
}
