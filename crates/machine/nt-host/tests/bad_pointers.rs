//! Drivers that pass invalid addresses to kernel routines: a finding names the routine and the address, and the host
//! keeps running. This also holds for a debug build of the host. There, a check in the host's code could otherwise end
//! the process that runs the driver.
#![cfg(test)]

#[path = "it/common/mod.rs"]
mod common;

use std::fs;
use std::time::Duration;

use nt_host::{Device, Error, NtHost, Report, Rule};
use nt_machine::{Os, RoutineInfo};

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
        assert_eq!(finding.rule, Rule::AccessViolation);
        assert_eq!(finding.routine.as_deref(), Some("KeInitializeEvent"));
        assert_eq!(finding.detail, detail, "{variant}");
    }
}

#[test]
fn an_address_that_is_not_aligned_works_as_on_the_processor() {
    let (report, stopped) = run('9');
    assert!(!stopped, "{:#?}", report.findings());
    report.assert_clean();
}

/// Added to an argument that the driver replaces with an address: of valid memory, or of valid memory at an odd address.
const THERE: u64 = 0x4845_5245_0000_0000;
const ODD: u64 = THERE + 1;
/// NULL, an unmapped address, the top of memory, a non-canonical address, and an odd address.
const BAD: [u64; 5] = [0, 0x10_0000, 0xFFFF_FFFF_FFFF_FFF8, 0x8000_0000_0000_0000, ODD];
/// NULL and small integers: lengths, counts, Booleans, enumerations.
const SMALL: [u64; 4] = [0, 1, 2, 16];
/// The number of tests that share the routines, so that they can run in parallel: some calls take time, because they
/// wait or do not return.
const PARTS: usize = 4;

/// How long the driver may take. A call that does not return is a result here, so the first limit is short. On a busy
/// machine it may be too short even for loading the driver, which must succeed.
const LIMITS: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(5), Duration::from_mins(1)];

fn start() -> (NtHost, Device) {
    let image = common::c::build("wdm_call", 0, "DriverEntry", &["ntoskrnl"]);
    let load = |limit: &Duration| {
        let host = NtHost::builder().driver(&image).patience(*limit).start()?;
        let device = host.add_device()?;
        Ok((host, device))
    };
    let mut attempts = LIMITS.iter().map(load);
    let is_hang =
        |error: &Error| matches!(error, Error::Stopped(report) if report.findings_of(Rule::Hang).next().is_some());
    let loaded = attempts.find(|attempt| !attempt.as_ref().is_err_and(is_hang));
    loaded.expect("a driver that loads within the last limit").expect("a device")
}

/// Has the driver call a routine with each of these lists of arguments, in one request. Returns how many calls returned,
/// and the report if the last one did not.
fn call(device: &Device, routine: &str, lists: &[[u64; 6]]) -> (usize, Option<Report>) {
    let mut input = (lists.len() as u64).to_le_bytes().to_vec();
    input.extend(lists.iter().flatten().flat_map(|argument| argument.to_le_bytes()));
    input.extend(routine.encode_utf16().flat_map(u16::to_le_bytes));
    match device.ioctl(0x0022_2000, &input, 0) {
        Ok(_) | Err(Error::Status(_)) => (lists.len(), None),
        Err(Error::Stopped(report)) => {
            let begun = report.output().rsplit('\n').next().unwrap_or_default().matches('.').count();
            (begun.saturating_sub(1), Some(*report))
        }
        Err(error) => panic!("{routine}{lists:x?}: {error}"),
    }
}

/// Valid addresses, except for one argument.
fn with_bad(index: usize, bad: u64) -> [u64; 6] {
    let mut arguments = [THERE; 6];
    arguments[index] = bad;
    arguments
}

/// One list per argument, in which only that argument is bad. The bad address depends on the routine and the argument.
fn one_of_each(number: usize) -> Vec<[u64; 6]> {
    (0..6).map(|index| with_bad(index, BAD[(number / PARTS + index) % BAD.len()])).collect()
}

/// Returns all combinations of 0 and 1 for the arguments that are not addresses.
fn combinations(is_address: [bool; 6]) -> Vec<[u64; 6]> {
    let list =
        |bits: usize| std::array::from_fn(|index| if is_address[index] { THERE } else { bits as u64 >> index & 1 });
    let repeats = |bits: &usize| (0..6).any(|index| is_address[index] && bits >> index & 1 != 0);
    (0..64).filter(|bits| !repeats(bits)).map(list).collect()
}

/// A small number that differs from the others by more than the size of a structure: the address of a fault shows which
/// argument it comes from.
const fn number_of(index: usize) -> u64 {
    0x2000 * (index as u64 + 1)
}

