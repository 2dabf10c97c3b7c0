//! Runs numbered steps one after another, measures their time, and prints a summary.
//!
//! The steps after a failed one run as well, unless the failed step is required.

use std::env;
use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use crate::context::Context;
use command_line::exit;
use driver_build::Error;
use driver_build::output;

/// The result of a step that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// Not run, for this reason.
    Skipped(String),
}

/// One step of a command.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// What the step does, in a few words.
    pub(crate) what: &'static str,
    /// Whether the steps after this one are not run if this one fails.
    pub(crate) required: bool,
    pub(crate) run: fn(&Context) -> Result<Outcome, Error>,
}

impl Step {
    pub(crate) const fn new(
        name: &'static str,
        what: &'static str,
        run: fn(&Context) -> Result<Outcome, Error>,
    ) -> Self {
        Self { name, what, required: false, run }
    }
}

struct Record {
    name: &'static str,
    result: Result<Outcome, Error>,
    took: Duration,
}

/// Runs the steps and prints the summary. Fails if a step failed. A closed standard output does not stop the steps.
pub(crate) fn run_all(context: &Context, steps: &[Step]) -> Result<(), Error> {
    run(context, steps, || false)
}

/// Like [`run_all`], for steps whose only result is their output: after standard output is closed, no further step
/// runs.
pub(crate) fn check_all(context: &Context, steps: &[Step]) -> Result<(), Error> {
    run(context, steps, command_line::is_unread)
}

fn run(context: &Context, steps: &[Step], is_in_vain: fn() -> bool) -> Result<(), Error> {
    let mut records = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let title = format!("[{}/{}] {}: {}", index + 1, steps.len(), step.name, step.what);
        output::print_line(&bold(&title));
        let started = Instant::now();
        let result = (step.run)(context);
        let took = started.elapsed();
        output::print_line(&format!("{}\n", closing_line(&result, took)));
        if is_in_vain() {
            return Err(Error::Reported(exit::USAGE));
        }
        let stop = step.required && result.is_err();
        records.push(Record { name: step.name, result, took });
        if stop {
            break;
        }
    }
    output::print(&summary(&records, steps.len()));
    verdict(records)
}

fn closing_line(result: &Result<Outcome, Error>, took: Duration) -> String {
    match result {
        Ok(Outcome::Passed) => format!("      passed in {}", seconds(took)),
        Ok(Outcome::Skipped(reason)) => format!("      skipped: {reason}"),
        Err(error) => {
            let reason = error.to_string().replace('\n', "\n      ");
            format!("      FAILED after {}: {reason}", seconds(took))
        }
    }
}

fn summary(records: &[Record], planned: usize) -> String {
    let width = records.iter().map(|r| r.name.len()).max().unwrap_or(0);
    let mut text = String::from("Summary\n");
    let mut passed = 0;
    let mut failed = 0;
    let mut skipped = 0;
    for record in records {
        let how = match &record.result {
            Ok(Outcome::Passed) => {
                passed += 1;
                String::from("passed")
            }
            Ok(Outcome::Skipped(reason)) => {
                skipped += 1;
                format!("skipped: {reason}")
            }
            Err(_) => {
                failed += 1;
                String::from("FAILED")
            }
        };
        let took = seconds(record.took);
        let _ = writeln!(text, "  {:<width$}  {took:>8}  {how}", record.name);
    }
    let not_run = planned - records.len();
    if not_run > 0 {
        let _ = writeln!(text, "  {not_run} more not run");
    }
    let _ = writeln!(text, "{passed} steps passed, {failed} failed, {skipped} skipped");
    text
}

/// Returns a single failure unchanged, which keeps its exit code, and several failures as one error with a list.
fn verdict(records: Vec<Record>) -> Result<(), Error> {
    let mut failures: Vec<(&str, Error)> =
        records.into_iter().filter_map(|record| Some((record.name, record.result.err()?))).collect();
    match failures.len() {
        0 => Ok(()),
        1 => Err(failures.swap_remove(0).1),
        _ => {
            let lines: Vec<String> = failures.iter().map(|(name, error)| format!("  {name}: {error}")).collect();
            Err(Error::Failed(format!("several steps failed\n{}", lines.join("\n"))))
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn bold(text: &str) -> String {
    if stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, Error, Outcome, Record, Step, exit, run, run_all, summary};
    use std::time::Duration;

    fn step(run: fn(&Context) -> Result<Outcome, Error>) -> Step {
        Step { name: "a step", what: "for a test", required: false, run }
    }

    fn failing(_: &Context) -> Result<Outcome, Error> {
        Err(Error::Missing("no tool".into()))
    }

    #[test]
    fn all_steps_run_although_one_fails() {
        let context = Context::new(Vec::new());
        let last = step(|_| Err(Error::Failed("the last one".into())));
        let error = run_all(&context, &[step(failing), last]).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().contains("no tool"));
        assert!(error.to_string().contains("the last one"));
    }

    #[test]
    fn a_failed_requirement_stops_and_keeps_its_exit_code() {
        let context = Context::new(Vec::new());
        let first = Step { required: true, ..step(failing) };
        let never = step(|_| unreachable!("runs after a failed requirement"));
        let error = run_all(&context, &[first, never]).unwrap_err();
        assert_eq!(error, Error::Missing("no tool".into()));
    }

    #[test]
    fn checks_end_after_the_current_step_if_the_output_is_closed() {
        let context = Context::new(Vec::new());
        let never = step(|_| unreachable!("runs although the output is closed"));
        assert_eq!(run(&context, &[step(failing), never], || true), Err(Error::Reported(exit::USAGE)));
    }

    #[test]
    fn a_skipped_step_is_no_failure() {
        let context = Context::new(Vec::new());
        let skipped = step(|_| Ok(Outcome::Skipped("no nightly".into())));
        assert_eq!(run_all(&context, &[skipped]), Ok(()));
    }

    #[test]
    fn the_summary_counts_and_ends_with_the_counts() {
        let record = |name, result, millis| Record { name, result, took: Duration::from_millis(millis) };
        let records = [
            record("tests", Ok(Outcome::Passed), 12_340),
            record("miri", Ok(Outcome::Skipped("no nightly".into())), 0),
            record("doc", Err(Error::Failed("x".into())), 1_000),
        ];
        let text = summary(&records, 4);
        assert!(text.contains("tests    12.3 s  passed"), "{text}");
        assert!(text.contains("miri      0.0 s  skipped: no nightly"));
        assert!(text.contains("1 more not run"));
        assert!(text.ends_with("1 steps passed, 1 failed, 1 skipped\n"));
    }
}
