//! The report as text for a terminal.

use std::fmt::Write as _;

use super::{Cell, Report, Section, Verdict};

/// Returns the whole report.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for section in report.parts.iter().flat_map(|part| &part.sections) {
        text.push_str(&table(section));
        text.push('\n');
    }
    text + &goals(report)
}

fn table(section: &Section) -> String {
    let mut head = section.columns.clone();
    head.push(String::from("how"));
    let mut lines = vec![head];
    for row in &section.rows {
        let mut line: Vec<String> = row.cells.iter().map(Cell::show).collect();
        line.resize(section.columns.len(), String::new());
        line.push(row.how.clone());
        lines.push(line);
    }
    let mut text = format!("{}\n", section.title);
    let widths = widths(&lines);
    for line in &lines {
        let mut out = String::from(" ");
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let last = index + 1 == line.len();
            // Names are aligned left, numbers right; the last column has no padding.
            let room = width - cell.chars().count();
            let (before, after) = if index == 0 {
                (0, room)
            } else if last {
                (0, 0)
            } else {
                (room, 0)
            };
            let _ = write!(out, " {}{cell}{} ", " ".repeat(before), " ".repeat(after));
        }
        text.push_str(out.trim_end());
        text.push('\n');
    }
    text
}

fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}

fn goals(report: &Report) -> String {
    let mut section = Section::new("Goals", "", &["goal", "limit", "from", "measured", "outcome"]);
    for goal in report.goals() {
        let measured = goal.measured.map_or(Cell::Empty, |value| Cell::text(super::short(value)));
        let outcome = goal.outcome().replace("**", "");
        section.row(
            vec![
                Cell::text(&goal.what),
                Cell::text(goal.limit_text()),
                Cell::text(goal.origin.as_str()),
                measured,
                Cell::text(outcome),
            ],
            &goal.note,
        );
    }
    let count = |verdict| report.goals().filter(|goal| goal.verdict() == verdict).count();
    format!(
        "{}{} goals reached, {} missed, {} not measured\n",
        table(&section),
        count(Verdict::Reached),
        count(Verdict::Missed),
        count(Verdict::NotMeasured)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::text;

    #[test]
    fn columns_are_aligned() {
        let text = text(&sample());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  event      ours  peer  how");
        assert_eq!(lines[2], "  E0 k0        15    24  stepped, twice");
        assert_eq!(lines[3], "  E1 k0  12,345.7     –  stepped, twice");
        assert!(lines[4].ends_with("skipped: no ptrace"));
        assert!(text.ends_with("1 goals reached, 1 missed, 1 not measured\n"), "{text}");
    }
}
