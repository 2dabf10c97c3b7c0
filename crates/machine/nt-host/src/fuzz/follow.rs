//! The sequences that are tried without chance: each control code, and what follows from an input that did something new.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use etw_types::NtStatus;
use nt_machine::{Below, IoRequest, RequestKind};

use super::bytes;
use super::dictionary::Dictionary;
use super::plan::Plan;
use crate::steps::{DataMut, FileStep, Step};

/// The maximum number of constants that are tried as lengths, and the largest of them.
const MAX_LENGTHS: usize = 64;
const PAGE: usize = 4096;
/// The lengths that are tried first: an input that is as long as the output hides that the driver does not write all of that, and
/// many drivers do not expect more than they use.
const FIRST_LENGTHS: [usize; 2] = [4, 128];
/// The number of fields at which constants are tried, and in requests that are sent in addition.
const FIELDS: usize = 4;
const MORE_FIELDS: usize = 2;
/// The number of bytes at which small constants are tried: letters are often compared one by one.
const BYTES: usize = 8;
/// The number of control codes after a known one that are tried.
const FOLLOWING: u32 = 32;
/// The number of calls that are made to fail in turn.
pub(super) const CALLS: u64 = 4;
/// How late a device of another driver completes a request that it does not complete at once.
pub(super) const LATE: Duration = Duration::from_millis(1);
/// The number of bytes that such a device returns at first.
const ANSWER: usize = 64;
/// The number of schedules that are tried for a request that meets itself, and for one that meets another.
const SCHEDULES: u32 = 6;
const MORE_SCHEDULES: u32 = 2;

/// Returns whether the output buffer of a request is a second input: with `METHOD_IN_DIRECT`. With other methods a driver rarely
/// reads it.
pub(super) const fn has_second_input(request: &IoRequest) -> bool {
    request.code & 3 == 1
}

/// The statuses with which devices of other drivers refuse requests.
pub(super) const REFUSALS: [NtStatus; 3] =
    [NtStatus::InsufficientResources, NtStatus::InvalidParameter, NtStatus::Cancelled];

/// The sequences that follow from an input, made when they are needed: all of them at once would take gigabytes.
pub(super) type FollowUp = Box<dyn Iterator<Item = Plan> + Send>;
/// What takes the place of the last request of an input.
pub(super) type Tails = Box<dyn Iterator<Item = Vec<Step>> + Send>;

/// Returns a control request.
pub(super) const fn control(code: u32, input: Vec<u8>, output: u32) -> IoRequest {
    IoRequest { kind: RequestKind::DEVICE_CONTROL, code, input, output, output_data: Vec::new() }
}

/// Returns what is tried first: each control code with and without data, the codes that follow it, a read and a write.
pub(super) fn seeds(dictionary: &Dictionary) -> Vec<Plan> {
    let control = |(code, length): (u32, usize)| control(code, vec![0; length], length as u32);
    let codes = dictionary.codes.iter().flat_map(|code| [(*code, 64), (*code, 0)]);
    // A driver that finds its handlers in a table compares with the first code only.
    let following = dictionary.codes.iter().flat_map(|code| (1..=FOLLOWING).map(|next| code.saturating_add(next * 4)));
    let following: BTreeSet<u32> = following.filter(|code| dictionary.codes.binary_search(code).is_err()).collect();
    let codes = codes.chain(following.into_iter().map(|code| (code, 64)));
    let read = IoRequest { kind: RequestKind::READ, output: 64, ..IoRequest::default() };
    let write = IoRequest { kind: RequestKind::WRITE, input: vec![0; 64], ..IoRequest::default() };
    let requests = codes.map(control).chain([read, write]);
    let sequences = requests.map(|request| vec![Step::Request { request }]);
    let mut plans: Vec<Plan> = Plan::pack(vec![Step::Open { name: None }], sequences).collect();
    if !dictionary.has_device {
        plans.clear();
    }
    plans.extend(dictionary.devices.iter().map(|name| Plan::new(vec![Step::Open { name: Some(name.clone()) }])));
    plans
}

