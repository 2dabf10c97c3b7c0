//! The sequences that are tried without chance: each control code, and what follows from an input that did something new.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use nt_machine::{IoRequest, RequestKind};

use super::bytes;
use super::dictionary::Dictionary;
use super::plan::Plan;
use crate::wire::Step;

/// The maximum number of constants that are tried at each place of a new input.
const MOST_VALUES: usize = 512;
/// The maximum number of constants that are tried as lengths, and the largest of them.
const MOST_LENGTHS: usize = 64;
const PAGE: usize = 4096;
/// The number of fields at which constants are tried, and in requests that are sent in addition.
const FIELDS: usize = 4;
const MORE_FIELDS: usize = 2;
/// The number of bytes at which small constants are tried: letters are often compared one by one.
const BYTES: usize = 8;
/// The number of control codes after a known one that are tried.
const FOLLOWING: u32 = 32;
/// The number of calls that are made to fail in turn.
const CALLS: u64 = 4;

/// Returns a control request.
pub(super) const fn control(code: u32, input: Vec<u8>, output: u32) -> IoRequest {
    IoRequest { kind: RequestKind::DEVICE_CONTROL, code, input, output }
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
    let mut plans = Plan::pack(&[Step::Open { name: None }], requests.map(|request| vec![Step::Request { request }]));
    plans.extend(dictionary.devices.iter().map(|name| Plan::new(vec![Step::Open { name: Some(name.clone()) }])));
    plans
}

/// Returns what follows from a sequence that did something new. Its last request fails at one call after the other, is sent
/// twice, is canceled, meets removal and other requests, and gets other lengths and each constant in each of its first
/// fields. `related` are known requests of the same kind.
pub(super) fn follow_up(steps: &[Step], dictionary: &Dictionary, related: &[IoRequest]) -> Vec<Plan> {
    let last = steps.iter().rposition(|step| step.request().is_some());
    let Some((last, request)) = last.and_then(|last| Some((last, steps.get(last)?.request()?))) else {
        return Vec::new();
    };
    let before = steps.get(..last).unwrap_or_default();
    let after = steps.get(last + 1..).unwrap_or_default();
    let meetings = meetings(before, request, related).into_iter();
    let mut plans: Vec<Plan> = meetings.map(|tail| Plan::new([before, &tail].concat())).collect();
    let tails = [repetitions(request, related), lengths(request, dictionary), constants(request, dictionary)].concat();
    let is_plain = |step: &Step| matches!(step, Step::Request { .. } | Step::FailNext { .. } | Step::Change { .. });
    match before {
        [head @ Step::Open { .. }, middle @ ..] if after.is_empty() && middle.iter().all(is_plain) => {
            plans.extend(Plan::pack(std::slice::from_ref(head), tails.iter().map(|tail| [middle, tail].concat())));
        }
        _ => plans.extend(tails.iter().map(|tail| Plan::new([before, tail, after].concat()))),
    }
    plans
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
    let together = |first: &IoRequest, second: &IoRequest| {
        let open = Step::Open { name: None };
        vec![open, Step::Together { count: 2 }, send(first), Step::Handle { number: file }, send(second)]
    };
    let mut tails = vec![
        vec![begin(request), Step::Cancel { number }],
        vec![begin(request), Step::Close {}],
        together(request, request),
        vec![begin(request), Step::SurpriseRemove {}],
        vec![begin(request), Step::Sleep {}, Step::Wake {}],
        vec![send(request), Step::Remove {}],
    ];
    for other in related {
        tails.push(vec![begin(other), send(request)]);
        tails.push(vec![begin(other), Step::Cancel { number }, send(request)]);
        tails.push(together(other, request));
        tails.push([vec![send(other)], together(request, request)].concat());
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

/// Returns a request with other lengths.
fn lengths(request: &IoRequest, dictionary: &Dictionary) -> Vec<Vec<Step>> {
    let own = dictionary.values.iter().filter_map(|value| usize::try_from(*value).ok()).filter(|value| *value <= PAGE);
    let lengths: BTreeSet<usize> =
        (0..=16).chain([24, 32, 48, 64, 128, 256, 512, 1024, PAGE]).chain(own.take(MOST_LENGTHS)).collect();
    let change = |length: usize| {
        let (mut input, mut output) = (request.clone(), request.clone());
        input.input.resize(length, 0);
        output.output = length as u32;
        [vec![send(&input)], vec![send(&output)]]
    };
    lengths.into_iter().flat_map(change).collect()
}

/// Returns a request with each constant in each of its first fields, instead of the request and after it. The first fields
/// decide most, so they come first.
fn constants(request: &IoRequest, dictionary: &Dictionary) -> Vec<Vec<Step>> {
    if request.kind == RequestKind::READ {
        return Vec::new();
    }
    let values: Vec<u64> = dictionary.values.iter().take(MOST_VALUES).chain(&bytes::INTERESTING).copied().collect();
    let put = |field: usize, value: u64, width: usize| {
        let mut changed = request.clone();
        bytes::write(&mut changed.input, field * width, value, width);
        (changed != *request).then_some(changed)
    };
    let width = |value: u64| if u32::try_from(value).is_ok() { 4 } else { 8 };
    let in_field = |field: usize| values.iter().filter_map(move |value| put(field, *value, width(*value)));
    let narrow = |fields: usize, width: usize, range: RangeInclusive<u64>| {
        let values: Vec<u64> = values.iter().copied().filter(|value| range.contains(value)).collect();
        (0..fields).flat_map(move |field| values.clone().into_iter().filter_map(move |value| put(field, value, width)))
    };
    let fields = (0..FIELDS).flat_map(in_field);
    let narrow = narrow(BYTES, 1, 0..=0xFF).chain(narrow(FIELDS, 2, 0x100..=0xFFFF));
    let instead = fields.chain(narrow).map(|changed| vec![send(&changed)]);
    let after = (0..MORE_FIELDS).flat_map(in_field).map(|changed| vec![send(request), send(&changed)]);
    instead.chain(after).collect()
}
