//! The report as the document `docs/performance.md`.

use std::fmt::Write as _;

use super::{Cell, Goal, Report, Verdict};

const HEAD: &str = "\
# Performance

What an event costs, compared with other tools, measured in one run. `cargo xtask bench --write-docs` writes this file; numbers
in it are not edited by hand. *Ours* is `wdk-etw`, *peer* is Microsoft's `tracelogging` 1.2.4 with its feature `kernel_mode`. Nothing here ran
on Windows: images are release builds for x86_64-pc-windows-msvc, run in a Linux process.
";

/// Returns the document.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = String::from(HEAD);
    if report.quick {
        text.push_str("\nThis was a short run (`--quick`): the parts that it omits are shown as skipped.\n");
    }
    text.push_str("\n## Goals\n\n| goal | limit | measured | outcome | source |\n|---|---|---|---|---|\n");
    for goal in &report.goals {
        let measured = goal.measured.map_or_else(|| String::from("–"), super::short);
        let cells = [goal.what.clone(), goal.limit_text(), measured, goal.outcome(), goal.note.clone()];
        push_row(&mut text, &cells);
    }
    let missed: Vec<&Goal> = report.goals.iter().filter(|goal| goal.verdict() == Verdict::Missed).collect();
    if !missed.is_empty() {
        text.push_str("\n## Missed goals\n\n");
    }
    for goal in missed {
        let _ = writeln!(text, "- {}: {}. {}", goal.what, goal.outcome(), goal.why);
    }
    for section in &report.sections {
        let _ = write!(text, "\n## {}\n\n{}\n\n|", section.title, section.text);
        for column in section.columns.iter().map(String::as_str).chain(["how"]) {
            let _ = write!(text, " {column} |");
        }
        text.push_str("\n|");
        for index in 0..=section.columns.len() {
            let last = index == section.columns.len();
            text.push_str(if index == 0 || last { "---|" } else { "---:|" });
        }
        text.push('\n');
        for row in &section.rows {
            let mut cells: Vec<String> = row.cells.iter().map(Cell::show).collect();
            cells.resize(section.columns.len(), String::new());
            cells.push(row.how.clone());
            push_row(&mut text, &cells);
        }
    }
    text.push_str("\n## The machine\n\n| what | value |\n|---|---|\n");
    for (name, value) in &report.machine {
        push_row(&mut text, &[name.clone(), value.clone()]);
    }
    text
}

fn push_row(text: &mut String, cells: &[String]) {
    text.push('|');
    for cell in cells {
        let cell = cell.replace('|', "\\|").replace('\n', " ");
        let _ = write!(text, " {} |", cell.trim());
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::markdown;

    #[test]
    fn every_row_has_as_many_cells_as_the_table() {
        let text = markdown(&sample());
        assert!(text.contains("| E0 k0 | 15 | 24 | stepped, twice |\n"));
        assert!(text.contains("| E2 k0 |  |  | skipped: no ptrace |\n"));
        assert!(text.contains("|---|---:|---:|---|\n"));
        assert!(text.contains("| a \\| goal | ≤ 0.5 | 0.51 | **missed** by 0.01 (+2.0 %) | as measured |\n"));
        assert!(text.contains("| processor | a <fast> one |"));
        assert!(text.contains("- a | goal: **missed** by 0.01 (+2.0 %). it is hard\n"));
        assert!(text.contains("short run"));
    }
}
