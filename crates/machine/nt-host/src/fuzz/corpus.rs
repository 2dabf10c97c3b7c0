//! The inputs that made a driver do something new.

use std::sync::Arc;

use fastrand::Rng;
use nt_machine::IoRequest;

use super::input::Input;
use crate::steps::Step;

/// The inputs, and how much time each was used for, in requests.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    entries: Vec<(Arc<Input>, u64)>,
}

impl Corpus {
    pub(super) fn add(&mut self, input: Arc<Input>) {
        self.entries.push((input, 0));
    }

    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all inputs, oldest first.
    pub(super) fn inputs(&self) -> impl DoubleEndedIterator<Item = &Arc<Input>> {
        self.entries.iter().map(|(input, _)| input)
    }

    /// Chooses an input to change: of two, the one that was used less, so that new ones are tried soon, and slow ones do not take
    /// most of the time.
    pub(super) fn choose(&mut self, rng: &mut Rng) -> Option<Arc<Input>> {
        let first = rng.choice(0..self.entries.len())?;
        let second = rng.choice(0..self.entries.len())?;
        let used = |index: usize| self.entries.get(index).map(|(_, used)| *used);
        let chosen = if used(second) < used(first) { second } else { first };
        let (input, used) = self.entries.get_mut(chosen)?;
        *used += input.steps.iter().map(Step::cost).sum::<u64>();
        Some(Arc::clone(input))
    }

    /// Returns the last requests of this kind and with this code that did something new, except this one, newest first.
    pub(super) fn related(&self, request: &IoRequest, most: usize) -> Vec<IoRequest> {
        let mut found: Vec<IoRequest> = Vec::new();
        let requests = self.inputs().rev().filter_map(|input| input.steps.iter().rev().find_map(Step::request));
        for other in requests.filter(|other| (other.kind, other.code) == (request.kind, request.code)) {
            if found.len() < most && other != request && !found.contains(other) {
                found.push(other.clone());
            }
        }
        found
    }

    /// Chooses any input.
    pub(super) fn any(&self, rng: &mut Rng) -> Option<&Input> {
        rng.choice(&self.entries).map(|(input, _)| &**input)
    }
}
