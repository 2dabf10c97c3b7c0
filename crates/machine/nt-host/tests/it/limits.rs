//! Drivers that use too much of a resource or do something forbidden: a finding names it, and the host keeps running.

use std::time::Duration;

use crate::common::c;
use crate::common::c::{framework, plain};
use etw_types::NtStatus;
use nt_host::{Builder, Error, Finding, GapKind, NtHost, Rule};

const fn code(function: u32) -> u32 {
    0x0022_2000 + function * 4
}

fn start(builder: Builder) -> (NtHost, nt_host::Device) {
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    (host, device)
}

/// Sends a request that stops the run. Returns the only finding and the text of its source line.
fn finding(builder: Builder, function: u32) -> (Finding, String) {
    let (_host, device) = start(builder);
    let report = match device.ioctl(code(function), &[], 0) {
        Err(Error::Stopped(report)) => report,
        other => panic!("{function}: {other:?}"),
    };
    let [finding] = report.findings() else { panic!("{function}: {:#?}", report.findings()) };
    let line = finding.location.as_ref().and_then(|location| location.line).unwrap_or_default() as usize;
    let source = include_str!("../../drivers/c/wdm_limits.c").lines().nth(line.saturating_sub(1)).unwrap_or_default();
    (finding.clone(), source.trim().to_owned())
}

fn allocate_at_the_same_time(count: u32) {
    let (host, device) = start(plain("wdm_limits").patience(Duration::from_mins(10)));
    assert_eq!(device.ioctl(code(0), &count.to_le_bytes(), 0).expect("a reply").status.as_int(), 0);
    host.unload().expect("unload").assert_clean();
}

/// More allocations than the host gives separate pages.
#[test]
fn many_allocations_exist_at_the_same_time() {
    allocate_at_the_same_time(40_000);
}

#[test]
#[ignore = "takes a minute in a debug build"]
fn a_million_allocations_exist_at_the_same_time() {
    allocate_at_the_same_time(1_000_000);
}

#[test]
fn memory_has_a_limit_and_comes_back_when_it_is_freed() {
    let (host, device) = start(plain("wdm_limits").memory(64 << 20));
    for _ in 0..3 {
        let reply = device.ioctl(code(1), &[], 4).expect("a reply");
        let count = u32::from_le_bytes(reply.output.try_into().expect("four bytes"));
        assert_eq!(count, 64, "MiB, all of them for the driver");
    }
    host.unload().expect("unload").assert_clean();
}

/// The driver must get a status. Otherwise the routine would write to address 0.
#[test]
fn a_value_that_does_not_fit_into_memory_is_not_read() {
    let (host, device) = start(plain("wdm_limits").memory(1 << 20));
    assert_eq!(device.ioctl(code(7), &[], 0).expect("a reply").status, NtStatus::NoMemory);
    host.unload().expect("unload").assert_clean();
}

/// The routines must return NULL, and must not leak the IRPs.
#[test]
fn an_irp_without_memory_for_its_buffers_is_not_built() {
    let (host, device) = start(plain("wdm_limits").memory(1 << 20));
    assert_eq!(device.ioctl(code(12), &[], 4).expect("a reply").output, [0; 4]);
    host.unload().expect("unload").assert_clean();
}

/// The routines must return NULL or `STATUS_INSUFFICIENT_RESOURCES`, and must not blame the driver.
#[test]
fn an_object_without_memory_is_not_created() {
    let (host, device) = start(plain("wdm_limits").memory(1 << 20));
    assert_eq!(device.ioctl(code(17), &[], 4).expect("a reply").output, [0; 4]);
    host.unload().expect("unload").assert_clean();
}

/// Each of them takes ranges of memory, and Linux limits their number. The host needs some itself.
#[test]
fn as_many_devices_as_possible_leave_room_for_the_host() {
    let (host, device) = start(plain("wdm_limits").patience(Duration::from_mins(10)));
    let reply = device.ioctl(code(18), &[], 8).expect("a reply");
    let (count, status) = reply.output.split_first_chunk().expect("a number and a status");
    assert!(u32::from_le_bytes(*count) > 20_000, "{count:?}");
    assert_eq!(status, NtStatus::InsufficientResources.as_int().to_le_bytes());
    host.unload().expect("unload").assert_clean();
}

