//! The measurements as data: tables, goals, and the machine. Terminal output and document are made from it.

mod markdown;
mod page;
mod table;

pub use markdown::markdown;
pub use table::text;

/// One run of the bench.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Whether this was a quick run, which omits some parts.
    pub quick: bool,
    /// The machine: names and values, in order. They begin with the date, which names the run.
    pub machine: Vec<(String, String)>,
    /// The parts that were measured, in order.
    pub parts: Vec<Part>,
}

/// One part of the bench.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Its name on the command line.
    pub name: String,
    /// Its tables.
    pub sections: Vec<Section>,
    /// Its goals.
    pub goals: Vec<Goal>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// An explanation of what is measured, in a few sentences.
    pub text: String,
    /// Names of the columns, without the last column, which says how a row was counted.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// At most as many as the table has columns.
    pub cells: Vec<Cell>,
    /// How and how often it was counted, or why it was not.
    pub how: String,
}

/// One cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number, and the number of decimal places to show.
    Number(f64, u8),
    /// Not measured.
    Empty,
}

/// A goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What is measured.
    pub what: String,
    /// The number to reach.
    pub limit: f64,
    /// Whether it is an upper or a lower limit.
    pub bound: Bound,
    /// Where the limit is from.
    pub origin: Origin,
    /// The measured value; `None` if it could not be measured.
    pub measured: Option<f64>,
    /// Whether the value is the same on every machine.
    pub everywhere: bool,
    /// The source of the number, or why there is none.
    pub note: String,
    /// The reason, if the goal is missed.
    pub why: String,
}

/// Where the limit of a goal is from. A limit is never chosen just beyond the last result, except as [`Origin::Regression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What the peer of the same run needs.
    Peer,
    /// What the design promises.
    Promise,
    /// Chosen for the users who wait or pay for it.
    Target,
    /// What was reached, with a margin. It only shows that something became worse.
    Regression,
}

/// The side of the limit that reaches the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No more than the limit.
    AtMost,
    /// No less than the limit.
    AtLeast,
}

/// The outcome of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The limit is met.
    Reached,
    /// The limit is not met.
    Missed,
    /// There is no measurement.
    NotMeasured,
}

impl Origin {
    /// Returns the text to display.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Promise => "promise",
            Self::Target => "target",
            Self::Regression => "regression limit",
        }
    }
}

impl Section {
    /// Creates an empty table.
    #[must_use]
    pub fn new(title: &str, text: &str, columns: &[&str]) -> Self {
        Self {
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

    /// Adds a row for something that was not measured.
    pub fn skipped(&mut self, name: &str, reason: &str) {
        self.row(vec![Cell::text(name)], format!("skipped: {}", reason.trim()));
    }
}

impl Cell {
    /// Creates a cell with text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a cell with a number that may be missing.
    #[must_use]
    pub fn number(value: Option<f64>, digits: u8) -> Self {
        value.map_or(Self::Empty, |value| Self::Number(value, digits))
    }

    /// Creates a cell with a count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
    pub fn count(value: u64) -> Self {
        Self::Number(value as f64, 0)
    }

    /// Returns the text to display. Digits are in groups of three.
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
    /// Returns the outcome.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.measured, self.bound) {
            (None, _) => Verdict::NotMeasured,
            (Some(measured), Bound::AtMost) if measured <= self.limit => Verdict::Reached,
            (Some(measured), Bound::AtLeast) if measured >= self.limit => Verdict::Reached,
            _ => Verdict::Missed,
        }
    }

    /// Returns the outcome in words: reached, or missed and by how much.
    #[must_use]
    pub fn outcome(&self) -> String {
        match (self.verdict(), self.measured) {
            (Verdict::Reached, _) => String::from("reached"),
            (Verdict::Missed, Some(measured)) if self.limit != 0.0 => {
                let percent = 100.0 * (measured - self.limit) / self.limit;
                format!("**missed** by {} ({percent:+.1} %)", short((measured - self.limit).abs()))
            }
            (Verdict::Missed, _) => String::from("**missed**"),
            (Verdict::NotMeasured, _) => String::from("not measured"),
        }
    }

    /// Returns the limit in words.
    #[must_use]
    pub fn limit_text(&self) -> String {
        let sign = if self.bound == Bound::AtMost { "≤" } else { "≥" };
        format!("{sign} {}", short(self.limit))
    }
}

impl Report {
    /// Returns the goals that every machine must reach and this run did not.
    #[must_use]
    pub fn failures(&self) -> Vec<&Goal> {
        self.missed().into_iter().filter(|goal| goal.everywhere).collect()
    }

    /// Returns the goals of all parts.
    pub fn goals(&self) -> impl Iterator<Item = &Goal> {
        self.parts.iter().flat_map(|part| &part.goals)
    }

    /// Returns all goals that this run did not reach.
    #[must_use]
    pub fn missed(&self) -> Vec<&Goal> {
        self.goals().filter(|goal| goal.verdict() != Verdict::Reached).collect()
    }
}

/// Formats a number with as many digits as it needs, and at most three decimal places.
pub(crate) fn short(value: f64) -> String {
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
    use super::{Bound, Cell, Goal, Origin, Part, Report, Section, Verdict, short};

    /// Returns a report with one of each element.
    pub(crate) fn sample() -> Report {
        let mut section = Section::new("Instructions", "Stepped.", &["event", "ours", "peer"]);
        section.row(vec![Cell::text("E0 k0"), Cell::count(15), Cell::Number(24.0, 0)], "stepped, twice");
        section.row(vec![Cell::text("E1 k0"), Cell::Number(12345.678, 1), Cell::Empty], "stepped, twice");
        section.skipped("E2 k0", "no ptrace");
        Report {
            quick: true,
            machine: vec![("date".into(), "today".into()), ("processor".into(), "a <fast> one".into())],
            parts: vec![Part {
                name: "size".into(),
                sections: vec![section],
                goals: vec![
                    goal(0.75, Bound::AtMost, Some(0.625)),
                    goal(0.5, Bound::AtMost, Some(0.51)),
                    goal(100.0, Bound::AtLeast, None),
                ],
            }],
        }
    }

    fn goal(limit: f64, bound: Bound, measured: Option<f64>) -> Goal {
        Goal {
            what: "a | goal".into(),
            limit,
            bound,
            origin: Origin::Target,
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
        assert_eq!(sample().missed().len(), 2);
        let mut report = sample();
        report.parts.iter_mut().flat_map(|part| &mut part.goals).for_each(|goal| goal.everywhere = false);
        assert_eq!(report.failures().len(), 0, "one missed and one not measured");
        assert_eq!(report.missed().len(), 2, "one missed and one not measured");
    }

    #[test]
    fn numbers_are_grouped_and_short() {
        assert_eq!(Cell::Number(1_234_567.0, 0).show(), "1,234,567");
        assert_eq!(Cell::Number(-1234.5, 1).show(), "-1,234.5");
        assert_eq!(Cell::Number(999.0, 0).show(), "999");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(1000.0), "1,000");
    }
}
