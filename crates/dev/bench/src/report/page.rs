//! The document by parts, so that a run of some parts keeps what earlier runs measured of the others.
//!
//! Nothing is mixed silently: each section names its part and its run, each goal its part, and the table of runs says when and on
//! which machine a run was.

use std::fmt::Write as _;

use super::Report;
use super::markdown::{cells, goal_row, item, row, section};

const HEAD: &str = "\
# Performance

What an event costs, compared with other tools, and how fast the installed programs are. `cargo xtask bench --write-docs` writes this file; \
numbers in it are not edited by hand. *Ours* is `wdk-etw`, *peer* is Microsoft's `tracelogging` 1.2.4 with its feature `kernel_mode`. Nothing \
here ran on Windows: images are release builds for x86_64-pc-windows-msvc, run in a Linux process. With `--only`, a run replaces the parts that \
it measured; each section names its run, and [the runs](#runs) are at the end.
";
const GOALS: &str = "\
Where a limit is from: the *peer* of the same run; a *promise* of the design; a *target*, chosen for the users who wait or pay for it; a \
*regression limit*, which is what was reached, with a margin, and only shows that something became worse.
";
const GOALS_HEADING: &str = "Goals";
const MISSED_HEADING: &str = "Missed goals";
const RUNS_HEADING: &str = "Runs";
/// The start of the first line of a section's text.
const MEASURED: &str = "*Part `";

/// What the document says about one part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    name: String,
    /// The name of its run, which is its date.
    run: String,
    /// Rows of the table of goals.
    goals: Vec<String>,
    /// Items of the list of missed goals.
    reasons: Vec<String>,
    /// Whole sections, from their headings on.
    sections: Vec<String>,
}

/// The document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    is_quick: bool,
    parts: Vec<Part>,
    /// The rows of the table of runs, with the row of its columns first.
    runs: Vec<String>,
}

impl Page {
    /// Returns the document of one run.
    pub(super) fn of(report: &Report) -> Self {
        let run = report.machine.first().map(|(_, date)| date.clone()).unwrap_or_default();
        let parts = report.parts.iter().map(|part| {
            let name = part.name.clone();
            let goals = part.goals.iter().map(|goal| goal_row(goal, &name)).collect();
            let reasons = part.goals.iter().filter_map(|goal| item(goal, &name)).collect();
            let first = format!("{MEASURED}{name}`, run of {run}.*");
            let sections = part.sections.iter().map(|table| section(table, &first)).collect();
            Part { name, run: run.clone(), goals, reasons, sections }
        });
        let names: Vec<String> = report.machine.iter().map(|(name, _)| name.clone()).collect();
        let values: Vec<String> = report.machine.iter().map(|(_, value)| value.clone()).collect();
        Self { is_quick: report.quick, parts: parts.collect(), runs: vec![row(&names), row(&values)] }
    }