/// Returns which argument a fault comes from.
fn origin(report: &Report) -> Option<usize> {
    let finding = report.findings_of(Rule::AccessViolation).next()?;
    let hex: String = finding.detail.split_once("0x")?.1.chars().take_while(char::is_ascii_hexdigit).collect();
    let address = u64::from_str_radix(&hex, 16).ok()?;
    (0..6).find(|index| (number_of(*index)..number_of(*index + 1)).contains(&address))
}

/// A run of the driver that is started again after each call that stops it.
struct Caller {
    host: Option<(NtHost, Device)>,
    broken: Vec<String>,
}

impl Caller {
    /// Calls a routine with each list, and returns the report of each call that stops the run.
    fn call(&mut self, routine: &str, lists: &[[u64; 6]]) -> Vec<Report> {
        let mut rest = lists;
        let mut reports = Vec::new();
        while !rest.is_empty() {
            let (_, device) = self.host.get_or_insert_with(start);
            let (returned, report) = call(device, routine, rest);
            let Some(report) = report else { break };
            if report.findings_of(Rule::Host).next().is_some() || report.findings().is_empty() {
                self.broken.push(format!("{routine}{:x?}: {:?}", rest.get(returned), report.findings()));
            }
            rest = rest.get(returned + 1..).unwrap_or_default();
            self.host = None;
            reports.push(report);
        }
        reports
    }

    /// Finds out which arguments of a routine are addresses that it uses.
    fn addresses(&mut self, routine: &str) -> [bool; 6] {
        let mut is_address = [false; 6];
        for _ in 0..6 {
            let list = std::array::from_fn(|index| if is_address[index] { THERE } else { number_of(index) });
            let Some(index) = self.call(routine, &[list]).first().and_then(origin) else { break };
            is_address[index] = true;
        }
        is_address
    }
}

/// Returns the routines that drivers import.
fn routines() -> Vec<RoutineInfo> {
    let is_imported = |routine: &RoutineInfo| routine.irql.is_some() && !routine.is_of_framework();
    nt_machine::all_routines(Os::default()).into_iter().filter(is_imported).collect()
}

/// Calls the routines whose number modulo [`PARTS`] is `part`.
fn call_all(part: usize, mut each: impl FnMut(&mut Caller, usize, &str)) {
    let mut caller = Caller { host: None, broken: Vec::new() };
    for (number, routine) in routines().iter().enumerate().filter(|(number, _)| number % PARTS == part) {
        each(&mut caller, number, routine.name);
    }
    let broken = caller.broken;
    assert!(broken.is_empty(), "{} calls end the host:\n{}", broken.len(), broken.join("\n"));
}

/// Declares a test for each part of the routines.
macro_rules! in_parts {
    ($name:ident, $each:expr) => {
        mod $name {
            use super::call_all;

            #[test]
            fn for_the_first_part_of_the_routines() {
                call_all(0, $each);
            }

            #[test]
            fn for_the_second_part_of_the_routines() {
                call_all(1, $each);
            }

            #[test]
            fn for_the_third_part_of_the_routines() {
                call_all(2, $each);
            }

            #[test]
            fn for_the_fourth_part_of_the_routines() {
                call_all(3, $each);
            }
        }
    };
}

in_parts!(no_address_in_an_argument_ends_the_host, |caller, number, routine| {
    caller.call(routine, &super::one_of_each(number));
});

// NULL or a small number in place of an address is a finding; other arguments can have any combination.
in_parts!(no_combination_of_small_numbers_ends_the_host, |caller, _, routine| {
    let is_address = caller.addresses(routine);
    let mut lists = super::SMALL.map(|number| [number; 6]).to_vec();
    lists.extend(super::combinations(is_address));
    caller.call(routine, &lists);
});

#[test]
#[ignore = "takes minutes: every address in every argument of every routine, where the tests above try each argument once"]
fn no_address_in_any_argument_ends_the_host() {
    for part in 0..PARTS {
        let lists: Vec<_> = BAD.iter().flat_map(|bad| (0..6).map(|index| with_bad(index, *bad))).collect();
        call_all(part, |caller, _, routine| drop(caller.call(routine, &lists)));
    }
}

#[test]
#[ignore = "takes minutes: all combinations also for arguments that are addresses"]
fn no_combination_of_small_numbers_in_any_argument_ends_the_host() {
    for part in 0..PARTS {
        call_all(part, |caller, _, routine| drop(caller.call(routine, &combinations([false; 6]))));
    }
}
