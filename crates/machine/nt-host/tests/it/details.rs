//! Files, keys and packets as drivers expect them, in detail: what the kernel stores, and what it leaves behind.

use crate::common::c::{build, plain};
use crate::kernel::{every_step, every_step_of, steps_succeed};
use nt_host::{NtHost, RegistryKey, RegistryValue, Rule};

/// The steps of `wdm_files`, in order.
const FILES: [&str; 5] =
    ["entries of folders", "drive letters", "changes of keys", "the current user", "the disk of the system"];
/// The steps of `wdm_packets`, in order.
const PACKETS: [&str; 5] =
    ["allocated packets", "asynchronous packets", "types of objects", "restored affinity", "previous modes"];

/// The driver completes a packet of its own, and one returns to nobody.
#[test]
fn packets_and_threads_are_left_as_on_windows() {
    let host = plain("wdm_packets").start().expect("DriverEntry");
    steps_succeed(&host, &PACKETS);
    let report = host.unload().expect("unload");
    let found: Vec<(Rule, Option<&str>)> =
        report.findings().iter().map(|finding| (finding.rule, finding.routine.as_deref())).collect();
    let expected = [(Rule::RequestMisuse, "IofCompleteRequest"), (Rule::PoolLeak, "IoBuildAsynchronousFsdRequest")];
    assert_eq!(found, expected.map(|(rule, routine)| (rule, Some(routine))));
}

#[test]
fn files_keys_and_disks_are_as_filter_drivers_expect() {
    every_step("wdm_files", &FILES);
    // Boot disks are for drivers that start with the system.
    let service = RegistryKey::Path(r"\Registry\Machine\System\CurrentControlSet\Services\c_wdm_files_1".into());
    let builder = NtHost::builder().driver(build("wdm_files", 1, "DriverEntry", &["ntoskrnl"]));
    every_step_of(&builder.registry(service, "Start", RegistryValue::Dword(0)).start().expect("DriverEntry"), &FILES);
}