    /// Reads a document that [`Page::render`] made.
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut blocks = text.split("\n## ");
        blocks.next();
        // A section of a part follows the goals, so the parts are known from their sections, and goals are assigned afterwards.
        let mut goals = Vec::new();
        let mut reasons = Vec::new();
        for block in blocks {
            let (heading, body) = block.split_once('\n').unwrap_or((block, ""));
            let rows = || body.lines().filter(|line| line.starts_with("| ")).map(String::from);
            match heading {
                GOALS_HEADING => goals = rows().skip(1).collect(),
                MISSED_HEADING => {
                    reasons = body.lines().filter(|line| line.starts_with("- ")).map(String::from).collect();
                }
                RUNS_HEADING => page.runs = rows().collect(),
                _ => page.keep(&format!("## {}\n", block.trim_end()), body),
            }
        }
        for part in &mut page.parts {
            let last = format!("| {} |", part.name);
            part.goals = goals.iter().filter(|row| row.ends_with(&last)).cloned().collect();
            let first = format!("- `{}`: ", part.name);
            part.reasons = reasons.iter().filter(|item| item.starts_with(&first)).cloned().collect();
        }
        page
    }

    /// Adds a section to its part.
    fn keep(&mut self, section: &str, body: &str) {
        let line = body.lines().find_map(|line| line.strip_prefix(MEASURED));
        let Some((name, run)) = line.and_then(|line| line.split_once("`, run of ")) else { return };
        let run = run.trim_end_matches(".*");
        match self.parts.iter_mut().find(|part| part.name == name) {
            Some(part) => part.sections.push(section.to_owned()),
            None => self.parts.push(Part {
                name: name.to_owned(),
                run: run.to_owned(),
                sections: vec![section.to_owned()],
                ..Part::default()
            }),
        }
    }

    /// Adds the parts of an earlier document that this one does not have, in the order of `names`. A part without a name is gone.
    pub(super) fn keep_others(&mut self, earlier: Self, names: &[&str]) {
        let has = |page: &Self, name: &str| page.parts.iter().any(|part| part.name == name);
        let is_kept = |part: &Part| names.contains(&part.name.as_str()) && !has(self, &part.name);
        let others: Vec<Part> = earlier.parts.into_iter().filter(is_kept).collect();
        let rows = earlier.runs.into_iter().skip(1);
        let kept = rows.filter(|row| others.iter().any(|part| cells(row).first() == Some(&part.run.as_str())));
        self.runs.splice(1..1, kept);
        self.parts.extend(others);
        self.parts.sort_by_key(|part| names.iter().position(|name| *name == part.name));
    }

    /// Returns the text.
    pub(super) fn render(&self) -> String {
        let mut text = String::from(HEAD);
        if self.is_quick {
            text.push_str("\nThis was a short run (`--quick`): the parts that it omits are shown as skipped.\n");
        }
        let columns = ["goal", "limit", "from", "measured", "outcome", "how", "part"].map(String::from);
        let _ = write!(text, "\n## {GOALS_HEADING}\n\n{GOALS}\n{}\n|{}\n", row(&columns), "---|".repeat(columns.len()));
        let lines = |text: &mut String, lines: &mut dyn Iterator<Item = &String>| {
            lines.for_each(|line| {
                text.push_str(line);
                text.push('\n');
            });
        };
        lines(&mut text, &mut self.parts.iter().flat_map(|part| &part.goals));
        let mut reasons = self.parts.iter().flat_map(|part| &part.reasons).peekable();
        if reasons.peek().is_some() {
            let _ = write!(text, "\n## {MISSED_HEADING}\n\n");
        }
        lines(&mut text, &mut reasons);
        for section in self.parts.iter().flat_map(|part| &part.sections) {
            text.push('\n');
            text.push_str(section);
        }
        let _ = write!(text, "\n## {RUNS_HEADING}\n\n");
        for (index, run) in self.runs.iter().enumerate() {
            lines(&mut text, &mut std::iter::once(run));
            if index == 0 {
                let _ = writeln!(text, "|{}", "---|".repeat(cells(run).len()));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::Page;

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let page = Page { is_quick: false, ..Page::of(&sample()) };
        assert_eq!(Page::parse(&page.render()), page);
    }

    #[test]
    fn a_run_of_one_part_keeps_the_others_with_their_run() {
        let mut earlier = sample();
        earlier.machine[0].1 = "yesterday".into();
        let mut other = earlier.parts[0].clone();
        other.name = "calls".into();
        other.sections[0].title = "Calls".into();
        earlier.parts.push(other);
        let mut page = Page::of(&sample());
        page.keep_others(Page::parse(&Page::of(&earlier).render()), &["calls", "size"]);
        let text = page.render();
        let sections: Vec<&str> = text.lines().filter(|line| line.starts_with("*Part")).collect();
        assert_eq!(sections, ["*Part `calls`, run of yesterday.*", "*Part `size`, run of today.*"]);
        let runs = text.split_once("## Runs").unwrap().1;
        assert!(runs.contains("| yesterday | a <fast> one |"), "{runs}");
        assert!(runs.contains("| today | a <fast> one |"), "{runs}");
        assert_eq!(text.matches("| calls |").count(), 3, "the goals of the other part: {text}");
        assert_eq!(text.matches("| size |").count(), 3, "the goals of this part: {text}");
        assert_eq!(text.matches("- `calls`: ").count(), 1, "the missed goal of the other part: {text}");
    }

    #[test]
    fn a_run_of_all_parts_keeps_no_earlier_run() {
        let mut earlier = sample();
        earlier.machine[0].1 = "yesterday".into();
        let mut page = Page::of(&sample());
        page.keep_others(Page::parse(&Page::of(&earlier).render()), &["size"]);
        assert_eq!(page, Page::of(&sample()));
    }
}
