//! The same steps on the imitated framework and on another one: where they differ.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use nt_machine::{RecordedCall, RecordedPrint};

use super::align::{Line, align, in_order};
use crate::{Builder, Callback, Error, GapKind, NtHost};

/// The maximum number of lines of an aspect that are compared; each line more costs as much memory as all before it.
const MAX_LINES: usize = 4096;
/// The lowest address that an object can have: nothing is ever mapped at those below it.
const FIRST_ADDRESS: u64 = 0x1_0000;

/// A line of one run that the other run does not have at that place. The order of two callbacks, lines of debug output or
/// events counts only if something ordered them in both runs: they belong to one thread, DPC or work item, or one
/// object is the first argument of both callbacks, or they belong to different requests or times, with a machine in
/// between in which nothing ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is about: results, callbacks, debug output, events, findings, findings about other images, gaps.
    pub aspect: &'static str,
    /// Whether the run with the framework of its own has the line; otherwise, the run with the imitation has it.
    pub is_original: bool,
    /// The line.
    pub line: String,
    /// The line before it in the same run, after lines that nothing orders were brought into the order of the other run;
    /// `None` if it is the first.
    pub after: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = if self.is_original { "only the framework" } else { "only the imitation" };
        write!(f, "{}, {run}: {}", self.aspect, self.line)?;
        self.after.as_ref().map_or(Ok(()), |after| write!(f, " (after: {after})"))
    }
}

