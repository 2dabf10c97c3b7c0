//! What was measured, as data: tables, goals, and the machine. Terminal, file, document and chart are made from it.

mod chart;
mod json;
mod markdown;
mod table;

pub use chart::chart;
pub use json::{from_json, to_json};
pub use markdown::markdown;
pub use table::text;

/// One run of the bench.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// A short run, which leaves parts out.
    pub quick: bool,
    /// What it ran on: names and values, in order.
    pub machine: Vec<(String, String)>,
    /// The tables.
    pub sections: Vec<Section>,
    /// What was to be reached.
    pub goals: Vec<Goal>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// A short name, for readers of the file.
    pub id: String,
    /// The heading.
    pub title: String,
    /// What is measured, in a few sentences.
    pub text: String,
    /// Names of the columns. The last column, how a row was counted, has none here.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// As many as the table has columns, or fewer.
    pub cells: Vec<Cell>,
    /// How it was counted and how often, or why it was not.
    pub how: String,
}

/// One place in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number and how many digits behind the point are shown.
    Number(f64, u8),
    /// Not measured.
    Empty,
}

/// Something that was to be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What is measured.
    pub what: String,
    /// The number to reach.
    pub limit: f64,
    /// Whether it is an upper or a lower limit.
    pub bound: Bound,
    /// What was measured; `None` where it could not be.
    pub measured: Option<f64>,
    /// Whether every machine measures the same.
    pub everywhere: bool,
    /// Where the number comes from, or why there is none.
    pub note: String,
    /// What stands in the way, where it is missed.
    pub why: String,
}

/// Which side of a limit is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No more than the limit.
    AtMost,
    /// No less than the limit.
    AtLeast,
}

/// How a goal turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As good as wanted, or better.
    Reached,
    /// Not as good as wanted.
    Missed,
    /// Nobody knows.
    NotMeasured,
}

impl Section {
    /// An empty table.
    #[must_use]
    pub fn new(id: &str, title: &str, text: &str, columns: &[&str]) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            text: text.into(),
            columns: columns.iter().map(|&column| column.into()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>, how: impl Into<String>) {
        self.rows.push(Row { cells, how: how.into() });
    }

    /// Adds a row for what was not measured.
    pub fn skipped(&mut self, name: &str, reason: &str) {
        self.row(vec![Cell::text(name)], format!("skipped: {}", reason.trim()));
    }
}

impl Cell {
    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number that may be missing.
    #[must_use]
    pub fn number(value: Option<f64>, digits: u8) -> Self {
        value.map_or(Self::Empty, |value| Self::Number(value, digits))
    }

    /// A count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
    pub fn count(value: u64) -> Self {
        Self::Number(value as f64, 0)
    }

    /// As it is shown: digits in groups of three.
    #[must_use]
    pub fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(value, digits) => grouped(*value, *digits),
            Self::Empty => String::from("–"),
        }
    }
}

impl Goal {
    /// How it turned out.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.measured, self.bound) {
            (None, _) => Verdict::NotMeasured,
            (Some(measured), Bound::AtMost) if measured <= self.limit => Verdict::Reached,
            (Some(measured), Bound::AtLeast) if measured >= self.limit => Verdict::Reached,
            _ => Verdict::Missed,
        }
    }

    /// In words: reached, or by how much not.
    #[must_use]
    pub fn outcome(&self) -> String {
        match (self.verdict(), self.measured) {
            (Verdict::Reached, _) => String::from("reached"),
            (Verdict::Missed, Some(measured)) if self.limit != 0.0 => {
                let percent = 100.0 * (measured - self.limit) / self.limit;
                format!("**missed** by {} ({percent:+.1} %)", plain((measured - self.limit).abs()))
            }
            (Verdict::Missed, _) => String::from("**missed**"),
            (Verdict::NotMeasured, _) => String::from("not measured"),
        }
    }

    /// The limit in words.
    #[must_use]
    pub fn limit_text(&self) -> String {
        let sign = if self.bound == Bound::AtMost { "≤" } else { "≥" };
        format!("{sign} {}", plain(self.limit))
    }
}

