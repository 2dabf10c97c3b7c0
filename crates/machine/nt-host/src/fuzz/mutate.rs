//! New sequences of steps: made up, or changed from sequences that did something new before.

use std::time::Duration;

use fastrand::Rng;
use nt_machine::{Below, IoRequest, RegistryValue, RequestKind};

use super::bytes;
use super::corpus::Corpus;
use super::dictionary::Dictionary;
use super::filtered::{self, can_change};
use super::follow::{LATE, REFUSALS, control, has_second_input};
use super::input::{Environment, Input};
use super::plan::Plan;
use crate::steps::Step;
use etw_types::NtStatus;

/// The maximum number of steps of a sequence.
const LONGEST: usize = 24;
/// The maximum number of changes from one sequence to the next.
const MAX_CHANGES: u32 = 4;
/// The number of variants of the last request of a sequence. To open a device takes longer than most requests.
const VARIANTS: u32 = 31;
/// The number of schedules for requests that are sent at the same time.
const SCHEDULES: u32 = 1000;
/// The number of handles that a sequence uses.
const HANDLES: u32 = 3;
/// The largest number of a call that is made to fail: requests rarely make more calls that can fail.
const MAX_CALLS: u64 = 8;

/// Makes sequences.
pub(super) struct Mutator<'a> {
    pub(super) dictionary: &'a Dictionary,
    pub(super) rng: &'a mut Rng,
    /// Whether the device has interrupts.
    pub(super) interrupts: bool,
    /// Whether the driver sends requests to devices of other drivers.
    pub(super) asks: bool,
}

