//! Ports and registers that a test scripts.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::c::{Log, plain};
use nt_host::{Builder, Error, NtHost, Register, Rule};

const STATUS: Register = Register::Port(0x379);
const WIDE: Register = Register::Port(0x1F0);
const FIRST: Register = Register::Memory(0xFE00_0010);
const SECOND: Register = Register::Memory(0xFE00_0014);

fn run(builder: Builder) -> (NtHost, Vec<String>, Vec<String>) {
    let host = builder.start().expect("DriverEntry");
    let printed = Log::default().lines(&host);
    let log = host.hardware_log().expect("a log");
    assert_eq!(log.dropped, 0);
    let accesses = log.to_string().lines().map(str::to_owned).collect();
    (host, printed, accesses)
}

#[test]
fn scripted_values_are_read_and_everything_is_recorded() {
    let builder = plain("wdm_registers").register(STATUS, &[0, 0, 0x80]).register(WIDE, &[0xAABB_CCDD, 0x1_0002, 3]);
    let (host, printed, accesses) = run(builder.register(FIRST, &[5, 6]));
    let expected = [
        "waited 2 times, wide aabbccdd, unknown ff",
        "words 2 3, left 0",
        "register 5, then 6",
        // The page is scripted, but these registers have no values: they are memory, which begins with zeros.
        "memory 11223344, byte 2",
        // Eight bytes at once are one access, to the first of the registers.
        "copied 6 0",
    ];
    assert_eq!(printed, expected);
    let ports = [
        "port 0x379: read 0x00 (2 times)",
        "port 0x379: read 0x80",
        "port 0x378: write 0x41",
        "port 0x1f0: read 0xaabbccdd",
        "port 0x1f0: write 0x1234",
        "port 0x70: read 0xff",
        "port 0x378: write 0x61",
        "port 0x378: write 0x62",
        "port 0x378: write 0x63",
        "port 0x1f0: read 0x0002",
        "port 0x1f0: read 0x0003",
    ];
    assert_eq!(accesses[..ports.len()], ports);
    let registers = [
        "register 0xfe000010: read 0x00000005",
        "register 0xfe000010: read 0x00000006",
        "register 0xfe000004: write 0x11223344",
        "register 0xfe000014: read 0x00000000",
        "register 0xfe000014: write 0x00000002",
        "register 0xfe000004: read 0x11223344",
        "register 0xfe000014: read 0x02",
        "register 0xfe000010: read 0x0000000000000006",
    ];
    assert_eq!(accesses[ports.len()..], registers);
    assert!(host.hardware_log().expect("a log").accesses.is_empty(), "the log was taken");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn without_a_script_registers_are_memory() {
    let (host, printed, accesses) = run(plain("wdm_registers"));
    assert_eq!(printed[2..], ["register 0, then 0", "memory 11223344, byte 2", "copied 0 2"]);
    assert!(accesses.iter().all(|line| line.starts_with("port ")), "{accesses:?}");
    host.unload().expect("unload").assert_clean();
}

/// A device with a state: its second register is the sum of what was written to it.
#[test]
fn a_handler_is_the_device() {
    let sum = AtomicU64::new(0x100);
    let builder = plain("wdm_registers").register(FIRST, &[1]).hardware(move |access| {
        match (access.register, access.is_write) {
            (SECOND, true) => drop(sum.fetch_add(access.value, Ordering::SeqCst)),
            (SECOND, false) => return Some(sum.load(Ordering::SeqCst)),
            (FIRST, false) => return Some(access.value + 0x10),
            (STATUS, false) => return Some(0x80),
            _ => {}
        }
        None
    });
    let (host, printed, _) = run(builder);
    assert_eq!(printed[0], "waited 0 times, wide ffffffff, unknown ff");
    // 0x100 | 2 is written, so the sum is 0x202, and the driver reads one byte of it.
    assert_eq!(printed[2..], ["register 11, then 11", "memory 11223344, byte 2", "copied 11 0"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_handler_that_panics_ends_the_run() {
    let host = plain("wdm_registers").hardware(|_| panic!("a mistake in the test")).prepare().expect("a driver");
    assert!(matches!(host.load(), Err(Error::Stopped(_))));
    let report = host.report();
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::Host);
    assert_eq!(finding.detail, "the test's handler of the hardware panicked (port 0x379: read 0xff)");
}
