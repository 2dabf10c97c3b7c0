//! Aligned columns of text for a terminal.

use super::paint::PLAIN;
use crate::decode::escaped;

/// Default line width. Longer rows continue on the next line.
const WIDTH: usize = 118;
/// Minimum width for the words of a row, however narrow the terminal is.
const LEAST_WORDS: usize = 20;

/// Rows of aligned cells. After its cells, a row has a list of words that is wrapped.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Indices of the right-aligned columns, which hold numbers.
    right: &'static [usize],
    widths: Vec<usize>,
    rows: Vec<Row>,
    /// Maximum line width.
    width: usize,
    /// Whether words that are wider than a line are broken.
    breaks: bool,
}

#[derive(Clone, Debug)]
struct Row {
    cells: Vec<String>,
    words: Vec<String>,
    colour: Option<&'static str>,
}

impl Default for Columns {
    fn default() -> Self {
        Self::with_numbers(&[])
    }
}

impl Columns {
    /// Creates columns. `right` lists the indices of the columns that hold numbers, which are right-aligned.
    #[must_use]
    pub const fn with_numbers(right: &'static [usize]) -> Self {
        Self { right, widths: Vec::new(), rows: Vec::new(), width: WIDTH, breaks: false }
    }

    /// Limits lines to this width, such as that of a terminal. Words that are wider continue on the next line.
    pub const fn fit(&mut self, width: usize) {
        self.width = width;
        self.breaks = true;
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>, words: Vec<String>) {
        self.coloured(cells, words, None);
    }

    /// Adds a row. `colour` is the escape sequence of its colour.
    pub(crate) fn coloured(
        &mut self,
        cells: impl IntoIterator<Item = String>,
        words: Vec<String>,
        colour: Option<&'static str>,
    ) {
        let cells: Vec<String> = cells.into_iter().map(|text| escaped(&text).into_owned()).collect();
        self.widths.resize(self.widths.len().max(cells.len()), 0);
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        let words = words.into_iter().map(|text| escaped(&text).into_owned()).collect();
        self.rows.push(Row { cells, words, colour });
    }

    /// Returns the number of rows that [`Columns::take_lines`] will return.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no such rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Removes the rows and returns them as indented lines. Rows added later are aligned with these unless their cells are wider.
    pub fn take_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for Row { cells, words, colour } in std::mem::take(&mut self.rows) {
            let painted = |line: &str| match colour {
                Some(colour) => format!("{colour}{line}{PLAIN}"),
                None => line.to_owned(),
            };
            let mut line = String::from(" ");
            for (column, width) in self.widths.iter().enumerate() {
                let cell = cells.get(column).map_or("", String::as_str);
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, behind) = if self.right.contains(&column) { (&*space, "") } else { ("", &*space) };
                line.extend([" ", before, cell, behind, " "]);
            }
            // On a narrow terminal the words continue below the cells instead of beside them.
            let indent = line.chars().count();
            let below = if indent + LEAST_WORDS > self.width { 4.min(indent) } else { indent };
            let width = self.width.max(below + LEAST_WORDS);
            let mut used = indent;
            for word in words {
                let mut rest = word.as_str();
                loop {
                    let room = width.saturating_sub(used + 1);
                    let length = rest.chars().count();
                    let fits = length <= room;
                    if !fits && used > below && (length <= width - below || room < LEAST_WORDS || !self.breaks) {
                        lines.push(painted(std::mem::replace(&mut line, " ".repeat(below)).trim_end()));
                        used = below;
                        continue;
                    }
                    let cut = rest
                        .char_indices()
                        .nth(room)
                        .filter(|_| !fits && self.breaks)
                        .map_or(rest.len(), |(place, _)| place);
                    let (start, end) = rest.split_at_checked(cut).unwrap_or((rest, ""));
                    line.extend([" ", start]);
                    used += start.chars().count() + 1;
                    rest = end;
                    if rest.is_empty() {
                        break;
                    }
                }
            }
            lines.push(painted(line.trim_end()));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn words_are_wrapped_at_the_width_and_broken_only_if_they_must() {
        let lines = |width, words: &[usize]| {
            let mut columns = Columns::default();
            assert!(columns.is_empty());
            columns.fit(width);
            columns.row(["cell".into()], words.iter().map(|length| "w".repeat(*length)).collect());
            assert_eq!(columns.len(), 1);
            assert!(!columns.is_empty());
            let lines = columns.take_lines();
            assert!(columns.is_empty());
            lines.iter().map(|line| line.trim_start().replace("cell", "|").trim_start().to_owned()).collect::<Vec<_>>()
        };
        // The cell takes seven characters, and a word the blank before it.
        let w = |length: usize| "w".repeat(length);
        assert_eq!(lines(30, &[22]), [format!("|  {}", w(22))]);
        assert_eq!(lines(30, &[10, 11]), [format!("|  {} {}", w(10), w(11))]);
        assert_eq!(lines(30, &[10, 12]), [format!("|  {}", w(10)), w(12)]);
        // A word that is longer than a line fills the lines.
        assert_eq!(lines(30, &[50]), [format!("|  {}", w(22)), w(22), w(6)]);
        assert_eq!(
            lines(30, &[5, 50]),
            [format!("|  {}", w(5)), w(22), w(22), w(6)],
            "too little room beside the first"
        );
        // With room for 20 characters, only a word that fits into no line is broken.
        assert_eq!(lines(60, &[10, 45]), [format!("|  {}", w(10)), w(45)]);
        assert_eq!(lines(60, &[10, 60]), [format!("|  {} {}", w(10), w(41)), w(19)]);
        // With less than 20 characters beside the cells, the words continue below them.
        assert_eq!(lines(26, &[18]), [format!("|  {}", w(18))]);
        assert_eq!(lines(26, &[30]), ["|".to_owned(), w(21), w(9)]);
        assert_eq!(lines(27, &[30]), [format!("|  {}", w(19)), w(11)]);
    }

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
        columns.fit(30);
        columns.row(["3".into(), "event".into()], vec!["a".repeat(12), "b".repeat(8)]);
        columns.coloured(["4".into(), "a long name of an event".into()], vec!["word".into()], Some("\x1b[31m"));
        assert_eq!(
            columns.take_lines(),
            [
                "   3  event".to_owned(),
                format!("     {} {}", "a".repeat(12), "b".repeat(8)),
                "\x1b[31m   4  a long name of an event\x1b[0m".to_owned(),
                "\x1b[31m     word\x1b[0m".to_owned(),
            ]
        );
    }
}