/// What can be seen of a run.
type Observed = [(&'static str, Vec<Line>); 7];

impl Builder {
    /// Runs the same steps twice, with the imitated framework and with the one at `framework`, and returns where the runs
    /// differ: in the results, which are the lines that `steps` returns, in the order and the IRQL of the
    /// driver's callbacks, and in debug output, events, findings and gaps.
    /// `steps` gets a host whose driver is not loaded.
    ///
    /// ```no_run
    /// use nt_host::{Difference, NtHost};
    ///
    /// let builder = NtHost::builder().driver("my_driver.sys");
    /// let differences: Vec<Difference> = builder.compare("frameworks/1.33", |host| {
    ///     host.load()?;
    ///     let reply = host.add_device()?.ioctl(0x0022_2000, b"hello", 64)?;
    ///     host.unload()?;
    ///     Ok(vec![format!("{} {:?}", reply.status, reply.output)])
    /// })?;
    /// assert!(differences.is_empty(), "{differences:#?}");
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be loaded, or with an error of the host. Another error of `steps` is a result of that run.
    pub fn compare(
        self,
        framework: impl AsRef<Path>,
        mut steps: impl FnMut(&NtHost) -> Result<Vec<String>, Error>,
    ) -> Result<Vec<Difference>, Error> {
        let builder = self.trace_all().record_callbacks();
        let model = observe(&builder.clone().imitated_framework().prepare()?, &mut steps)?;
        let original = observe(&builder.framework(framework).prepare()?, &mut steps)?;
        let aspects = model.into_iter().zip(original);
        let found = aspects.flat_map(|((aspect, model), (_, original))| {
            let (model, original) = align(cut(model), cut(original));
            differences(aspect, &model, &original)
        });
        Ok(found.collect())
    }
}

fn observe(host: &NtHost, steps: &mut impl FnMut(&NtHost) -> Result<Vec<String>, Error>) -> Result<Observed, Error> {
    let results = match steps(host) {
        Ok(results) => results,
        Err(error @ (Error::Process(_) | Error::Host(_))) => return Err(error),
        Err(error) => vec![error.to_string()],
    };
    let report = host.report();
    let mut decoder = host.decoder();
    let event = |event: &etw_etl::Event| Line {
        text: decoder.decode(&event.as_ref()).to_string(),
        task: event.header.thread_id.unwrap_or_default(),
        object: None,
        moment: event.header.stamp,
    };
    let events = host.trace().events()?.iter().map(event).collect();
    // Details can have addresses, which differ between runs.
    let finding = |finding: &crate::Finding| {
        let place = finding.location.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {} {place}", finding.rule, finding.routine.as_deref().unwrap_or_default())
    };
    // Only the imitation can tell a request that its queues refuse from one that the driver refuses.
    let gaps = report.gaps().iter().filter(|gap| gap.kind != GapKind::NotReached);
    Ok([
        ("results", in_order(results)),
        ("callbacks", callbacks(host)),
        ("debug output", output(host)),
        ("events", events),
        ("findings", in_order(report.findings().iter().map(finding))),
        ("findings about other images", in_order(report.other_findings().iter().map(finding))),
        ("gaps", in_order(gaps.map(|gap| gap.kind.to_string()))),
    ])
}

fn callbacks(host: &NtHost) -> Vec<Line> {
    let calls = host.recorded().map(nt_machine::Callbacks::calls).unwrap_or_default();
    let line = |(call, callback): (RecordedCall, Callback)| Line {
        text: callback.to_string(),
        task: call.order.task,
        // Zero and small numbers are not objects.
        object: Some(call.argument).filter(|argument| *argument >= FIRST_ADDRESS),
        moment: call.order.moment.into(),
    };
    calls.into_iter().zip(host.callbacks()).map(line).collect()
}

/// Returns the lines of the debug output. A task may print a line in several pieces.
fn output(host: &NtHost) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    // The lines that have no end yet, by task.
    let mut open: HashMap<u32, usize> = HashMap::new();
    for RecordedPrint { start, length, order } in host.recorded().map(nt_machine::Callbacks::prints).unwrap_or_default()
    {
        for part in host.process().printed(start, length).split_inclusive('\n') {
            let index = *open.entry(order.task).or_insert(lines.len());
            if index == lines.len() {
                lines.push(Line { task: order.task, moment: order.moment.into(), ..Line::default() });
            }
            if let Some(line) = lines.get_mut(index) {
                line.text.push_str(part.trim_end_matches('\n'));
            }
            if part.ends_with('\n') {
                open.remove(&order.task);
            }
        }
    }
    lines
}

/// Returns as many lines as can be compared.
fn cut(mut lines: Vec<Line>) -> Vec<Line> {
    lines.truncate(MAX_LINES);
    lines
}

/// Returns the lines that only one of two lists has, in order. What both have is their longest common subsequence.
fn differences(aspect: &'static str, model: &[String], original: &[String]) -> Vec<Difference> {
    let width = original.len() + 1;
    let at = |row: usize, column: usize| row * width + column;
    // The length of the common part of the rests, from each pair of lines on.
    let mut common = vec![0_u16; (model.len() + 1) * width];
    let length = |common: &[u16], place: usize| common.get(place).copied().unwrap_or_default();
    for (row, a) in model.iter().enumerate().rev() {
        for (column, b) in original.iter().enumerate().rev() {
            let value = if a == b {
                length(&common, at(row + 1, column + 1)) + 1
            } else {
                length(&common, at(row + 1, column)).max(length(&common, at(row, column + 1)))
            };
            if let Some(place) = common.get_mut(at(row, column)) {
                *place = value;
            }
        }
    }
    let mut row = 0;
    let mut column = 0;
    let mut found = Vec::new();
    loop {
        let a = model.get(row);
        let b = original.get(column);
        let is_original = match (a, b) {
            (Some(a), Some(b)) if a == b => {
                (row, column) = (row + 1, column + 1);
                continue;
            }
            (Some(_), Some(_)) => length(&common, at(row, column + 1)) > length(&common, at(row + 1, column)),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return found,
        };
        let (lines, position) = if is_original { (original, column) } else { (model, row) };
        let line = lines.get(position).cloned().unwrap_or_default();
        let after = position.checked_sub(1).and_then(|before| lines.get(before)).cloned();
        found.push(Difference { aspect, is_original, line, after });
        if is_original {
            column += 1;
        } else {
            row += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Difference, differences};

    fn compare(model: &[&str], original: &[&str]) -> Vec<(bool, String)> {
        let owned = |lines: &[&str]| lines.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        let found = differences("events", &owned(model), &owned(original));
        found.into_iter().map(|Difference { is_original, line, .. }| (is_original, line)).collect()
    }

    #[test]
    fn lines_that_only_one_run_has_are_found_in_order() {
        assert!(compare(&["a", "b"], &["a", "b"]).is_empty());
        assert_eq!(compare(&["a", "b", "c"], &["a", "c", "d"]), [(false, "b".to_owned()), (true, "d".to_owned())]);
        assert_eq!(compare(&["x", "y"], &["y", "x"]), [(false, "x".to_owned()), (true, "x".to_owned())]);
        assert_eq!(compare(&[], &["a"]), [(true, "a".to_owned())]);
        let first = Difference { aspect: "events", is_original: false, line: "a".to_owned(), after: None };
        assert_eq!(first.to_string(), "events, only the imitation: a");
        let found = differences("events", &["x".to_owned()], &["x".to_owned(), "y".to_owned()]);
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["events, only the framework: y (after: x)"]);
    }
}
