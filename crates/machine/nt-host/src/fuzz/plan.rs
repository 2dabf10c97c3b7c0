//! Sequences that run together: one after the other through the same files, because opening a device takes longer than most
//! requests.

use crate::steps::Step;

/// The maximum number of steps of a plan with several sequences.
const LONGEST: usize = 32;

/// Steps that open files, and sequences that use them. Each sequence is an attempt of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    head: Vec<Step>,
    sequences: Vec<Vec<Step>>,
    /// Whether its sequence was made up by chance, so that it need not run if a mistake comes before it.
    pub(super) is_made_up: bool,
}

impl Plan {
    /// Returns a plan with one sequence, which opens its files itself.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { head: Vec::new(), sequences: vec![steps], is_made_up: false }
    }

    /// Returns a plan for sequences that were made up, all after the same steps.
    pub(super) const fn made_up(head: Vec<Step>, sequences: Vec<Vec<Step>>) -> Self {
        Self { head, sequences, is_made_up: true }
    }

    /// Distributes sequences over plans, in their order. `head` is in front of the first one of each plan.
    pub(super) fn pack(head: Vec<Step>, sequences: impl Iterator<Item = Vec<Step>>) -> impl Iterator<Item = Self> {
        let mut sequences = sequences.peekable();
        std::iter::from_fn(move || {
            let mut plan = Self { head: head.clone(), sequences: vec![sequences.next()?], is_made_up: false };
            let mut room = LONGEST.saturating_sub(plan.sequences.iter().map(Vec::len).sum());
            while let Some(sequence) = sequences.next_if(|sequence| sequence.len() <= room) {
                room -= sequence.len();
                plan.sequences.push(sequence);
            }
            Some(plan)
        })
    }

    /// Returns the number of sequences.
    pub(super) const fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Returns all steps.
    pub(super) fn steps(&self) -> Vec<Step> {
        [self.head.as_slice()].into_iter().chain(self.sequences.iter().map(Vec::as_slice)).flatten().cloned().collect()
    }

    /// Returns the sequence whose steps end with this number of steps of the plan, with the steps that open its files.
    pub(super) fn sequence(&self, end: usize) -> Vec<Step> {
        let (index, length) = self.find(end);
        let sequence = self.sequences.get(index).into_iter().flatten().take(length);
        self.head.iter().chain(sequence).cloned().collect()
    }

    /// Returns how many sequences have begun when this number of steps has run. The first one begins with the files.
    pub(super) fn begun(&self, steps: usize) -> usize {
        if steps == 0 { 0 } else { self.find(steps).0 + 1 }
    }

    /// Returns the sequences that have not begun when this number of steps has run.
    pub(super) fn rest(&self, steps: usize) -> Option<Self> {
        let sequences: Vec<_> = self.sequences.iter().skip(self.begun(steps)).cloned().collect();
        (!sequences.is_empty()).then(|| Self { head: self.head.clone(), sequences, is_made_up: self.is_made_up })
    }

    /// Returns the sequence that the last of this number of steps belongs to, and how many of its steps are among them.
    fn find(&self, steps: usize) -> (usize, usize) {
        let mut left = steps.saturating_sub(self.head.len());
        for (index, sequence) in self.sequences.iter().enumerate() {
            if left <= sequence.len() {
                return (index, left);
            }
            left -= sequence.len();
        }
        (self.sequences.len(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use crate::steps::Step;

    fn waits(times: &[u64]) -> Vec<Step> {
        times.iter().map(|time| Step::Wait { time: *time }).collect()
    }

    #[test]
    fn the_steps_of_a_plan_lead_to_their_sequence_and_to_what_is_left() {
        let open = || Step::Open { name: None };
        let sequences = [waits(&[1]), waits(&[2, 3]), waits(&[4])].into_iter();
        let plans: Vec<Plan> = Plan::pack(vec![open()], sequences).collect();
        let [plan] = plans.as_slice() else { panic!("{plans:?}") };
        assert_eq!(plan.len(), 3);
        assert_eq!(plan.steps().len(), 5);
        let with_open = |times: &[u64]| [vec![open()], waits(times)].concat();
        let expected: [(&[u64], usize, usize); 6] =
            [(&[], 0, 3), (&[], 1, 2), (&[1], 1, 2), (&[2], 2, 1), (&[2, 3], 2, 1), (&[4], 3, 0)];
        for (steps, (times, begun, left)) in expected.into_iter().enumerate() {
            assert_eq!(plan.sequence(steps), with_open(times), "{steps}");
            assert_eq!(plan.begun(steps), begun, "{steps}");
            assert_eq!(plan.rest(steps).map_or(0, |rest| rest.len()), left, "{steps}");
        }
    }

    #[test]
    fn plans_are_not_longer_than_their_limit_unless_one_sequence_is() {
        let plans = Plan::pack(Vec::new(), (0..10).map(|_| waits(&[0; 12])).chain([waits(&[0; 50])]));
        assert_eq!(plans.map(|plan| plan.len()).collect::<Vec<_>>(), [2, 2, 2, 2, 2, 1]);
    }
}