/// Returns what follows from a sequence that did something new. Its last request gets each constant in each of its first
/// fields, fails at one call after the other, is sent twice, is canceled, meets removal and other requests, and gets other
/// lengths. `near` are the constants of the code that it reached, which come first, `related` known requests of the same
/// kind, and `asked` how many requests the driver sent to devices of other drivers, which get answers.
pub(super) fn follow_up(
    steps: &[Step],
    dictionary: &Dictionary,
    near: &[u64],
    related: &[IoRequest],
    asked: usize,
) -> FollowUp {
    let last = steps.iter().rposition(|step| step.request().is_some());
    let Some((last, request)) = last.and_then(|last| Some((last, steps.get(last)?.request()?))) else {
        return Box::new(std::iter::empty());
    };
    let before = steps.get(..last).unwrap_or_default();
    let after = steps.get(last + 1..).unwrap_or_default();
    let meetings = {
        let meetings = meetings(before, request, related);
        let before = before.to_vec();
        meetings.into_iter().map(move |tail| Plan::new([before.as_slice(), &tail].concat()))
    };
    let sent = send(request);
    let near: Arc<[u64]> = near.into();
    let (early, late) = if has_second_input(request) {
        (output_constants(&sent, &near), no_tails())
    } else {
        (no_tails(), output_constants(&sent, &near))
    };
    let first = constants(&sent, &near).chain(lengths(&sent, small(&near).collect())).chain(early);
    let first = plans(before, after, Box::new(first)).chain(answered(before, after, request, &near, asked));
    let first = first.chain(plans(before, after, Box::new(lengths(&sent, FIRST_LENGTHS.into()))));
    let common = (0..=16).chain([24, 32, 48, 64, 128, 256, 512, 1024, PAGE]);
    let lengths = lengths(&sent, common.chain(small(&dictionary.values).take(MAX_LENGTHS)).collect());
    let rest = repetitions(request, related).into_iter().chain(lengths).chain(late);
    let rest = rest.chain(constants(&sent, &dictionary.tried)).chain(output_constants(&sent, &dictionary.tried));
    let rest = plans(before, after, Box::new(rest));
    Box::new(first.chain(meetings).chain(rest))
}

/// Returns plans for the sequences with these tails.
pub(super) fn plans(before: &[Step], after: &[Step], tails: Tails) -> FollowUp {
    let opening = match before {
        [Step::Open { .. }, ..] => 1,
        before => before.iter().take_while(|step| opens(step)).count(),
    };
    match before.split_at(opening) {
        (head, middle) if opening != 0 && after.is_empty() && middle.iter().all(is_plain) => {
            let middle = middle.to_vec();
            Box::new(Plan::pack(head.to_vec(), tails.map(move |tail| [middle.as_slice(), &tail].concat())))
        }
        _ => {
            let before = before.to_vec();
            let after = after.to_vec();
            Box::new(tails.map(move |tail| Plan::new([before.as_slice(), &tail, &after].concat())))
        }
    }
}

/// Returns whether a step opens a file of the volume, a port or a connection.
fn opens(step: &Step) -> bool {
    match step {
        Step::File { step } => step.open().is_some() || matches!(step, FileStep::Connect { .. }),
        step => matches!(step, Step::Connect { .. }),
    }
}

/// Returns whether a step leaves what is open as it is.
const fn is_plain(step: &Step) -> bool {
    use FileStep::{List, Query, Read, Reply, Send, Set, Write};
    match step {
        Step::File { step } => matches!(
            step,
            List { .. } | Query { .. } | Read { .. } | Reply { .. } | Send { .. } | Set { .. } | Write { .. }
        ),
        step => matches!(
            step,
            Step::Request { .. }
                | Step::FailNext { .. }
                | Step::Change { .. }
                | Step::Transfer { .. }
                | Step::Packet { .. }
                | Step::Memory { .. }
        ),
    }
}

