//! Sequences for drivers that filter: operations on files, messages to communication ports, connections and packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fastrand::Rng;
use nt_machine::{Connection, Packet};
use windows_constants::file::{
    FileAllInformation, FileAllocationInformation, FileBasicInformation, FileEndOfFileInformation, FileNameInformation,
    FileNetworkOpenInformation, FileStandardInformation,
};

use super::bytes;
use super::dictionary::Dictionary;
use super::follow::{CALLS, FollowUp, Tails, constants, lengths, plans, small};
use super::packet::{PAYLOAD, datagram, fit};
use super::plan::Plan;
use crate::steps::{FileStep, Step};

/// The classes of information that are queried, with the sizes of their structures.
const QUERIES: [(u32, u32); 5] = [
    (FileBasicInformation, 40),
    (FileStandardInformation, 24),
    (FileNameInformation, 512),
    (FileAllInformation, 1024),
    (FileNetworkOpenInformation, 56),
];
/// The classes of information that are set, with the sizes of their structures.
const SETS: [(u32, usize); 3] =
    [(FileBasicInformation, 40), (FileAllocationInformation, 8), (FileEndOfFileInformation, 8)];
/// The ports of common services, and the maximum number of constants that are tried as ports.
const SERVICES: [u16; 6] = [53, 80, 443, 23, 445, 8080];
const MAX_PORTS: usize = 48;
/// The number of ports that are tried in every way.
const FIRST_PORTS: usize = 3;
/// The number of bytes of data at first.
const DATA: usize = 64;
/// The lengths of data that are tried.
const LENGTHS: [usize; 12] = [0, 1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];
/// The lengths of names that are tried.
const LONG: [usize; 8] = [16, 32, 64, 100, 128, 200, 255, 300];
/// A name that files get for a while.
const RENAMED: &str = r"\renamed.tmp";

fn file(step: FileStep) -> Step {
    Step::File { step }
}

/// Returns steps after which a file is open, whether or not it existed.
fn opened(path: &str) -> Vec<Step> {
    let path = || path.to_owned();
    vec![file(FileStep::Create { path: path() }), file(FileStep::Open { path: path() })]
}

/// Returns what is tried first.
pub(super) fn seeds(dictionary: &Dictionary) -> Vec<Plan> {
    let mut plans = Vec::new();
    if let Some(ports) = &dictionary.ports {
        plans.extend(ports.iter().flat_map(|name| messages(name)));
        plans.extend(files(&dictionary.names));
    }
    plans.extend(Plan::pack(Vec::new(), dictionary.traffic.iter().cloned()));
    plans
}

/// Returns messages to a port, with and without data.
fn messages(name: &str) -> impl Iterator<Item = Plan> + use<> {
    let send = |length: usize| vec![file(FileStep::Send { data: vec![0; length], output: length as u32 })];
    let reply = vec![file(FileStep::Reply { data: vec![0; DATA] })];
    Plan::pack(
        vec![file(FileStep::Connect { name: name.to_owned() })],
        [send(DATA), send(0), send(4), reply].into_iter(),
    )
}

