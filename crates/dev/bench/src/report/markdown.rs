//! The report as the document `docs/performance.md`.

use std::fmt::Write as _;

use super::page::Page;
use super::{Cell, Goal, Report, Section, Verdict};

/// Returns the document. It keeps the parts of the earlier document that were not measured; `names` is the order of all parts.
#[must_use]
pub fn markdown(report: &Report, earlier: &str, names: &[&str]) -> String {
    let mut page = Page::of(report);
    page.keep_others(Page::parse(earlier), names);
    page.render()
}

/// Returns the row of a goal.
pub(super) fn goal_row(goal: &Goal, part: &str) -> String {
    let measured = goal.measured.map_or_else(|| String::from("–"), super::short);
    row(&[
        goal.what.clone(),
        goal.limit_text(),
        goal.origin.as_str().into(),
        measured,
        goal.outcome(),
        goal.note.clone(),
        part.into(),
    ])
}

/// Returns the reason why a goal was missed.
pub(super) fn item(goal: &Goal, part: &str) -> Option<String> {
    let is_missed = goal.verdict() == Verdict::Missed;
    is_missed.then(|| format!("- `{part}`: {}: {}. {}", goal.what, goal.outcome(), goal.why).trim_end().to_owned())
}

/// Returns a table with its heading and its text, after a first line.
pub(super) fn section(section: &Section, first: &str) -> String {
    let mut text = format!("## {}\n\n{first}\n\n{}\n\n|", section.title, section.text);
    for column in section.columns.iter().map(String::as_str).chain(["how"]) {
        let _ = write!(text, " {column} |");
    }
    text.push_str("\n|");
    for index in 0..=section.columns.len() {
        let is_text = index == 0 || index == section.columns.len();
        text.push_str(if is_text { "---|" } else { "---:|" });
    }
    text.push('\n');
    for line in &section.rows {
        let mut cells: Vec<String> = line.cells.iter().map(Cell::show).collect();
        cells.resize(section.columns.len(), String::new());
        cells.push(line.how.clone());
        text.push_str(&row(&cells));
        text.push('\n');
    }
    text
}

/// Returns a row of a table.
pub(super) fn row(cells: &[String]) -> String {
    let mut text = String::from("|");
    for cell in cells {
        let cell = cell.replace('|', "\\|").replace('\n', " ");
        let _ = write!(text, " {} |", cell.trim());
    }
    text
}

/// Returns the cells of a row.
pub(super) fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split(" | ").map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::markdown;

    #[test]
    fn every_row_has_as_many_cells_as_the_table() {
        let text = markdown(&sample(), "", &["size"]);
        assert!(text.contains("| E0 k0 | 15 | 24 | stepped, twice |\n"));
        assert!(text.contains("| E2 k0 |  |  | skipped: no ptrace |\n"));
        assert!(text.contains("|---|---:|---:|---|\n"));
        assert!(
            text.contains(
                "| a \\| goal | ≤ 0.5 | target | 0.51 | **missed** by 0.01 (+2.0 %) | as measured | size |\n"
            )
        );
        assert!(text.contains("| today | a <fast> one |\n"));
        assert!(text.contains("- `size`: a | goal: **missed** by 0.01 (+2.0 %). it is hard\n"));
        assert!(text.contains("short run"));
    }
}
