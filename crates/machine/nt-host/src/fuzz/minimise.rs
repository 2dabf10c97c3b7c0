//! Makes the input of a finding as small as possible: fewer sequences, fewer steps, fewer and simpler bytes. Each attempt
//! runs in a process of its own, so the result reproduces the finding from the start of the driver.

use std::sync::Arc;

use nt_machine::Rule;

use super::input::{Environment, Input, join};
use super::runner::{Key, replay};
use crate::api::Target;
use crate::steps::{DataMut, Step};

/// The maximum number of attempts for a finding.
const ATTEMPTS: u32 = 400;
/// The same if each attempt takes as long as the driver may take for a request.
const SLOW_ATTEMPTS: u32 = 4;

/// Returns the smallest input that was found, and whether it reproduces the mistake. `history` are all sequences of the
/// process in which it happened.
pub(super) fn minimise(
    target: &Target,
    environment: &Arc<Environment>,
    history: &[Vec<Step>],
    wanted: &Key,
) -> (Input, bool) {
    let left = if wanted.rule == Rule::Hang { SLOW_ATTEMPTS } else { ATTEMPTS };
    let mut search = Search { target, environment: Arc::clone(environment), wanted, left };
    let Some(sequences) = search.suffix(history) else {
        let steps = history.last().cloned().unwrap_or_default();
        return (Input { environment: (**environment).clone(), steps }, false);
    };
    search.drop_environment(&join(&sequences));
    let sequences = search.reduce(sequences, join);
    let mut steps = search.reduce(join(&sequences), <[Step]>::to_vec);
    for index in 0..steps.len() {
        search.shrink(&mut steps, index, Step::data_mut);
        search.shrink(&mut steps, index, Step::output_data_mut);
    }
    (Input { environment: (*search.environment).clone(), steps }, true)
}

/// The search for a smaller input.
struct Search<'a> {
    target: &'a Target,
    environment: Arc<Environment>,
    wanted: &'a Key,
    /// The number of attempts that are left.
    left: u32,
}

impl Search<'_> {
    /// Returns whether these steps lead to the mistake.
    fn works(&mut self, steps: Vec<Step>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let keys = replay(self.target, &self.environment, steps);
        keys.is_ok_and(|keys| keys.iter().any(|key| key.is_same(self.wanted)))
    }

    /// Returns the last sequences that lead to the mistake: one if that is enough, otherwise twice as many each time.
    fn suffix<'h>(&mut self, history: &'h [Vec<Step>]) -> Option<Vec<&'h [Step]>> {
        let mut count = 1;
        loop {
            let from = history.len().saturating_sub(count);
            let sequences: Vec<&[Step]> = history.iter().skip(from).map(Vec::as_slice).collect();
            if self.works(join(&sequences)) {
                return Some(sequences);
            }
            if from == 0 {
                return None;
            }
            count *= 2;
        }
    }

    /// Uses no environment if the mistake does not depend on it.
    fn drop_environment(&mut self, steps: &[Step]) {
        let none = Arc::default();
        if self.environment != none {
            let environment = std::mem::replace(&mut self.environment, none);
            if !self.works(steps.to_vec()) {
                self.environment = environment;
            }
        }
    }

    /// Removes what is not necessary, in smaller and smaller parts. `steps` makes steps of the rest.
    fn reduce<T: Clone>(&mut self, mut items: Vec<T>, steps: impl Fn(&[T]) -> Vec<Step>) -> Vec<T> {
        let mut size = items.len();
        while size != 0 {
            let mut at = 0;
            while at < items.len() {
                let mut fewer = items.clone();
                fewer.drain(at..(at + size).min(items.len()));
                if self.works(steps(&fewer)) {
                    items = fewer;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        items
    }

    /// Shortens some data of a step, and makes bytes zero that do not matter.
    fn shrink(&mut self, steps: &mut Vec<Step>, index: usize, data: DataMut) {
        let Some(mut input) = steps.get_mut(index).and_then(data).cloned() else { return };
        let mut attempt = |input: &[u8]| {
            let mut changed = steps.clone();
            if let Some(place) = changed.get_mut(index).and_then(data) {
                input.clone_into(place);
            }
            let works = self.works(changed.clone());
            if works {
                *steps = changed;
            }
            works
        };
        let mut size = input.len();
        while size != 0 {
            let shorter = input.get(..input.len() - size.min(input.len())).unwrap_or_default();
            if size <= input.len() && attempt(shorter) {
                input = shorter.to_vec();
            } else {
                size /= 2;
            }
        }
        size = input.len();
        while size != 0 {
            for at in (0..input.len()).step_by(size) {
                let mut zeroed = input.clone();
                let part = zeroed.iter_mut().skip(at).take(size);
                part.for_each(|byte| *byte = 0);
                if zeroed != input && attempt(&zeroed) {
                    input = zeroed;
                }
            }
            size /= 2;
        }
    }
}
