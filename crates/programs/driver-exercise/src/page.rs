//! Evidence as a page of the documentation, and as a row of the README's table.

use std::fmt::Write as _;

use crate::evidence::{Evidence, Status, Step};

/// The beginning of the row in the README that says what ran on Windows.
pub const ROW: &str = "| the sample on Windows | ";

/// The page without any evidence.
const NO_RUN: &str = "\
**No run yet.** Nothing of this project has run on Windows. To make the first run, push a fork of this repository to GitHub and start the workflow
*Windows driver*, or run `cargo driver deploy HOST` with a test machine ([your driver on Windows](your-driver-on-windows.md)). Then download
`evidence.json` and run:

```text
cargo xtask evidence evidence.json
```
";

const HEAD: &str = "\
# Evidence from Windows

This page shows what happened when the sample driver ran on Windows. `cargo xtask evidence` writes it from the files in `docs/evidence`; each comes from a run of
the workflow *Windows driver* or of `cargo driver deploy`. What was checked in other ways is in the
[README](../README.md#what-was-exercised-where).

";

/// Returns the page.
#[must_use]
pub fn page(all: &[Evidence]) -> String {
    if all.is_empty() {
        return format!("{HEAD}{NO_RUN}");
    }
    let mut text = HEAD.to_owned();
    text.push_str("## What was exercised where\n\n");
    table(&mut text, all);
    for evidence in all {
        section(&mut text, evidence);
    }
    text
}

/// The name of a run in headings and columns.
fn title(evidence: &Evidence) -> String {
    match &evidence.machine {
        Some(machine) => {
            format!("{}, build {}.{}, {}", evidence.place, machine.build, machine.revision, machine.architecture)
        }
        None => evidence.place.clone(),
    }
}

/// One row for each step, one column for each run.
fn table(text: &mut String, all: &[Evidence]) {
    let mut row = |first: &str, cell: &dyn Fn(&Evidence) -> String| {
        let cells: Vec<String> = all.iter().map(|evidence| escaped(&cell(evidence))).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {first} | {} |", cells.join(" | "));
    };
    row("", &title);
    row("---", &|_| "---".to_owned());
    row("KMDF", &|evidence| {
        evidence.machine.as_ref().map_or_else(|| "not known".into(), |machine| machine.kmdf.clone())
    });
    for step in Step::ALL {
        row(step.as_str(), &|evidence| {
            let result = evidence.steps.iter().rfind(|result| result.step == step);
            match result.map(|result| result.status) {
                Some(Status::Passed) => "passed",
                Some(Status::Failed) => "**failed**",
                Some(Status::Skipped) => "skipped",
                None => "not reached",
            }
            .to_owned()
        });
    }
    row("trace", &comparison);
    row("classes of session control", &|evidence| match evidence.classes.len() {
        0 => "not queried".to_owned(),
        count => format!("{count} queried"),
    });
    text.push('\n');
}

fn comparison(evidence: &Evidence) -> String {
    match &evidence.comparison {
        None => "not compared".to_owned(),
        Some(compared) if compared.differences.is_empty() => {
            format!("{} events, the same as in nt-host", compared.events)
        }
        Some(compared) => format!(
            "{} of {} events as in nt-host, {} differences",
            compared.common,
            compared.events.max(compared.expected),
            compared.differences.len()
        ),
    }
}

fn section(text: &mut String, evidence: &Evidence) {
    let _ = writeln!(text, "## {}\n", escaped(&title(evidence)));
    let _ = writeln!(text, "Driver `{}`, tools {}.", escaped(&evidence.driver), escaped(&evidence.tools));
    if let Some(machine) = &evidence.machine {
        let on = |is_on: bool| if is_on { "on" } else { "off" };
        let _ = writeln!(
            text,
            "Edition {}, test mode {}, Secure Boot {}, memory integrity {}.",
            escaped(&machine.edition),
            on(machine.test_signing),
            on(machine.secure_boot),
            on(machine.memory_integrity)
        );
    }
    text.push('\n');
    let failed = evidence.steps.iter().filter(|result| result.status == Status::Failed);
    let failures = failed.map(|result| format!("`{}` failed: {}", result.step.as_str(), result.reason));
    let left = evidence.left.iter().map(|what| format!("left on the machine: {what}"));
    let differences = evidence.comparison.iter().flat_map(|compared| compared.differences.iter().cloned());
    let mut lines = failures.chain(left).chain(differences).peekable();
    if lines.peek().is_some() {
        for line in lines {
            let _ = writeln!(text, "- {}", escaped(&line));
        }
        text.push('\n');
    }
    if !evidence.replies.is_empty() {
        text.push_str("| request | status | bytes |\n|---|---|---:|\n");
        for reply in &evidence.replies {
            let status = escaped(&reply.status);
            let _ = writeln!(text, "| `{}` | {status} | {} |", reply.request, reply.information);
        }
        text.push('\n');
    }
    if !evidence.classes.is_empty() {
        text.push_str("| class | name | documented | status |\n|---:|---|---|---|\n");
        for class in &evidence.classes {
            let [name, documented, status] = [&class.name, &class.documented, &class.status].map(|text| escaped(text));
            let _ = writeln!(text, "| {} | {name} | {documented} | {status} |", class.class);
        }
        text.push('\n');
    }
}

/// The row of the README.
#[must_use]
pub fn row(all: &[Evidence]) -> String {
    let runs: Vec<String> = all
        .iter()
        .map(|evidence| {
            let failed = evidence.steps.iter().filter(|result| result.status == Status::Failed).count();
            let steps = if failed == 0 { "every step passed".to_owned() } else { format!("{failed} steps failed") };
            format!("{}: {steps}; trace: {}", title(evidence), comparison(evidence))
        })
        .collect();
    let runs = if runs.is_empty() { "no run yet".to_owned() } else { runs.join(". ") };
    format!("{ROW}{} ([evidence](docs/evidence.md)) |", escaped(&runs))
}

/// Text of others in a line of Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{page, row};
    use crate::evidence::{Compared, Evidence, Machine, Status, Step, StepResult};

    fn evidence() -> Evidence {
        let result = |step, status, reason: &str| StepResult { step, status, exit_code: None, reason: reason.into() };
        Evidence {
            schema_version: 1,
            driver: "driver_sample".into(),
            place: "windows-2025".into(),
            time: 0,
            tools: "0.1.0".into(),
            machine: Some(Machine {
                build: 26100,
                revision: 1,
                edition: "ServerDatacenter".into(),
                architecture: "x64".into(),
                kmdf: "1.33".into(),
                test_signing: true,
                secure_boot: false,
                memory_integrity: false,
            }),
            steps: vec![result(Step::Check, Status::Passed, ""), result(Step::Install, Status::Failed, "a | b\n<c>")],
            replies: vec![],
            classes: vec![],
            comparison: Some(Compared { events: 25, expected: 25, common: 25, differences: vec![] }),
            left: vec!["the session".into()],
        }
    }

    #[test]
    fn a_page_without_evidence_says_so_and_how_to_make_some() {
        let text = page(&[]);
        assert!(text.contains("**No run yet.**"), "{text}");
        assert!(text.contains("cargo xtask evidence evidence.json"), "{text}");
        assert_eq!(row(&[]), "| the sample on Windows | no run yet ([evidence](docs/evidence.md)) |");
    }

    #[test]
    fn a_page_has_a_column_for_each_run_and_what_went_wrong() {
        let text = page(&[evidence(), Evidence { machine: None, place: "vm".into(), ..evidence() }]);
        for part in [
            "|  | windows-2025, build 26100.1, x64 | vm |\n| --- | --- | --- |\n",
            "| check | passed | passed |\n",
            "| install | **failed** | **failed** |\n",
            "| requests | not reached | not reached |\n",
            "| trace | 25 events, the same as in nt-host |",
            "- `install` failed: a \\| b &lt;c>\n",
            "- left on the machine: the session\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("No run yet"));
        let row = row(&[evidence()]);
        assert!(row.contains("windows-2025, build 26100.1, x64: 1 steps failed; trace: 25 events"), "{row}");
    }
}
