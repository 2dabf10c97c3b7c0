//! The numbers in docs/comparison.md are those of the report in docs/performance.md, which `cargo xtask bench --write-docs` writes.

use std::fs;

use docs_tests::markdown::repository;

/// Returns the cells of the rows of the Markdown table below a heading, without the row of dashes. The first row has the columns.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "));
    let rows = lines.filter(|line| line.starts_with("| "));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Returns the texts of a column.
fn column_of_texts<'a>(table: &'a [Vec<String>], name: &str) -> Vec<&'a str> {
    let at = table[0].iter().position(|column| column == name).unwrap_or_else(|| panic!("no column `{name}`"));
    table[1..].iter().map(|row| row[at].as_str()).collect()
}

/// Returns the numbers of a column.
fn column(table: &[Vec<String>], name: &str) -> Vec<f64> {
    let texts = column_of_texts(table, name);
    texts.iter().map(|text| text.replace(',', "").parse().unwrap_or_else(|_| panic!("{text} in `{name}`"))).collect()
}

/// Writes the smallest and the largest number as the page does.
fn range(numbers: impl IntoIterator<Item = f64>, decimals: usize) -> String {
    let (low, high) = numbers
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (number.min(low), number.max(high)));
    let [low, high] = [low, high].map(|number| format!("{number:.decimals$}"));
    if low == high { low } else { format!("{low} to {high}") }
}

#[test]
fn the_comparison_has_the_numbers_of_the_report() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let page = read("docs/comparison.md");
    let report = read("docs/performance.md");
    let instructions = table(&report, "## Instructions per event");
    let column_of = |name: &str| column(&instructions, name);
    let times = column_of("peer enabled").into_iter().zip(column_of("ours enabled")).map(|(peer, ours)| peer / ours);
    let bytes = table(&report, "## Bytes per event");
    let event = bytes.iter().position(|row| row[0] == "E2 code and data per event").expect("a row for E2");
    let expected = [
        format!(
            "| instructions of a disabled event | {} | {} |",
            range(column_of("ours disabled"), 0),
            range(column_of("peer disabled"), 0)
        ),
        format!(
            "| instructions of an enabled event | {} | {}, {} times as many |",
            range(column_of("ours enabled"), 0),
            range(column_of("peer enabled"), 0),
            range(times, 2)
        ),
        format!(
            "| bytes in the image for an event with three fields | {:.0} | {:.0} |",
            column(&bytes, "ours")[event - 1],
            column(&bytes, "peer")[event - 1]
        ),
    ];
    for row in expected {
        assert!(page.lines().any(|line| line == row), "docs/comparison.md does not have the row\n{row}");
    }
}

/// A run of some parts keeps the others, so each section says when it was measured.
#[test]
fn each_section_of_the_report_names_a_run_of_its_table() {
    let report = fs::read_to_string(repository().join("docs/performance.md")).unwrap();
    assert!(!report.contains("short run"), "docs/performance.md is from `cargo xtask bench --quick`");
    let runs = table(&report, "## Runs");
    let dates = column_of_texts(&runs, "date");
    let sections = report.split("\n## ").skip(1);
    let measured: Vec<&str> = sections
        .filter(|section| !["Goals", "Missed goals", "Runs"].contains(&section.lines().next().unwrap_or_default()))
        .collect();
    assert!(measured.len() > 10, "{}", measured.len());
    for section in measured {
        let line = section.lines().find_map(|line| line.strip_prefix("*Part `")).unwrap_or_else(|| panic!("{section}"));
        let (_, run) = line.trim_end_matches(".*").split_once("`, run of ").unwrap_or_else(|| panic!("{line}"));
        assert!(dates.contains(&run), "no run of {run} among {dates:?}");
    }
}