impl Mutator<'_> {
    /// Returns a plan: a sequence that is made up and, if it ends with a request, variants of that request.
    pub(super) fn plan(&mut self, corpus: &mut Corpus) -> Plan {
        let mut head = self.sequence(corpus);
        let Some(last) = head.pop_if(|step| matches!(step, Step::Request { .. }) || can_change(step)) else {
            return Plan::made_up(Vec::new(), vec![head]);
        };
        let variants = (0..VARIANTS).map(|_| {
            let mut variant = vec![last.clone()];
            for _ in 0..=self.rng.u32(..2) {
                self.change_one(&mut variant, corpus);
            }
            variant
        });
        let variants: Vec<_> = variants.collect();
        Plan::made_up(head, [vec![vec![last]], variants].concat())
    }

    /// Returns a sequence: a changed one of the corpus or, rarely, a new one.
    fn sequence(&mut self, corpus: &mut Corpus) -> Vec<Step> {
        let chosen = if self.rng.u8(..16) == 0 { None } else { corpus.choose(self.rng) };
        let mut steps = chosen.map_or_else(|| self.begin_sequence(), |input| input.steps.clone());
        for _ in 0..=self.rng.u32(..MAX_CHANGES) {
            self.change(&mut steps, corpus);
        }
        // Without an open file, each request would open the device anew.
        let opens = |step: &Step| matches!(step, Step::Open { .. }) || step.is_filtered();
        if self.dictionary.has_device && !steps.first().is_some_and(opens) {
            steps.insert(0, Step::Open { name: None });
        }
        steps.truncate(LONGEST);
        steps
    }

    /// Returns the first steps of a new sequence.
    fn begin_sequence(&mut self) -> Vec<Step> {
        let Dictionary { has_device, .. } = *self.dictionary;
        if self.dictionary.filters() && !(has_device && self.rng.bool()) {
            return filtered::begin(self.dictionary, self.rng);
        }
        vec![Step::Open { name: None }]
    }

    /// Changes a request, or a step that reaches the driver through what it filters.
    fn change_one(&mut self, steps: &mut [Step], corpus: &Corpus) {
        if self.dictionary.filters() {
            let filtered: Vec<&mut Step> = steps.iter_mut().filter(|step| can_change(step)).collect();
            if let Some(step) = self.rng.choice(filtered) {
                return filtered::change(step, self.dictionary, self.rng);
            }
        }
        self.change_request(steps, corpus);
    }

    fn change(&mut self, steps: &mut Vec<Step>, corpus: &Corpus) {
        if self.dictionary.filters() && (!self.dictionary.has_device || self.rng.bool()) {
            return self.change_filtered(steps, corpus);
        }
        if self.asks && self.rng.u8(..4) == 0 {
            return self.change_answer(steps);
        }
        let at = self.rng.usize(..steps.len().max(1));
        match self.rng.u8(..20) {
            0..=8 => self.change_request(steps, corpus),
            9 | 10 => {
                let step = Step::Request { request: self.request(corpus) };
                steps.insert((at + 1).min(steps.len()), step);
            }
            11 => steps.insert((at + 1).min(steps.len()), self.step()),
            12 if steps.len() > 1 => drop(steps.remove(at)),
            13 => {
                let step = steps.get(at).cloned();
                steps.splice(at..at, step);
            }
            14 => {
                let other = self.rng.usize(..steps.len().max(1));
                if at < steps.len() && other < steps.len() {
                    steps.swap(at, other);
                }
            }
            15 | 16 => self.splice(steps, corpus),
            17 => self.begin(steps),
            18 => self.send_together(steps, corpus),
            _ => {
                let call = self.rng.u64(1..=MAX_CALLS);
                steps.insert((at + 1).min(steps.len()), Step::FailNext { call });
            }
        }
    }

    /// Changes a sequence that reaches the driver through what it filters.
    fn change_filtered(&mut self, steps: &mut Vec<Step>, corpus: &Corpus) {
        let at = self.rng.usize(..steps.len().max(1));
        match self.rng.u8(..16) {
            0..=7 => self.change_one(steps, corpus),
            8..=10 => {
                let step = filtered::step(self.dictionary, self.rng);
                steps.insert((at + 1).min(steps.len()), step);
            }
            11 if steps.len() > 1 => drop(steps.remove(at)),
            12 => {
                let step = steps.get(at).cloned();
                steps.splice(at..at, step);
            }
            13 | 14 => self.splice(steps, corpus),
            _ => steps.insert(at.min(steps.len()), Step::FailNext { call: self.rng.u64(1..=MAX_CALLS) }),
        }
    }

    /// Changes an answer of a device of another driver or, if there is none, adds one in front of a request.
    fn change_answer(&mut self, steps: &mut Vec<Step>) {
        let answers = steps.iter_mut().filter_map(|step| match step {
            Step::AnswerNext { answer } => answer.as_mut(),
            _ => None,
        });
        let answers: Vec<&mut Below> = answers.collect();
        if let Some(answer) = self.rng.choice(answers).filter(|_| self.rng.u8(..4) != 0) {
            bytes::mutate(&mut answer.output, None, &self.dictionary.values, self.rng);
            return;
        }
        let requests = (0..).zip(steps.iter()).filter(|(_, step)| step.request().is_some());
        let requests: Vec<usize> = requests.map(|(index, _)| index).collect();
        let at = self.rng.choice(requests).unwrap_or(steps.len());
        steps.insert(at, Step::AnswerNext { answer: Some(self.below()) });
    }

    /// Changes the data, the lengths or the code of a request.
    fn change_request(&mut self, steps: &mut [Step], corpus: &Corpus) {
        let rng = &mut *self.rng;
        let values = &self.dictionary.values;
        let mut requests: Vec<&mut IoRequest> = steps.iter_mut().filter_map(Step::request_mut).collect();
        let index = rng.usize(..requests.len().max(1));
        let Some(request) = requests.get_mut(index) else { return };
        match rng.u8(..16) {
            0 => resize_output(request, bytes::length(rng, values)),
            1 => resize_output(request, request.input.len()),
            2 if request.kind.has_code() => request.code = code(rng, &self.dictionary.codes, request.code),
            _ if request.kind == RequestKind::READ => request.output = bytes::length(rng, values) as u32,
            way => {
                let other = corpus.any(rng).and_then(|input| input.steps.iter().rev().find_map(Step::request));
                let reads_output = has_second_input(request) || !request.output_data.is_empty();
                let (data, other) = if request.sends_output() && reads_output && way % 2 == 0 {
                    (&mut request.output_data, other.map(|other| other.output_data.as_slice()))
                } else {
                    (&mut request.input, other.map(|other| other.input.as_slice()))
                };
                bytes::mutate(data, other, values, rng);
            }
        }
    }

    /// Makes a request: by the grammar if there is one, like one of the corpus, or with any code.
    fn request(&mut self, corpus: &Corpus) -> IoRequest {
        let rng = &mut *self.rng;
        let dictionary = self.dictionary;
        if let Some(format) = rng.choice(&dictionary.grammar.requests).filter(|_| rng.u8(..4) != 0) {
            return control(format.code, format.input(rng, &dictionary.values), format.output);
        }
        let known = corpus.any(rng).and_then(|input| input.steps.iter().rev().find_map(Step::request));
        if let Some(known) = known.filter(|_| rng.u8(..4) != 0) {
            return known.clone();
        }
        let length = bytes::length(rng, &dictionary.values);
        match rng.u8(..6) {
            0 => IoRequest { kind: RequestKind::READ, output: length as u32, ..IoRequest::default() },
            1 => IoRequest { kind: RequestKind::WRITE, input: vec![0; length], ..IoRequest::default() },
            _ => {
                let any = rng.u32(..);
                control(
                    code(rng, &dictionary.codes, any),
                    vec![0; length],
                    bytes::length(rng, &dictionary.values) as u32,
                )
            }
        }
    }

    /// Makes a step that is not a request.
    fn step(&mut self) -> Step {
        let rng = &mut *self.rng;
        match rng.u8(..24) {
            0..=7 => Step::Open { name: None },
            8 => Step::Open { name: rng.choice(&self.dictionary.devices).cloned() },
            9..=13 => Step::Handle { number: rng.u32(1..=HANDLES) },
            14..=16 => Step::Close {},
            17 => Step::Wait { time: 10_000 << rng.u32(..8) },
            18 => Step::Change { offset: 4 * rng.u32(..8), value: bytes::value(rng, &self.dictionary.values) as u32 },
            19 if self.interrupts => Step::Interrupt { number: rng.u32(..2) },
            20 => Step::Sleep {},
            21 => Step::Rebalance {},
            22 => Step::Remove {},
            23 => Step::SurpriseRemove {},
            _ => Step::Cancel { number: rng.u32(1..=HANDLES) },
        }
    }

    /// Appends the end of another sequence.
    fn splice(&mut self, steps: &mut Vec<Step>, corpus: &Corpus) {
        let Some(other) = corpus.any(self.rng) else { return };
        let from = self.rng.usize(..other.steps.len().max(1));
        // Its first step opens the device, which this sequence has done.
        steps.extend(other.steps.iter().skip(from.max(1)).cloned());
    }

    /// Lets a request be pending while the following steps run, and sometimes cancels it.
    fn begin(&mut self, steps: &mut Vec<Step>) {
        let requests = (0..).zip(steps.iter()).filter(|(_, step)| matches!(step, Step::Request { .. }));
        let requests: Vec<usize> = requests.map(|(index, _)| index).collect();
        let Some(at) = self.rng.choice(requests) else { return };
        let number = 1 + steps.iter().take(at).filter(|step| matches!(step, Step::Begin { .. })).count() as u32;
        if let Some(Step::Request { request }) = steps.get(at).cloned() {
            steps.splice(at..=at, [Step::Begin { request }]);
            if self.rng.bool() {
                let later = self.rng.usize(at + 1..=steps.len());
                steps.insert(later, Step::Cancel { number });
            }
        }
    }

    /// Appends requests on two handles at the same time.
    fn send_together(&mut self, steps: &mut Vec<Step>, corpus: &Corpus) {
        let first = self.request(corpus);
        let mut second = self.request(corpus);
        if self.rng.bool() {
            second = first.clone();
        }
        let files = steps.iter().filter(|step| matches!(step, Step::Open { .. })).count() as u32;
        steps.truncate(LONGEST - 5);
        steps.extend([
            Step::Open { name: None },
            Step::Together { count: 2, schedule: self.rng.u32(1..=SCHEDULES) },
            Step::Request { request: first },
            Step::Handle { number: files.max(1) },
            Step::Request { request: second },
        ]);
    }

    /// Returns an environment: usually none, sometimes with registry values that the driver looks for, or with answers of
    /// the device below.
    pub(super) fn environment(&mut self, corpus: &Corpus) -> Environment {
        let known = corpus.any(self.rng).map(|Input { environment, .. }| environment.clone());
        let mut environment = known.filter(|_| self.rng.bool()).unwrap_or_default();
        if self.rng.u8(..4) != 0 {
            return environment;
        }
        let registry = self.rng.choice(&self.dictionary.registry).filter(|_| self.rng.bool()).cloned();
        if let Some((key, name)) = registry {
            let value = self.registry_value();
            environment.registry.retain(|(_, known, _)| *known != name);
            environment.registry.push((key, name, value));
        } else {
            environment.below = vec![self.below()];
        }
        environment
    }

    fn registry_value(&mut self) -> RegistryValue {
        let rng = &mut *self.rng;
        let values = &self.dictionary.values;
        match rng.u8(..6) {
            0 => RegistryValue::Qword(bytes::value(rng, values)),
            1 => RegistryValue::Text("A".repeat(rng.usize(..300))),
            2 => RegistryValue::Binary(vec![0x41; rng.usize(..300)]),
            _ => RegistryValue::Dword(bytes::value(rng, values) as u32),
        }
    }

    fn below(&mut self) -> Below {
        let rng = &mut *self.rng;
        let values = &self.dictionary.values;
        let mut output = vec![0; bytes::length(rng, values).min(64)];
        for _ in 0..rng.u8(..8) {
            bytes::mutate(&mut output, None, values, rng);
        }
        output.truncate(256);
        let status = if rng.bool() { NtStatus::Success } else { rng.choice(REFUSALS).unwrap_or_default() };
        let delay = if rng.u8(..8) == 0 { LATE } else { Duration::ZERO };
        Below { device: None, kind: None, code: None, status, output, delay }
    }
}