/// Whatever the limit of the driver is, the system has at least 256 MiB.
#[test]
fn a_request_without_memory_for_its_buffers_fails() {
    for builder in [plain("wdm_limits"), framework("kmdf_bus")] {
        // The driver does not get these requests.
        let (host, device) = start(builder.memory(1 << 20).allow(GapKind::NotReached));
        // METHOD_BUFFERED, METHOD_OUT_DIRECT, METHOD_NEITHER.
        for method in [0, 2, 3] {
            let reply = device.ioctl(code(20) | method, &[1, 2, 3], 512 << 20).expect("a reply");
            assert_eq!(reply.status, NtStatus::InsufficientResources, "{method}");
        }
        host.unload().expect("unload").assert_clean();
    }
}

/// With its gap, an allocation of up to 16 bytes takes 32 bytes. An object of the host must not be between two of them.
#[test]
fn many_allocations_share_no_memory_with_the_hosts_objects() {
    let (host, device) = start(plain("wdm_limits"));
    let reply = device.ioctl(code(8), &[], 4).expect("a reply");
    assert_eq!(reply.output, 32_u32.to_le_bytes());
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_work_item_that_is_freed_while_it_is_queued_is_found() {
    let (host, device) = start(plain("wdm_limits"));
    device.ioctl(code(11), &[], 0).expect("a reply");
    let report = host.unload().expect("unload");
    assert!(!report.findings().is_empty());
    for finding in report.findings() {
        assert_eq!(finding.rule, Rule::UseAfterFree);
        assert_eq!(finding.routine.as_deref(), Some("IoFreeWorkItem"));
        assert_eq!(finding.detail, "frees a work item while it is queued");
    }
}

/// The driver allocates 1 GiB in total, 64 MiB at a time. A host that kept the freed pages would hold all of it.
#[test]
fn freed_memory_goes_back_to_the_system() {
    let (host, device) = start(plain("wdm_limits").memory(128 << 20).patience(Duration::from_mins(10)));
    device.ioctl(code(6), &[], 0).expect("a reply");
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.process_id())).expect("the child");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kib: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < 512 << 10, "{kib} KiB are resident");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn system_calls_by_instruction_are_named() {
    for (function, name) in [(2, "syscall"), (3, "int 0x80")] {
        let (finding, source) = finding(plain("wdm_limits"), function);
        assert_eq!(finding.rule, Rule::IllegalInstruction);
        // On a Linux kernel without 32-bit support `int 0x80` faults, and the detail is only its name.
        assert!(finding.detail.starts_with(name), "{}", finding.detail);
        assert!(source.contains("__asm__"), "{source}");
    }
}

#[test]
fn a_null_pointer_is_named() {
    let (finding, source) = finding(plain("wdm_limits"), 5);
    assert_eq!(finding.rule, Rule::AccessViolation);
    assert_eq!(finding.detail.as_str(), "writes to 0x0, through a NULL pointer");
    assert!(source.ends_with("/* global */"), "{source}");
}

#[test]
fn an_operand_that_is_not_aligned_and_an_address_that_is_not_canonical_are_distinguished() {
    for (function, mark, end) in [
        (9, "misaligned", "8, which is not aligned as the instruction requires"),
        (10, "canonical", "0x123456789abcdef0, which is not a canonical address"),
    ] {
        let (finding, source) = finding(plain("wdm_limits"), function);
        assert_eq!(finding.rule, Rule::AccessViolation);
        assert!(finding.detail.starts_with("uses 0x"), "{}", finding.detail);
        assert!(finding.detail.ends_with(end), "{}", finding.detail);
        assert!(source.ends_with(&format!("/* {mark} */")), "{source}");
    }
}

/// The thread of the request only waits. The finding must name the DPC, which does not return.
#[test]
fn a_hang_names_the_callback_and_the_line_that_does_not_return() {
    let (finding, source) = finding(plain("wdm_limits").patience(Duration::from_secs(2)), 4);
    assert_eq!(finding.rule, Rule::Hang);
    assert_eq!(finding.routine.as_deref(), None);
    assert!(finding.detail.ends_with("does not return (thread 2)"), "{}", finding.detail);
    assert!(source.contains("spin") || source.contains("pause"), "{source}");
}

