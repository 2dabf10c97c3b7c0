//! Drivers that pass invalid addresses to kernel routines: a finding names the routine and the address, and the host
//! keeps running. This also holds for a debug build of the host. There, a check in the host's code could otherwise end
//! the process that runs the driver.
#![cfg(test)]

#[path = "it/common/mod.rs"]
mod common;

use std::fs;
use std::time::Duration;

use nt_host::{Device, Error, NtHost, Report, Rule};

/// Loads a copy of the driver whose name ends with `variant`, which selects the address. Returns the report, and
/// whether the driver was stopped.
fn run(variant: char) -> (Report, bool) {
    let path = common::folder().join(format!("bad_pointer_{variant}.sys"));
    fs::copy(common::broken("bad_pointer"), &path).expect("a copy of the driver");
    let host = NtHost::builder().driver(&path).prepare().expect("a driver");
    let stopped = match host.load() {
        Ok(()) => {
            host.unload().expect("the driver goes");
            false
        }
        Err(Error::Stopped(_)) => true,
        Err(error) => panic!("{variant}: {error}"),
    };
    (host.report(), stopped)
}

#[test]
fn an_invalid_address_is_a_finding_of_the_routine_that_received_it() {
    let addresses = [
        ('0', "writes to 0x0, through a NULL pointer"),
        ('1', "writes to 0x1, through a NULL pointer"),
        ('2', "writes to 0x1003"),
        ('3', "writes to 0x7fffffffeffd"),
        ('4', "uses 0x800000000000, which is not a canonical address"),
        ('5', "writes to 0xffffffffffffffff"),
        ('6', "writes to 0xfffffffffffffff9"),
        ('7', "writes to 0xffff800000000001"),
    ];
    for (variant, detail) in addresses {
        let (report, stopped) = run(variant);
        assert!(stopped, "{variant}: {:#?}", report.findings());
        let [finding] = report.findings() else { panic!("{variant}: {:#?}", report.findings()) };
        assert_eq!((finding.rule, finding.routine.as_deref()), (Rule::AccessViolation, Some("KeInitializeEvent")));
        assert_eq!(finding.detail, detail, "{variant}");
    }
}

#[test]
fn an_address_that_is_not_aligned_works_as_on_the_processor() {
    let (report, stopped) = run('9');
    assert!(!stopped, "{:#?}", report.findings());
    report.assert_clean();
}

/// Arguments that the driver replaces with addresses: of valid memory, and of valid memory at an odd address.
const THERE: u64 = 1;
const ODD: u64 = 3;
/// NULL, an unmapped address, the top of memory, a non-canonical address, and an odd address.
const BAD: [u64; 5] = [0, 0x10_0000, 0xFFFF_FFFF_FFFF_FFF8, 0x8000_0000_0000_0000, ODD];

fn start() -> (NtHost, Device) {
    let image = common::c::build("wdm_call", 0, "DriverEntry", &["ntoskrnl"]);
    let builder = NtHost::builder().driver(image).patience(Duration::from_secs(1));
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device)
}

/// Has the driver call a routine. Returns `None` if the driver continues, else the report of the stopped run.
fn call(device: &Device, routine: &str, arguments: [u64; 6]) -> Option<Report> {
    let mut input: Vec<u8> = arguments.iter().flat_map(|argument| argument.to_le_bytes()).collect();
    input.extend(routine.encode_utf16().flat_map(u16::to_le_bytes));
    match device.ioctl(0x0022_2000, &input, 0) {
        Ok(_) | Err(Error::Status(_)) => None,
        Err(Error::Stopped(report)) => Some(*report),
        Err(error) => panic!("{routine}{arguments:x?}: {error}"),
    }
}

/// Calls the routines whose number modulo 2 is `part`. `lists` returns the argument lists for a routine's number.
/// Two tests, one for each half, can run in parallel.
fn call_all(part: usize, lists: impl Fn(usize) -> Vec<[u64; 6]>) {
    let (mut host, mut device) = start();
    let mut broken = Vec::new();
    for (number, routine) in nt_machine::routines().enumerate().filter(|(number, _)| number % 2 == part) {
        for arguments in lists(number) {
            let Some(report) = call(&device, routine, arguments) else { continue };
            if report.of(Rule::Host).next().is_some() || report.findings().is_empty() {
                broken.push(format!("{routine}{arguments:x?}: {:?}", report.findings()));
            }
            drop(device);
            drop(host);
            (host, device) = start();
        }
    }
    assert!(broken.is_empty(), "{} calls end the host:\n{}", broken.len(), broken.join("\n"));
}

/// Valid addresses, except for one argument.
fn with_bad(index: usize, bad: u64) -> [u64; 6] {
    let mut arguments = [THERE; 6];
    arguments[index] = bad;
    arguments
}

/// One list per argument, in which only that argument is bad. The bad address depends on the routine and the argument.
fn one_of_each(number: usize) -> Vec<[u64; 6]> {
    (0..6).map(|index| with_bad(index, BAD[(number / 2 + index) % BAD.len()])).collect()
}

#[test]
fn no_address_in_an_argument_ends_the_host_for_one_half_of_the_routines() {
    call_all(0, one_of_each);
}

#[test]
fn no_address_in_an_argument_ends_the_host_for_the_other_half() {
    call_all(1, one_of_each);
}

#[test]
#[ignore = "takes minutes: every address in every argument of every routine, where the tests above try each argument once"]
fn no_address_in_any_argument_ends_the_host() {
    for part in 0..2 {
        call_all(part, |_| BAD.iter().flat_map(|bad| (0..6).map(|index| with_bad(index, *bad))).collect());
    }
}