/// Changes the size of a request's output buffer.
fn resize_output(request: &mut IoRequest, size: usize) {
    request.output = size as u32;
    request.output_data.truncate(size);
}

/// Returns a control code: a candidate, or a neighbour of `known`. Functions are in bits 2 to 13, methods in bits 0 and 1.
fn code(rng: &mut Rng, codes: &[u32], known: u32) -> u32 {
    let near = known.wrapping_add(rng.u32(..16) * 4).wrapping_sub(rng.u32(..16) * 4);
    match (rng.u8(..8), rng.choice(codes).copied()) {
        (0..=4, Some(code)) => code,
        (7, _) => known ^ rng.u32(..4),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use nt_machine::RegistryKey;

    use super::{Corpus, Dictionary, Mutator};

    #[test]
    fn environments_have_registry_values_that_the_driver_looked_for_and_answers_of_the_device_below() {
        let registry = vec![(RegistryKey::Parameters, "Mode".to_owned())];
        let dictionary = Dictionary { registry, ..Dictionary::default() };
        let mut rng = Rng::with_seed(1);
        let mut mutator = Mutator { dictionary: &dictionary, rng: &mut rng, interrupts: false, asks: false };
        let environments: Vec<_> = (0..200).map(|_| mutator.environment(&Corpus::default())).collect();
        let below = || environments.iter().flat_map(|environment| &environment.below);
        assert!(below().any(|below| below.status.is_error()));
        assert!(below().any(|below| below.status.is_success() && below.output.iter().any(|byte| *byte != 0)));
        assert!(environments.iter().any(|environment| environment.registry.iter().any(|(_, name, _)| name == "Mode")));
        assert!(environments.iter().filter(|environment| environment.is_empty()).count() > 100, "most have neither");
    }
}