impl Report {
    /// Goals that every machine has to reach and this run did not.
    #[must_use]
    pub fn failures(&self) -> Vec<&Goal> {
        self.goals.iter().filter(|goal| goal.everywhere && goal.verdict() != Verdict::Reached).collect()
    }

    /// A number of a table, by the name in the first column of its row and the column's name.
    #[must_use]
    pub fn number(&self, section: &str, row: &str, column: &str) -> Option<f64> {
        let section = self.sections.iter().find(|each| each.id == section)?;
        let at = section.columns.iter().position(|each| each == column)?;
        let row = section.rows.iter().find(|each| each.cells.first() == Some(&Cell::text(row)))?;
        match row.cells.get(at)? {
            Cell::Number(value, _) => Some(*value),
            _ => None,
        }
    }
}

/// A number with as many digits as it needs, at most three behind the point.
pub(crate) fn plain(value: f64) -> String {
    let text = grouped(value, 3);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn grouped(value: f64, digits: u8) -> String {
    let text = format!("{value:.*}", usize::from(digits));
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Bound, Cell, Goal, Report, Section, Verdict, plain};

    /// A report with one of everything.
    pub(crate) fn sample() -> Report {
        let mut section = Section::new("instructions", "Instructions", "Stepped.", &["event", "ours", "peer"]);
        section.row(vec![Cell::text("E0 k0"), Cell::count(15), Cell::Number(24.0, 0)], "stepped, twice");
        section.row(vec![Cell::text("E1 k0"), Cell::Number(12345.678, 1), Cell::Empty], "stepped, twice");
        section.skipped("E2 k0", "no ptrace");
        Report {
            quick: true,
            machine: vec![("processor".into(), "a <fast> one".into())],
            sections: vec![section],
            goals: vec![
                goal(0.75, Bound::AtMost, Some(0.625)),
                goal(0.5, Bound::AtMost, Some(0.51)),
                goal(100.0, Bound::AtLeast, None),
            ],
        }
    }

    fn goal(limit: f64, bound: Bound, measured: Option<f64>) -> Goal {
        Goal {
            what: "a | goal".into(),
            limit,
            bound,
            measured,
            everywhere: true,
            note: "as measured".into(),
            why: "it is hard".into(),
        }
    }

    #[test]
    fn goals_are_held_against_their_limits() {
        assert_eq!(goal(0.5, Bound::AtMost, Some(0.5)).verdict(), Verdict::Reached);
        assert_eq!(goal(0.5, Bound::AtMost, Some(0.51)).outcome(), "**missed** by 0.01 (+2.0 %)");
        assert_eq!(goal(300.0, Bound::AtLeast, Some(150.0)).outcome(), "**missed** by 150 (-50.0 %)");
        assert_eq!(goal(0.0, Bound::AtMost, Some(1.0)).outcome(), "**missed**");
        assert_eq!(goal(1.0, Bound::AtLeast, None).verdict(), Verdict::NotMeasured);
        assert_eq!(sample().failures().len(), 2);
    }

    #[test]
    fn numbers_are_grouped_and_short() {
        assert_eq!(Cell::Number(1_234_567.0, 0).show(), "1,234,567");
        assert_eq!(Cell::Number(-1234.5, 1).show(), "-1,234.5");
        assert_eq!(Cell::Number(999.0, 0).show(), "999");
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(1000.0), "1,000");
    }

    #[test]
    fn numbers_are_found_by_row_and_column() {
        assert_eq!(sample().number("instructions", "E0 k0", "peer"), Some(24.0));
        assert_eq!(sample().number("instructions", "E1 k0", "peer"), None);
        assert_eq!(sample().number("instructions", "E9 k0", "peer"), None);
    }
}
