//! The same steps on the imitated framework and on another one: where they differ.

use std::fmt;
use std::path::Path;

use crate::{Builder, Error, GapKind, NtHost};

/// The maximum number of lines of an aspect that are compared; each line more costs as much memory as all before it.
const MOST_LINES: usize = 4096;

/// A line of one run that the other run does not have at that place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is about: results, callbacks, debug output, events, findings, findings about other images, gaps.
    pub aspect: &'static str,
    /// Whether the run with the framework of its own has the line; otherwise, the run with the imitation has it.
    pub is_original: bool,
    /// The line.
    pub line: String,
    /// The line before it in the same run; `None` if it is the first.
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
type Observed = [(&'static str, Vec<String>); 7];

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
    /// Fails if a file cannot be loaded. An error of `steps` is a result of that run.
    pub fn compare(
        self,
        framework: impl AsRef<Path>,
        mut steps: impl FnMut(&NtHost) -> Result<Vec<String>, Error>,
    ) -> Result<Vec<Difference>, Error> {
        let builder = self.trace_all().record_callbacks();
        let model = observe(&builder.clone().imitated_framework().prepare()?, &mut steps)?;
        let original = observe(&builder.framework(framework).prepare()?, &mut steps)?;
        Ok(model.into_iter().zip(original).flat_map(|((aspect, a), (_, b))| differences(aspect, &a, &b)).collect())
    }
}

fn observe(host: &NtHost, steps: &mut impl FnMut(&NtHost) -> Result<Vec<String>, Error>) -> Result<Observed, Error> {
    let results = steps(host).unwrap_or_else(|error| vec![error.to_string()]);
    let report = host.report();
    let mut decoder = host.decoder();
    let events = host.trace().events()?.iter().map(|event| decoder.decode(&event.as_ref()).to_string()).collect();
    // Details can have addresses, which differ between runs.
    let finding = |finding: &crate::Finding| {
        let place = finding.place.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {} {place}", finding.rule, finding.routine.as_deref().unwrap_or_default())
    };
    // Only the imitation can tell a request that its queues refuse from one that the driver refuses.
    let gaps = report.gaps().iter().filter(|gap| gap.kind != GapKind::NotReached);
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    Ok([
        ("results", results),
        ("callbacks", host.callbacks().iter().map(ToString::to_string).collect()),
        ("debug output", lines(report.output())),
        ("events", events),
        ("findings", report.findings().iter().map(finding).collect()),
        ("findings about other images", report.other_findings().iter().map(finding).collect()),
        ("gaps", gaps.map(|gap| gap.kind.to_string()).collect()),
    ])
}

/// Returns the lines that only one of two lists has, in order. What both have is their longest common subsequence.
fn differences(aspect: &'static str, model: &[String], original: &[String]) -> Vec<Difference> {
    let model = model.get(..MOST_LINES).unwrap_or(model);
    let original = original.get(..MOST_LINES).unwrap_or(original);
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
    let (mut row, mut column, mut found) = (0, 0, Vec::new());
    loop {
        let (a, b) = (model.get(row), original.get(column));
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
