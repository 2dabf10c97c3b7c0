//! Columns of text for a terminal.

use crate::decode::escaped;

/// How wide a line may be; what is longer goes on below.
const WIDTH: usize = 118;

/// Rows of cells, aligned. Behind the cells of a row stands a list of words that is wrapped.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Which columns are numbers.
    right: &'static [usize],
    widths: Vec<usize>,
    rows: Vec<(Vec<String>, Vec<String>)>,
}

impl Columns {
    /// Columns, some of which hold numbers.
    #[must_use]
    pub const fn with_numbers(right: &'static [usize]) -> Self {
        Self { right, widths: Vec::new(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>, words: Vec<String>) {
        let cells: Vec<String> = cells.into_iter().map(|text| escaped(&text).into_owned()).collect();
        self.widths.resize(self.widths.len().max(cells.len()), 0);
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        self.rows.push((cells, words.into_iter().map(|text| escaped(&text).into_owned()).collect()));
    }

    /// How many rows wait for [`Columns::take_lines`].
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as indented lines. Later rows are aligned with them as far as they are no wider.
    pub fn take_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for (cells, words) in std::mem::take(&mut self.rows) {
            let mut line = String::from(" ");
            for (column, width) in self.widths.iter().enumerate() {
                let cell = cells.get(column).map_or("", String::as_str);
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, behind) = if self.right.contains(&column) { (&*space, "") } else { ("", &*space) };
                line.extend([" ", before, cell, behind, " "]);
            }
            let indent = line.chars().count();
            let mut used = indent;
            for word in words {
                let length = word.chars().count() + 1;
                if used + length > WIDTH && used > indent {
                    lines.push(std::mem::replace(&mut line, " ".repeat(indent)).trim_end().to_owned());
                    used = indent;
                }
                line.extend([" ", &word]);
                used += length;
            }
            lines.push(line.trim_end().to_owned());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn cells_are_aligned_and_long_rows_go_on_below() {
        let mut columns = Columns::with_numbers(&[0]);
        columns.row(["1".into(), "ab".into()], vec!["x".repeat(100), "y".repeat(100)]);
        columns.row(["10".into(), "a".into()], vec![]);
        let expected =
            [format!("   1  ab  {}", "x".repeat(100)), format!("          {}", "y".repeat(100)), "  10  a".into()];
        assert_eq!(columns.take_lines(), expected);
        columns.row(["2".into()], vec!["\x1bz".into()]);
        assert_eq!(columns.take_lines(), ["   2      \\u{1b}z"], "as wide as what was there before");
    }
}