/// Returns operations on each file, and all operations on the first one.
fn files(names: &[String]) -> Vec<Plan> {
    let write = || vec![file(FileStep::Write { data: vec![0; DATA] })];
    let read = || vec![file(FileStep::Read { length: FileStep::LENGTH })];
    let queries = QUERIES.map(|(class, length)| vec![file(FileStep::Query { class, length })]);
    let sets = SETS.map(|(class, length)| vec![file(FileStep::Set { class, data: vec![0; length] })]);
    let mut plans = Vec::new();
    for (index, path) in names.iter().enumerate() {
        let others = queries.iter().chain(&sets).filter(|_| index == 0).cloned();
        plans.extend(Plan::pack(opened(path), [write(), read()].into_iter().chain(others)));
        let rename = |path: &str| file(FileStep::Rename { path: path.to_owned() });
        let end = [rename(RENAMED), rename(path), file(FileStep::Delete {}), file(FileStep::Close {})];
        plans.push(Plan::new([opened(path), end.to_vec()].concat()));
    }
    let list = || file(FileStep::List { pattern: "*".into() });
    plans.push(Plan::new(vec![file(FileStep::Folder { path: r"\folder".into() }), list()]));
    plans.push(Plan::new(vec![file(FileStep::Open { path: r"\".into() }), list()]));
    plans.push(Plan::new(vec![file(FileStep::Detach {}), file(FileStep::Attach {})]));
    plans
}

/// Returns connections and packets: to the ports that the driver's code may know, and from some of them.
pub(super) fn traffic(values: &[u64]) -> Vec<Vec<Step>> {
    let known = values.iter().filter_map(|value| u16::try_from(*value).ok()).filter(|port| *port != 0);
    let mut sequences = Vec::new();
    for (index, port) in SERVICES.into_iter().chain(known.take(MAX_PORTS)).enumerate() {
        let is_first = index < FIRST_PORTS;
        let hosts = [IpAddr::from(Ipv4Addr::new(10, 0, 0, 1)), Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 1).into()];
        for remote in hosts.map(|host| SocketAddr::new(host, port)).into_iter().take(if is_first { 2 } else { 1 }) {
            let directions = [false, true].into_iter().take(if is_first { 2 } else { 1 });
            for (inbound, udp) in directions.flat_map(|inbound| [(inbound, false), (inbound, true)]) {
                let connection = Connection { inbound, udp, ..Connection::to(remote) };
                let data = |inbound| Step::Transfer { inbound, data: vec![0; DATA] };
                sequences.push(vec![Step::Connect { connection }, data(false), data(true), Step::Disconnect {}]);
                let packet = Packet { data: datagram(remote, inbound, udp, &[0; DATA]), inbound };
                sequences.push(vec![Step::Packet { packet }]);
            }
        }
    }
    sequences
}

/// Returns whether a step can be [changed](change).
pub(super) fn can_change(step: &Step) -> bool {
    let has_length = |step: &FileStep| matches!(step, FileStep::Read { .. } | FileStep::Query { .. });
    let of_file = matches!(step, Step::File { step } if step.path().is_some() || has_length(step));
    of_file || (step.is_filtered() && step.data().is_some())
}

/// Returns what follows from a sequence that did something new and whose last request is such a step: it gets constants,
/// other lengths and names, and fails at one call after the other. `near` are the constants of the code that it reached.
pub(super) fn follow_up(steps: &[Step], dictionary: &Dictionary, near: &[u64]) -> FollowUp {
    let Some(last) = steps.iter().rposition(Step::is_filtered) else { return Box::new(std::iter::empty()) };
    let Some((before, [step, after @ ..])) = steps.split_at_checked(last) else {
        return Box::new(std::iter::empty());
    };
    let renamed = {
        let paths = paths(steps, dictionary, near);
        let steps = steps.to_vec();
        paths.into_iter().map(move |(old, new)| Plan::new(with_name(&steps, &old, &new)))
    };
    let (near_tails, rest): (Tails, Tails) = match step {
        Step::Packet { packet } => {
            let packets = packets(packet, near).map(|packet| vec![Step::Packet { packet }]);
            (Box::new(packets), Box::new(std::iter::empty()))
        }
        step => {
            let lengths = lengths(step, small(near).chain(LENGTHS).collect());
            (alternate(constants(step, &near.into()), Box::new(lengths)), constants(step, &dictionary.tried))
        }
    };
    let failed = {
        let step = step.clone();
        let fail = |call| Step::FailNext { call };
        (1..=CALLS).map(move |call| vec![fail(call), step.clone(), fail(0)])
    };
    let first = plans(before, after, near_tails);
    Box::new(first.chain(renamed).chain(plans(before, after, Box::new(failed.chain(rest)))))
}

/// Takes items of both in turn: neither waits until the other ends.
fn alternate(mut first: Tails, mut second: Tails) -> Tails {
    Box::new(std::iter::from_fn(move || {
        std::mem::swap(&mut first, &mut second);
        first.next().or_else(|| second.next())
    }))
}

/// Returns a packet with other lengths of its data, and with each of these values in each of its first fields.
fn packets(packet: &Packet, near: &[u64]) -> impl Iterator<Item = Packet> + Send + use<> {
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = packet.clone();
        change(&mut packet.data);
        fit(&mut packet.data);
        packet
    };
    let begin = PAYLOAD.min(packet.data.len());
    let lengths = (begin..=begin + 32).chain(small(near).map(|length| begin + length));
    let mut packets: Vec<Packet> = lengths.map(|length| changed(&|data| data.resize(length, 0))).collect();
    for value in near {
        for field in 0..4 {
            // Fields of protocols are big-endian; those of a driver's own format are not.
            for (width, value) in
                [(2, value.swap_bytes() >> 48), (4, value.swap_bytes() >> 32), (1, *value), (4, *value)]
            {
                packets.push(changed(&|data| bytes::write(data, begin + field * width, value, width)));
            }
        }
    }
    packets.into_iter()
}

/// Returns other names for the file of a sequence: the old and the new one.
fn paths(steps: &[Step], dictionary: &Dictionary, near: &[u64]) -> Vec<(String, String)> {
    let name = steps.iter().rev().find_map(|step| match step {
        Step::File { step } => step.path(),
        _ => None,
    });
    let Some(old) = name else { return Vec::new() };
    let forms = forms(old, &dictionary.names, small(near).chain(LONG));
    forms.into_iter().filter(|new| new != old).map(|new| (old.to_owned(), new)).collect()
}

/// Returns names of other forms.
fn forms(name: &str, known: &[String], lengths: impl Iterator<Item = usize>) -> Vec<String> {
    let (stem, extension) = name.rsplit_once('.').map_or((name, ""), |(stem, extension)| (stem, extension));
    let mut forms: Vec<String> = [":s", ".", " ", ".x", r"\b"].map(|end| format!("{name}{end}")).to_vec();
    forms.extend([stem.to_owned(), name.to_uppercase(), format!(r"\.{extension}"), String::new()]);
    for length in lengths.filter(|length| *length <= 1000) {
        // The length may be that of the name in characters or in bytes, with and without what is around it.
        forms.extend([length, length / 2 + 1].map(|length| format!(r"\{}.{extension}", "a".repeat(length))));
    }
    forms.extend_from_slice(known);
    forms
}

/// Returns steps in which a file has another name.
fn with_name(steps: &[Step], old: &str, new: &str) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for step in &mut steps {
        if let Step::File { step } = step
            && let Some(path) = step.path_mut().filter(|path| *path == old)
        {
            new.clone_into(path);
        }
    }
    steps
}

/// Makes the first steps of a sequence.
pub(super) fn begin(dictionary: &Dictionary, rng: &mut Rng) -> Vec<Step> {
    let port = dictionary.ports.as_ref().and_then(|ports| rng.choice(ports)).filter(|_| rng.u8(..3) == 0);
    let path = rng.choice(&dictionary.names).filter(|_| dictionary.ports.is_some());
    match (port, path) {
        (Some(name), _) => vec![file(FileStep::Connect { name: name.clone() })],
        (None, Some(path)) => opened(path),
        (None, None) => rng.choice(&dictionary.traffic).cloned().unwrap_or_default(),
    }
}

/// Makes a step.
pub(super) fn step(dictionary: &Dictionary, rng: &mut Rng) -> Step {
    let length = bytes::length(rng, &dictionary.values);
    if dictionary.ports.is_none() || (!dictionary.traffic.is_empty() && rng.bool()) {
        let data = vec![0; length.min(1400)];
        return match rng.u8(..4) {
            0 => Step::Disconnect {},
            1 => Step::Transfer { inbound: rng.bool(), data },
            _ => {
                let sequence = rng.choice(&dictionary.traffic);
                sequence.and_then(|sequence| sequence.first().cloned()).unwrap_or(Step::Disconnect {})
            }
        };
    }
    let path = rng.choice(&dictionary.names).cloned().unwrap_or_default();
    let output = length as u32;
    file(match rng.u8(..16) {
        0 => FileStep::Open { path },
        1 => FileStep::Create { path },
        2 => FileStep::Rename { path },
        3 => FileStep::Delete {},
        4 => FileStep::Close {},
        5 => FileStep::List { pattern: "*".into() },
        6 => FileStep::Folder { path },
        7 | 8 => FileStep::Read { length: output },
        9 => FileStep::Query { class: rng.choice(QUERIES).unwrap_or_default().0, length: output },
        10 => FileStep::Set { class: rng.choice(SETS).unwrap_or_default().0, data: vec![0; length] },
        11 => FileStep::Reply { data: vec![0; length] },
        12 | 13 => FileStep::Send { data: vec![0; length], output },
        _ => FileStep::Write { data: vec![0; length] },
    })
}

/// Changes a step: its data, its length or its name.
pub(super) fn change(step: &mut Step, dictionary: &Dictionary, rng: &mut Rng) {
    let values = &dictionary.values;
    if let Step::Packet { packet } = step {
        let mut payload = packet.data.split_off(PAYLOAD.min(packet.data.len()));
        bytes::mutate(if rng.u8(..8) == 0 { &mut packet.data } else { &mut payload }, None, values, rng);
        packet.data.extend(payload);
        packet.data.truncate(1 << 12);
        fit(&mut packet.data);
    } else if step.output_mut().is_some() && (step.data().is_none() || rng.u8(..4) == 0) {
        if let Some(output) = step.output_mut() {
            *output = bytes::length(rng, values) as u32;
        }
    } else if let Some(data) = step.data_mut() {
        bytes::mutate(data, None, values, rng);
    } else if let Step::File { step } = step
        && let Some(path) = step.path_mut()
    {
        let forms = forms(path, &dictionary.names, small(values).chain(LONG));
        *path = rng.choice(forms).unwrap_or_default();
    }
}