/// Returns the sequence with other answers of devices of other drivers: each with each constant in each of its first fields and,
/// if the driver asked more often than there are answers, another one.
fn answered(before: &[Step], after: &[Step], request: &IoRequest, near: &[u64], asked: usize) -> FollowUp {
    let is_answer = |step: &&Step| matches!(step, Step::AnswerNext { answer: Some(_) });
    let count = before.iter().rev().take_while(is_answer).count();
    let (before, known) = before.split_at(before.len() - count);
    let mut answers: Vec<Vec<Step>> = Vec::new();
    let values: Arc<[u64]> = near.iter().chain(&bytes::INTERESTING).copied().collect();
    for index in 0..count {
        answers.extend(places(&values, FIELDS, None, 0..=u64::MAX).map(|(field, value, width)| {
            let mut answers = known.to_vec();
            if let Some(Step::AnswerNext { answer: Some(answer) }) = answers.get_mut(index) {
                bytes::write(&mut answer.output, field * width, value, width);
            }
            answers
        }));
    }
    if asked > count {
        let answer = |status: NtStatus, output: Vec<u8>, delay: Duration| {
            let answer = Below { device: None, kind: None, code: None, status, output, delay };
            [known, &[Step::AnswerNext { answer: Some(answer) }]].concat()
        };
        let outputs = [vec![0; ANSWER], vec![0xFF; ANSWER], Vec::new()];
        answers.extend(outputs.into_iter().map(|output| answer(NtStatus::Success, output, Duration::ZERO)));
        answers.push(answer(NtStatus::Success, vec![0; ANSWER], LATE));
        answers.extend(REFUSALS.into_iter().map(|status| answer(status, Vec::new(), Duration::ZERO)));
    }
    let forget = Step::AnswerNext { answer: None };
    let request = send(request);
    let tails = answers.into_iter().map(move |answers| [answers, vec![request.clone(), forget.clone()]].concat());
    plans(before, after, Box::new(tails))
}

fn send(request: &IoRequest) -> Step {
    Step::Request { request: request.clone() }
}

/// Returns how a request meets something else: it is canceled, its file is closed or its device removed while it is pending,
/// and others run at the same time.
fn meetings(before: &[Step], request: &IoRequest, related: &[IoRequest]) -> Vec<Vec<Step>> {
    let count = |wanted: fn(&Step) -> bool| before.iter().filter(|step| wanted(step)).count() as u32;
    let number = 1 + count(|step| matches!(step, Step::Begin { .. }));
    let file = count(|step| matches!(step, Step::Open { .. })).max(1);
    let begin = |request: &IoRequest| Step::Begin { request: request.clone() };
    let together = |schedule: u32, first: &IoRequest, second: &IoRequest| {
        let open = Step::Open { name: None };
        let together = Step::Together { count: 2, schedule };
        vec![open, together, send(first), Step::Handle { number: file }, send(second)]
    };
    let mut tails = vec![
        vec![begin(request), Step::Cancel { number }],
        vec![begin(request), Step::Close {}],
        vec![begin(request), Step::SurpriseRemove {}],
        vec![begin(request), Step::Sleep {}, Step::Wake {}],
        vec![send(request), Step::Remove {}],
    ];
    tails.extend((1..=SCHEDULES).map(|schedule| together(schedule, request, request)));
    for other in related {
        tails.push(vec![begin(other), send(request)]);
        tails.push(vec![begin(other), Step::Cancel { number }, send(request)]);
        for schedule in 1..=MORE_SCHEDULES {
            tails.push(together(schedule, other, request));
            tails.push([vec![send(other)], together(schedule, request, request)].concat());
        }
    }
    tails
}

