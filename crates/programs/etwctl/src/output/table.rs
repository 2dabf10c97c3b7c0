//! Tables and records, as text or as JSON.

use std::fmt::Write;

use super::json::{Json, cell_text, object};

/// Rows of cells, with names for the columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Json>>,
}

impl Table {
    pub(crate) fn new(columns: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Json>) {
        self.rows.push(cells);
    }

    /// The rows as an array of objects.
    pub(crate) fn json(self) -> Json {
        let columns = self.columns;
        self.rows.into_iter().map(|row| object(columns.iter().copied().zip(row))).collect()
    }

    /// The table as text. Columns are as wide as their longest cell; numbers are right-aligned.
    pub(crate) fn text(&self) -> String {
        let cells: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(cell_text).collect()).collect();
        let width = |column: usize, name: &str| {
            let cells = cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([name.chars().count()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(|(column, name)| width(column, name)).collect();
        let mut text = String::new();
        let header = self.columns.iter().map(|name| (name.to_uppercase(), false));
        line(&mut text, header, &widths);
        for (row, cells) in self.rows.iter().zip(cells) {
            line(
                &mut text,
                cells.into_iter().zip(row).map(|(cell, value)| (cell, matches!(value, Json::Number(_)))),
                &widths,
            );
        }
        text
    }
}

fn line(text: &mut String, cells: impl Iterator<Item = (String, bool)>, widths: &[usize]) {
    let start = text.len();
    for ((cell, is_number), width) in cells.zip(widths) {
        // Writing to a string cannot fail.
        let _ = if is_number { write!(text, "{cell:>width$}  ") } else { write!(text, "{cell:width$}  ") };
    }
    let end = text.get(start..).map_or(start, |line| start + line.trim_end().len());
    text.truncate(end);
    text.push('\n');
}

/// Formats names and values, one pair per line.
pub(crate) fn record(members: &[(&'static str, Json)]) -> String {
    let width = members.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    members.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:width$}  {}", cell_text(value));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_as_wide_as_needed_and_numbers_stand_to_the_right() {
        let mut table = Table::new(&["name", "lost"]);
        table.row(vec!["a longer name".into(), 7_u32.into()]);
        table.row(vec!["b".into(), 1_234_567_u32.into()]);
        assert_eq!(table.text(), "NAME           LOST\na longer name        7\nb              1234567\n");
        assert_eq!(table.json().to_string(), r#"[{"name":"a longer name","lost":7},{"name":"b","lost":1234567}]"#);
    }
}
