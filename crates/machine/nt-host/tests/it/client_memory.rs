//! Memory of the client: requests whose data contains addresses, the step for it, and what becomes of freed memory.

use crate::common::c;
use etw_types::NtStatus;
use nt_host::{Device, Error, NtHost, Outcome, Rule};

/// The codes of `wdm_memory`: with an exception handler, through an MDL, and without either.
const GUARDED: u32 = 0x0022_2000;
const MAPPED: u32 = 0x0022_2004;
const TRUSTED: u32 = 0x0022_2008;

const ADDRESS: u64 = 0x1000_0000;

/// Returns a request: the address and the length of memory.
fn memory(address: u64, length: u32) -> Vec<u8> {
    [address.to_le_bytes(), u64::from(length).to_le_bytes()].concat()
}

fn status(device: &Device, code: u32, address: u64, length: u32) -> NtStatus {
    device.ioctl(code, &memory(address, length), 0).expect("an answer").status
}

fn host() -> (NtHost, Device) {
    let host = c::plain("wdm_memory").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device)
}

#[test]
fn a_driver_reads_and_writes_the_memory_of_a_client() {
    let (host, device) = host();
    // The memory ends in another page than it begins.
    let memory = host.client_memory(ADDRESS + 0xFFE, &[1, 2, 3, 0xFF]).expect("memory");
    for (index, code) in (0..).zip([GUARDED, MAPPED, TRUSTED]) {
        assert_eq!(status(&device, code, memory.address(), 4), NtStatus::Success);
        assert_eq!(memory.read().expect("memory"), [2 + index, 3 + index, 4 + index, index]);
    }
    // What is written again replaces what was there, and the rest of a page is the client's, too.
    host.client_memory(memory.address(), &[9]).expect("memory");
    assert_eq!(memory.read().expect("memory"), [9, 5, 6, 2]);
    assert_eq!(status(&device, GUARDED, ADDRESS, 1), NtStatus::Success);
    assert_eq!(host.client_memory(ADDRESS, &[7]).expect("memory").read().expect("memory"), [7]);
    assert_eq!(status(&device, GUARDED, ADDRESS + 0x1FFF, 2), NtStatus::AccessViolation);
    assert_eq!(status(&device, MAPPED, ADDRESS + 0x2000, 2), NtStatus::AccessViolation);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn freed_memory_cannot_be_used() {
    let (host, device) = host();
    let memory = host.client_memory(ADDRESS, &[1; 8]).expect("memory");
    let copy = memory.clone();
    memory.free().expect("free");
    assert!(matches!(copy.read(), Err(Error::Status(NtStatus::MemoryNotAllocated))));
    assert!(matches!(copy.clone().free(), Err(Error::Status(NtStatus::MemoryNotAllocated))));
    assert_eq!(status(&device, GUARDED, ADDRESS, 8), NtStatus::AccessViolation);
    assert_eq!(status(&device, MAPPED, ADDRESS, 8), NtStatus::AccessViolation);
    // Memory that is allocated again has zeroes.
    host.client_memory(ADDRESS, &[5]).expect("memory");
    assert_eq!(copy.read().expect("memory"), [5, 0, 0, 0, 0, 0, 0, 0]);
    copy.free().expect("free");
    let stopped = device.ioctl(TRUSTED, &self::memory(ADDRESS, 8), 0);
    let Err(Error::Stopped(report)) = stopped else { panic!("{stopped:?}") };
    let [finding] = report.findings() else { panic!("{report:?}") };
    let line = finding.location.as_ref().and_then(|location| location.line).unwrap_or_default() as usize;
    let source = include_str!("../../drivers/c/wdm_memory.c").lines().nth(line.saturating_sub(1));
    assert_eq!(finding.rule, Rule::AccessViolation);
    assert!(source.unwrap_or_default().ends_with("/* mark */"), "{report:?}");
}

#[test]
fn memory_is_where_a_program_can_have_it() {
    let (host, _device) = host();
    let status = |address, data: &[u8]| match host.client_memory(address, data) {
        Ok(_) => NtStatus::Success,
        Err(Error::Status(status)) => status,
        Err(error) => panic!("{error}"),
    };
    for address in [0, 0xFFFF, 0x7FFF_FFFF_0000, 0xFFFF_8000_0000_0000, u64::MAX] {
        assert_eq!(status(address, &[1, 2]), NtStatus::InvalidParameter, "{address:#x}");
    }
    assert_eq!(status(ADDRESS, &[]), NtStatus::InvalidParameter);
    assert_eq!(status(ADDRESS, &vec![1; (16 << 20) + 1]), NtStatus::NoMemory);
    assert_eq!(status(ADDRESS, &vec![1; 16 << 20]), NtStatus::Success);
    // The test's own code is in the host's process, too.
    let code = memory_is_where_a_program_can_have_it as fn();
    assert_eq!(status(code as usize as u64, &[1]), NtStatus::ConflictingAddresses);
    assert_eq!(host.unload().expect("unload").outcome(), Outcome::Clean);
}

#[test]
fn a_framework_driver_locks_the_memory_of_a_client() {
    let host = c::framework("kmdf_memory").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let memory = host.client_memory(ADDRESS, &[1, 2]).expect("memory");
    assert_eq!(status(&device, GUARDED, ADDRESS, 2), NtStatus::Success);
    assert_eq!(memory.read().expect("memory"), [2, 3]);
    assert_eq!(status(&device, GUARDED, ADDRESS + 0xFFF, 2), NtStatus::AccessViolation);
    assert_eq!(status(&device, GUARDED, ADDRESS + 0x1000, 1), NtStatus::AccessViolation);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// The codes of `wdm_neither` that access the page behind the client's buffer.
const READ_BEHIND: u32 = 0x0022_2007;
const PROBE_BEHIND: u32 = 0x0022_200B;
const READ_BEHIND_AT_DISPATCH: u32 = 0x0022_200F;
const READ_BEHIND_UNGUARDED: u32 = 0x0022_2013;

/// Behind its buffer a client may have no memory, so probes do not prevent the exception. A driver that handles it is correct.
#[test]
fn a_driver_may_handle_the_exception_behind_the_buffer_of_a_client() {
    let host = c::plain("wdm_neither").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    for code in [READ_BEHIND, PROBE_BEHIND] {
        let reply = device.ioctl(code, &[0; 8], 16).expect("a reply");
        assert_eq!(reply.status, NtStatus::AccessViolation, "{code:#x}");
    }
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_access_behind_the_buffer_of_a_client_is_a_finding_without_a_handler_or_at_a_raised_irql() {
    for code in [READ_BEHIND_UNGUARDED, READ_BEHIND_AT_DISPATCH] {
        let host = c::plain("wdm_neither").start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        assert!(matches!(device.ioctl(code, &[0; 8], 16), Err(Error::Stopped(_))), "{code:#x}");
        let report = host.report();
        let [finding] = report.findings() else { panic!("{code:#x}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, Rule::PoolOverrun, "{code:#x}");
        assert_eq!(finding.detail, "accesses byte 4096 of a buffer of 8 bytes of the client's own", "{code:#x}");
    }
}