/// Returns a request in which a call fails, or whose input changes, and the request with others before and after it.
fn repetitions(request: &IoRequest, related: &[IoRequest]) -> Vec<Vec<Step>> {
    let fail = |call: u64| Step::FailNext { call };
    let mut tails: Vec<Vec<Step>> = (1..=CALLS).map(|call| vec![fail(call), send(request), fail(0)]).collect();
    // A program can change its buffer while the driver reads it, if the driver gets its address.
    let is_neither = request.kind.has_code() && request.code & 3 == 3;
    for offset in (0..4).map(|field| field * 4).filter(|_| is_neither) {
        for value in [0, 0x1000, u32::MAX] {
            tails.push(vec![Step::Change { offset, value }, send(request)]);
        }
    }
    for other in [request].into_iter().chain(related) {
        tails.push(vec![send(other), send(request)]);
        tails.push(vec![send(request), send(other)]);
    }
    tails
}

/// Returns a step with each of these lengths of its data, and with each as the length of its output.
pub(super) fn lengths(step: &Step, lengths: BTreeSet<usize>) -> impl Iterator<Item = Vec<Step>> + Send + use<> {
    let step = step.clone();
    lengths.into_iter().flat_map(move |length| {
        let mut input = step.clone();
        let mut output = step.clone();
        let has_data = input.data_mut().map(|data| data.resize(length, 0));
        let has_output = output.output_mut().map(|place| *place = length as u32);
        if let Some(data) = output.output_data_mut() {
            data.truncate(length);
        }
        [has_data.map(|()| vec![input]), has_output.map(|()| vec![output])].into_iter().flatten()
    })
}

/// Returns the values that are lengths of small buffers.
pub(super) fn small(values: &[u64]) -> impl Iterator<Item = usize> {
    values.iter().filter_map(|value| usize::try_from(*value).ok()).filter(|value| *value <= PAGE)
}

fn no_tails() -> Tails {
    Box::new(std::iter::empty())
}

/// Returns a step with each of these values in each of the first fields of its data.
pub(super) fn constants(step: &Step, values: &Arc<[u64]>) -> Tails {
    constants_in(step, values, Step::data_mut)
}

/// As [`constants`], for what the output buffer holds, if the driver gets that.
fn output_constants(step: &Step, values: &Arc<[u64]>) -> Tails {
    constants_in(step, values, Step::output_data_mut)
}

/// Returns a step with each of these values in each of the first fields of some data, instead of the step and after it. The first
/// fields decide most, so they come first.
fn constants_in(step: &Step, values: &Arc<[u64]>, data: DataMut) -> Tails {
    let is_read = step.request().is_some_and(|request| request.kind == RequestKind::READ);
    if is_read || data(&mut step.clone()).is_none() {
        return no_tails();
    }
    let all = 0..=u64::MAX;
    let narrow = places(values, BYTES, Some(1), 0..=0xFF).chain(places(values, FIELDS, Some(2), 0x100..=0xFFFF));
    let instead = places(values, FIELDS, None, all.clone()).chain(narrow).map(|place| (place, false));
    let after = places(values, MORE_FIELDS, None, all).map(|place| (place, true));
    let step = step.clone();
    Box::new(instead.chain(after).filter_map(move |((field, value, width), is_after)| {
        let mut changed = step.clone();
        bytes::write(data(&mut changed)?, field * width, value, width);
        let before = is_after.then(|| step.clone());
        (changed != step).then(|| before.into_iter().chain([changed]).collect())
    }))
}

/// Returns each of these values that is in a range for each of the first fields: the field, the value and its width in bytes.
/// Without a width, a value has 4 bytes or, if it does not fit, 8.
fn places(
    values: &Arc<[u64]>,
    fields: usize,
    width: Option<usize>,
    range: RangeInclusive<u64>,
) -> impl Iterator<Item = (usize, u64, usize)> + Send + use<> {
    let values = Arc::clone(values);
    let own = |value: u64| if u32::try_from(value).is_ok() { 4 } else { 8 };
    (0..fields).flat_map(move |field| {
        let values = Arc::clone(&values);
        let range = range.clone();
        let value = (0..).map_while(move |index: usize| values.get(index).copied());
        value
            .filter(move |value| range.contains(value))
            .map(move |value| (field, value, width.unwrap_or_else(|| own(value))))
    })
}
