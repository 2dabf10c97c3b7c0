//! Files, keys and packets as drivers expect them, in detail: what the kernel stores, and what it leaves behind.

use crate::common::c::{build, plain};
use crate::common::steps::{all_succeed, run_all, steps};
use nt_host::{NtHost, RegistryKey, RegistryValue, Rule};

/// The driver completes a packet of its own, and one returns to nobody.
#[test]
fn packets_and_threads_are_left_as_on_windows() {
    let host = plain("wdm_packets").start().expect("DriverEntry");
    all_succeed(&host);
    let report = host.unload().expect("unload");
    let found: Vec<(Rule, Option<&str>)> =
        report.findings().iter().map(|finding| (finding.rule, finding.routine.as_deref())).collect();
    let expected = [(Rule::RequestMisuse, "IofCompleteRequest"), (Rule::PoolLeak, "IoBuildAsynchronousFsdRequest")];
    assert_eq!(found, expected.map(|(rule, routine)| (rule, Some(routine))));
}

// Files, keys and disks as filter drivers expect them.
steps! { files, plain("wdm_files");
    folders_list_their_entries,
    drive_letters_lead_to_volumes,
    changes_of_keys_are_notified,
    the_current_user_has_a_key,
    the_boot_disk_is_for_boot_drivers,
}

#[test]
fn a_boot_driver_gets_the_boot_disk() {
    let service = RegistryKey::Path(r"\Registry\Machine\System\CurrentControlSet\Services\c_wdm_files_1".into());
    let builder = NtHost::builder().driver(build("wdm_files", 1, "DriverEntry", &["ntoskrnl"]));
    run_all(builder.registry(service, "Start", RegistryValue::Dword(0)));
}
