//! Columns for a terminal.

/// How wide a line may be; what is longer goes on below.
const WIDTH: usize = 118;

/// Rows of cells, aligned. The last cell of a row is a list of words that is wrapped.
#[derive(Default)]
pub(crate) struct Table {
    /// Which columns are numbers.
    right: &'static [usize],
    rows: Vec<(Vec<String>, Vec<String>)>,
}

impl Table {
    /// A table whose given columns are numbers.
    pub(crate) fn with_numbers(right: &'static [usize]) -> Self {
        Self { right, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>, words: Vec<String>) {
        self.rows.push((cells.into_iter().collect(), words));
    }

    /// The lines, each indented.
    pub(crate) fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(|(cells, _)| cells.len()).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|(cells, _)| cells.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines = Vec::new();
        for (cells, words) in &self.rows {
            let mut line = String::from(" ");
            for (column, width) in widths.iter().enumerate() {
                let cell = cells.get(column).map_or("", String::as_str);
                let space = " ".repeat(width - cell.chars().count());
                line.push(' ');
                line += &if self.right.contains(&column) { space + cell } else { cell.to_owned() + &space };
                line.push(' ');
            }
            let indent = line.chars().count();
            let mut used = indent;
            for word in words {
                let length = word.chars().count() + 1;
                if used + length > WIDTH && used > indent {
                    lines.push(std::mem::replace(&mut line, " ".repeat(indent)).trim_end().to_owned());
                    used = indent;
                }
                line.push(' ');
                line.push_str(word);
                used += length;
            }
            lines.push(line.trim_end().to_owned());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn cells_are_aligned_and_long_rows_go_on_below() {
        let mut table = Table::with_numbers(&[0]);
        table.row(["1".into(), "ab".into()], vec!["x".repeat(100), "y".repeat(100)]);
        table.row(["10".into(), "a".into()], vec![]);
        let lines = table.lines();
        assert_eq!(lines[0], format!("   1  ab  {}", "x".repeat(100)));
        assert_eq!(lines[1], format!("          {}", "y".repeat(100)));
        assert_eq!(lines[2], "  10  a");
    }
}
