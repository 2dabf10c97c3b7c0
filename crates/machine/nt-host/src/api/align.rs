//! Brings the lines of two runs into one order, as far as both runs allow it.
//!
//! Threads race: what different tasks do at the same moment may come in another order in the next run. Only these orders
//! are compared: that of one task, that of the calls about one object, and that of different moments.

use std::collections::{HashMap, HashSet, VecDeque};

/// A line of a run, with what orders it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    /// The thread or job. Its lines have an order.
    pub(super) task: u32,
    /// The object that a call is about. Its lines have an order.
    pub(super) object: Option<u64>,
    /// Lines of a moment come before those of the next one.
    pub(super) moment: u64,
}

/// Lines that have one order: those of a single task.
pub(super) fn in_order(texts: impl IntoIterator<Item = String>) -> Vec<Line> {
    texts.into_iter().map(|text| Line { text, ..Line::default() }).collect()
}

/// Returns the texts of both runs, each in an order that its run allows. Lines that both runs can have at the same place are
/// at the same place.
pub(super) fn align(model: Vec<Line>, original: Vec<Line>) -> (Vec<String>, Vec<String>) {
    let mut runs = [Run::new(model), Run::new(original)];
    let mut texts = [Vec::new(), Vec::new()];
    loop {
        let [model, original] = &runs;
        let taken: [Option<usize>; 2] = match pair(model, original) {
            Some((one, other)) => [Some(one), Some(other)],
            None => match (model.surplus(original), original.surplus(model)) {
                (None, None) if model.lines.is_empty() => [None, original.ready().next().map(|(index, _)| index)],
                // Both runs have the line, but at places that contradict each other.
                (None, None) => [model.ready().next().map(|(index, _)| index), None],
                (Some(index), _) => [Some(index), None],
                (None, index) => [None, index],
            },
        };
        if taken == [None, None] {
            return texts.into();
        }
        for ((run, texts), index) in runs.iter_mut().zip(&mut texts).zip(taken) {
            texts.extend(index.and_then(|index| run.take(index)));
        }
    }
}

/// The lines of a run that are left.
struct Run {
    lines: VecDeque<Line>,
    counts: HashMap<String, usize>,
}

impl Run {
    fn new(lines: Vec<Line>) -> Self {
        let mut counts = HashMap::new();
        for line in &lines {
            *counts.entry(line.text.clone()).or_default() += 1;
        }
        Self { lines: lines.into(), counts }
    }

    /// Returns the lines that can come next, with their positions.
    fn ready(&self) -> impl Iterator<Item = (usize, &Line)> {
        let moment = self.lines.front().map(|line| line.moment);
        let mut tasks = HashSet::new();
        let mut objects = HashSet::new();
        let now = self.lines.iter().enumerate().take_while(move |(_, line)| Some(line.moment) == moment);
        now.filter(move |(_, line)| {
            // A line that has to wait holds up others, too.
            let is_first_of_task = tasks.insert(line.task);
            line.object.is_none_or(|object| objects.insert(object)) && is_first_of_task
        })
    }

    fn count(&self, text: &str) -> usize {
        self.counts.get(text).copied().unwrap_or_default()
    }

    /// Returns the first line that can come next and that this run has more often than the other one.
    fn surplus(&self, other: &Self) -> Option<usize> {
        let mut ready = self.ready();
        ready.find(|(_, line)| self.count(&line.text) > other.count(&line.text)).map(|(index, _)| index)
    }

    fn take(&mut self, index: usize) -> Option<String> {
        let text = self.lines.remove(index)?.text;
        if let Some(count) = self.counts.get_mut(&text) {
            *count -= 1;
        }
        Some(text)
    }
}

/// Returns the positions of the first line that can come next in both runs.
fn pair(model: &Run, original: &Run) -> Option<(usize, usize)> {
    model.ready().find_map(|(one, line)| {
        let (other, _) = original.ready().find(|(_, other)| other.text == line.text)?;
        Some((one, other))
    })
}

#[cfg(test)]
mod tests {
    use super::{Line, align};

    /// Aligns lines such as `A1=text`: the task, the moment, in some lines an object, and the text.
    fn aligned(model: &str, original: &str) -> (String, String) {
        let line = |word: &str| {
            let (order, text) = word.split_once('=').expect("an order and a text");
            let [task, moment, object @ ..] = order.as_bytes() else { panic!("no order: {word}") };
            let object = object.first().copied().map(u64::from);
            Line { text: text.to_owned(), task: (*task).into(), object, moment: (*moment).into() }
        };
        let lines = |words: &str| words.split_whitespace().map(line).collect();
        let (model, original) = align(lines(model), lines(original));
        (model.concat(), original.concat())
    }

    #[test]
    fn tasks_race_within_a_moment() {
        assert_eq!(aligned("A1=a B1=x A1=b", "B1=x A1=a A1=b"), ("axb".into(), "axb".into()));
        // One run may do in one task what the other does in two.
        assert_eq!(aligned("A1=a A1=x A1=b", "B1=x A1=a A1=b"), ("axb".into(), "axb".into()));
        assert_eq!(aligned("A1=a B1=x A1=b B1=y", "C7=x C7=y D7=a D7=b").0, "axby");
    }

    #[test]
    fn one_task_one_object_and_moments_have_an_order() {
        for (model, original) in [
            ("A1=a A1=b", "A1=b A1=a"),
            ("A1o=a B1o=b", "B1o=b A1o=a"),
            ("A1=a B2=b", "B1=b A2=a"),
            // `c` waits for `b` of its object, and `b` for `a` of its task.
            ("A1=a A1o=b B1o=c", "B1=c A1=b A1=a"),
        ] {
            let (model, original) = aligned(model, original);
            assert_ne!(model, original);
        }
    }

    #[test]
    fn lines_of_one_run_do_not_displace_others() {
        assert_eq!(aligned("A1=a B1=x A1=b", "A1=n B1=x A1=a A1=b"), ("xab".into(), "xnab".into()));
        assert_eq!(aligned("A1=a A1=a B1=x", "B1=x A1=a"), ("axa".into(), "ax".into()));
        assert_eq!(aligned("", "A1=a B2=b"), (String::new(), "ab".into()));
        assert_eq!(aligned("A1=a B2=b", ""), ("ab".into(), String::new()));
    }
}
