//! Arguments that are narrower than their slots: the calling convention leaves the bits above them, and the slots after the
//! last argument, undefined. Whatever is there, a routine does the same.

use std::time::Duration;

use nt_host::{Device, Error, NtHost, Report, Rule};
use nt_machine::{Os, RoutineInfo};

use crate::common;

/// An argument that the driver replaces with the address of memory that is zero.
const THERE: u64 = 0x4845_5245_0000_0000;
/// The small numbers that each routine is called with: flags, and a length.
const NUMBERS: [u64; 3] = [0, 1, 64];
/// The number of tests that share the routines, so that they can run in parallel.
const PARTS: usize = 4;
/// How long the driver may take. A call that does not return is a result here, so the first limit is short. On a busy
/// machine it may be too short even for loading the driver, which must succeed.
const LIMITS: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(5), Duration::from_mins(1)];

/// What a call does, as far as it can be compared with another run: addresses and large numbers are not.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Returned(u64),
    Stopped(Vec<String>),
}

/// The slots of a call, and how many bytes of the result are defined.
struct Slots {
    clean: [u64; 16],
    garbage: [u64; 16],
    result: u32,
}

/// Returns the number of bytes of a kind of argument or result.
fn width(kind: &str) -> u32 {
    match kind {
        "void" => 0,
        "u8" | "i8" | "boolean" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "status" => 4,
        _ => 8,
    }
}

/// Returns a mask of the lowest bytes.
fn defined(width: u32) -> u64 {
    if width >= 8 { u64::MAX } else { (1 << (8 * width)) - 1 }
}

/// Returns a value with undefined bits above its width.
fn with_garbage(value: u64, width: u32) -> u64 {
    const UNDEFINED: u64 = 0xA5A5_C3C3_F00F_5A5A;
    (value & defined(width)) | (UNDEFINED & !defined(width))
}

impl Slots {
    fn new(signature: &str, number: u64) -> Self {
        let (parameters, result) = signature.split_once("->").expect("a result");
        let kinds = parameters.split(',').map(str::trim).filter(|kind| !["", "..."].contains(kind));
        let mut clean = [0; 16];
        let mut garbage = [with_garbage(0, 0); 16];
        for (index, kind) in kinds.enumerate() {
            let value = if kind == "pointer" { THERE } else { number };
            (clean[index], garbage[index]) = (value, with_garbage(value, width(kind)));
        }
        Self { clean, garbage, result: width(result.trim()) }
    }
}

fn start() -> (NtHost, Device) {
    let image = common::c::build("wdm_call", 0, "DriverEntry", &["ntoskrnl"]);
    let load = |limit: &Duration| {
        let host = NtHost::builder().driver(&image).patience(*limit).start()?;
        let device = host.add_device()?;
        Ok::<_, Error>((host, device))
    };
    LIMITS.iter().find_map(|limit| load(limit).ok()).expect("a driver that loads within the last limit")
}

/// A run of the driver that is started again after a call that stops it.
#[derive(Default)]
struct Caller(Option<(NtHost, Device)>);

impl Caller {
    fn call(&mut self, routine: &str, slots: &[u64; 16], result: u32) -> Outcome {
        let (_, device) = self.0.get_or_insert_with(start);
        let name = routine.encode_utf16().flat_map(u16::to_le_bytes);
        let input: Vec<u8> = slots.iter().flat_map(|slot| slot.to_le_bytes()).chain(name).collect();
        match device.ioctl(0x0022_2004, &input, 8) {
            Ok(reply) => {
                let value = u64::from_le_bytes(reply.output.try_into().expect("a result"));
                let value = value & defined(result);
                Outcome::Returned(if value > u64::from(u32::MAX) { u64::MAX } else { value })
            }
            Err(Error::Stopped(report)) => {
                self.0 = None;
                Outcome::Stopped(summary(&report))
            }
            Err(error) => panic!("{routine}{slots:x?}: {error}"),
        }
    }
}

/// Returns rules, routines and details of findings, without addresses.
fn summary(report: &Report) -> Vec<String> {
    let without_numbers = |detail: &str| {
        detail.split("0x").map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit())).collect::<String>()
    };
    assert!(report.findings_of(Rule::Host).next().is_none(), "{:?}", report.findings());
    let findings = report.findings().iter();
    findings
        .map(|finding| format!("{:?} {:?} {}", finding.rule, finding.routine, without_numbers(&finding.detail)))
        .collect()
}

/// Calls the routines whose number modulo [`PARTS`] is `part`, in two runs: with and without undefined bits.
fn compare(part: usize) {
    let all = nt_machine::all_routines(Os::default());
    let routines: Vec<&RoutineInfo> = all.iter().filter(|routine| !routine.is_of_framework()).collect();
    let mut clean = Caller::default();
    let mut garbage = Caller::default();
    let mut compared = 0;
    let mut different = Vec::new();
    for routine in routines.iter().skip(part).step_by(PARTS) {
        let Some(signature) = &routine.signature else { continue };
        for number in NUMBERS {
            let slots = Slots::new(signature, number);
            let expected = clean.call(routine.name, &slots.clean, slots.result);
            let found = garbage.call(routine.name, &slots.garbage, slots.result);
            compared += 1;
            // Both runs continue in the same state.
            if clean.0.is_none() || garbage.0.is_none() {
                (clean, garbage) = (Caller::default(), Caller::default());
            }
            if expected != found && is_caused_by_garbage(routine.name, &slots) {
                different.push(format!(
                    "{} ({signature}) with {number}: {expected:?}, with garbage {found:?}",
                    routine.name
                ));
            }
        }
    }
    assert!(compared > 500, "{compared} calls");
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Returns whether a call always does the same without undefined bits, and never does that with them. What some routines
/// do depends on the time, or on a thread that they start.
fn is_caused_by_garbage(routine: &str, slots: &Slots) -> bool {
    const ATTEMPTS: usize = 6;
    let alone = |list: &[u64; 16]| Caller::default().call(routine, list, slots.result);
    let expected = alone(&slots.clean);
    (1..ATTEMPTS).all(|_| alone(&slots.clean) == expected) && (0..ATTEMPTS).all(|_| alone(&slots.garbage) != expected)
}

#[test]
fn undefined_bits_change_nothing_in_the_first_part_of_the_routines() {
    compare(0);
}

#[test]
fn undefined_bits_change_nothing_in_the_second_part_of_the_routines() {
    compare(1);
}

#[test]
fn undefined_bits_change_nothing_in_the_third_part_of_the_routines() {
    compare(2);
}

#[test]
fn undefined_bits_change_nothing_in_the_fourth_part_of_the_routines() {
    compare(3);
}

#[test]
fn bits_above_a_width_are_undefined_and_those_below_are_kept() {
    assert_eq!(with_garbage(1, 4), 0xA5A5_C3C3_0000_0001);
    assert_eq!(with_garbage(1, 1), 0xA5A5_C3C3_F00F_5A01);
    assert_eq!(with_garbage(u64::MAX, 8), u64::MAX);
    assert_eq!(with_garbage(1, 0), 0xA5A5_C3C3_F00F_5A5A);
    let slots = Slots::new("u32, pointer, boolean -> status", 1);
    assert_eq!(slots.garbage[..4], [0xA5A5_C3C3_0000_0001, THERE, 0xA5A5_C3C3_F00F_5A01, 0xA5A5_C3C3_F00F_5A5A]);
    assert_eq!(slots.clean[..4].to_vec(), vec![1, THERE, 1, 0]);
    assert_eq!(slots.result, 4);
}