/// Each of them returns; the thread that runs them is never done. It may be interrupted in the driver or in the host.
#[test]
fn what_queues_itself_again_and_again_is_a_hang_at_the_call_that_queues_it() {
    for (kind, routine) in (0..).zip(["KeInsertQueueDpc", "KeSetTimer", "IoQueueWorkItem"]) {
        let (finding, source) = finding(plain("wdm_limits").patience(Duration::from_millis(500)), 14 + kind);
        assert_eq!(finding.rule, Rule::Hang, "{finding:?}");
        assert_eq!(finding.routine.as_deref(), Some(routine), "{finding:?}");
        assert!(finding.detail.starts_with(&format!("what {routine} queues here runs again and again")));
        assert!(source.ends_with(&format!("/* again {kind} */")), "{source}");
    }
}

/// Waits are skipped, so the thread is busy, and is interrupted anywhere in the loop.
#[test]
fn a_callback_that_polls_forever_is_a_hang_at_its_wait() {
    let (finding, source) = finding(plain("wdm_limits").patience(Duration::from_millis(500)), 22);
    assert_eq!(finding.rule, Rule::Hang, "{finding:?}");
    assert_eq!(finding.routine.as_deref(), Some("KeDelayExecutionThread"), "{finding:?}");
    assert!(finding.detail.starts_with("work item does not return: it waits again and again, "), "{}", finding.detail);
    assert!(source.ends_with("/* poll */"), "{source}");
}

/// The host's handler for faults needs this data itself, and must not fault again and again.
#[test]
fn a_routine_that_overwrites_data_of_the_host_ends_the_run_with_a_finding() {
    let (finding, source) = finding(plain("wdm_limits"), 13);
    assert_eq!(finding.rule, Rule::AccessViolation);
    assert_eq!(finding.routine.as_deref(), Some("SeAccessCheck"));
    assert!(finding.detail.contains("overwrites the "), "{}", finding.detail);
    assert!(source.ends_with("/* overwrite */"), "{source}");
}

/// The function that waits for a debugger runs on the driver's thread. A fault of the host there is not one of the driver.
#[test]
fn a_fault_in_code_of_the_host_is_not_a_mistake_of_the_driver() {
    let host = plain("wdm_limits").debugger(|_| _ = c::wild_read()).prepare().expect("a driver");
    assert!(matches!(host.load(), Err(Error::Stopped(_))));
    let report = host.report();
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::Host, "{finding:?}");
    assert!(finding.detail.contains("in the host, which reads 0x10: a defect of the host"), "{}", finding.detail);
}

/// The handler for faults cannot work without the data of its thread, so it faults itself. The run ends all the same.
#[test]
fn a_fault_inside_the_handler_for_faults_ends_the_run_with_a_finding() {
    let (_host, device) = start(plain("wdm_limits"));
    let Err(Error::Stopped(report)) = device.ioctl(code(19), &[], 0) else { panic!("the run goes on") };
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::Host, "{finding:?}");
    assert!(finding.detail.contains(" while "), "names both faults: {}", finding.detail);
}

/// The thread cannot say where it is, because the handler that would ask it faults.
#[test]
fn a_thread_that_does_not_answer_does_not_outlast_the_timeout() {
    let (_host, device) = start(plain("wdm_limits").patience(Duration::from_millis(500)));
    let Err(Error::Stopped(report)) = device.ioctl(code(20), &[], 0) else { panic!("the run goes on") };
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert!(matches!(finding.rule, Rule::Host | Rule::Hang), "{finding:?}");
}

#[test]
fn an_unload_routine_that_does_not_return_is_a_hang() {
    let (host, device) = start(plain("wdm_limits").patience(Duration::from_millis(500)));
    device.ioctl(code(21), &[], 0).expect("a reply");
    drop(device);
    let Err(Error::Stopped(report)) = host.unload() else { panic!("the run goes on") };
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::Hang, "{finding:?}");
}
