//! WDM drivers: device stacks, Plug and Play, power, cancellation, and routines of every part of the kernel.

use std::time::Duration;

use crate::common::c;
use crate::common::c::{Log, plain};
use crate::common::steps::{run_all, steps};
use etw_types::NtStatus;
use nt_host::{Builder, Device, Error, GapKind, NtHost, Os, RegistryKey, RegistryValue, Rule};

const WAIT: u32 = 0x0022_2000;
const BELOW: u32 = 0x0022_2004;

fn start() -> (NtHost, Device, Log) {
    started(plain("wdm_stack"))
}

/// The device reports that it has failed, which is a gap.
fn start_to_fail() -> (NtHost, Device, Log) {
    started(plain("wdm_stack").allow(GapKind::NotStarted))
}

fn started(builder: Builder) -> (NtHost, Device, Log) {
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device, Log::default())
}

// Many parts of the kernel.
steps! { parts, plain("wdm_kernel");
    pool_blocks_are_zeroed_and_lookaside_lists_allocate,
    a_partial_mdl_describes_a_range_of_its_source,
    an_exclusive_resource_keeps_readers_of_other_threads_out,
    a_fast_mutex_raises_the_irql_and_has_one_owner,
    push_locks_can_be_shared,
    spin_locks_raise_and_restore_the_irql,
    a_work_item_runs_at_passive_level,
    a_periodic_timer_queues_its_dpc_until_it_is_canceled,
    an_extended_timer_is_canceled_when_it_is_deleted,
    the_service_key_has_values,
    semaphores_count_and_mutexes_are_recursive,
    runs_of_clear_bits_are_found_and_set,
    a_device_is_found_by_its_name,
    the_upper_halves_of_narrow_arguments_are_ignored,
}

// Objects, exported data, threads and files by name.
steps! { objects, plain("wdm_objects");
    exported_variables_have_values,
    processes_and_threads_are_found_by_id,
    a_thread_handle_refers_to_the_object_of_the_thread,
    processors_are_counted_and_affinity_is_restored,
    devices_have_extensions_and_can_be_attached,
    an_asynchronous_packet_belongs_to_its_thread,
    cleanup_follows_the_last_handle_and_close_the_last_reference,
    lookaside_lists_keep_entries_until_they_are_deleted,
    the_service_key_has_the_path_of_the_image,
    registry_values_are_read_into_buffers,
    packets_copy_activity_ids_and_threads_refer_to_them,
    modules_can_be_walked_and_opaque_objects_searched,
    global_and_local_names_lead_to_the_same_object,
    callbacks_about_boot_drivers_are_registered,
    strings_are_converted_and_a_debugger_is_reported,
}

// Counts and names of objects, directories, threads, processors, waiters, stacks and files.
steps! { conform, plain("wdm_conform");
    handles_names_and_queries_are_references,
    events_and_directories_have_names,
    directories_list_their_objects,
    a_thread_has_one_identity,
    code_runs_on_the_processors_of_its_affinity,
    the_waiters_for_a_resource_are_counted,
    the_limits_of_a_stack_enclose_it,
    a_file_has_the_size_of_its_data,
}

/// A host for `wdm_system`, with a session that records and a key that the driver looks for.
fn system() -> Builder {
    let deep = RegistryKey::Path(r"\Registry\Machine\Software\CSystem\Deep".into());
    plain("wdm_system").trace_all().registry(deep, "Given", RegistryValue::Dword(7))
}

// Features of older and larger drivers.
steps! { older_and_larger_drivers, system();
    the_image_of_the_kernel_exports_its_routines,
    modules_are_listed_and_found_loaded,
    security_descriptors_are_built_and_stored,
    avl_tables_keep_their_elements_sorted,
    an_empty_cancel_safe_queue_returns_no_packet,
    the_run_time_library_converts_strings_numbers_and_times,
    a_count_ends_a_string_as_a_terminator_does,
    text_that_does_not_fit_is_truncated_if_the_count_allows_it,
    buses_and_ports_without_a_device_read_as_ones,
    objects_have_names,
    a_handle_of_a_symbolic_link_outlives_its_name,
    smaller_routines_work,
    keys_have_information,
    sessions_have_information,
}

/// Steps leave nothing behind that another step of the same process sees.
#[test]
fn all_steps_succeed_in_one_process() {
    for name in ["wdm_kernel", "wdm_objects", "wdm_conform", "wdm_lifetime", "wdm_sync"] {
        run_all(plain(name));
    }
}

#[test]
fn a_driver_that_reads_the_start_of_the_systems_addresses_gets_a_note() {
    let host = run_all(system());
    assert!(host.notes().iter().any(|note| note.starts_with("MM_SYSTEM_RANGE_START at image+")), "{:?}", host.notes());
}

#[test]
fn a_driver_without_an_unload_routine_stays_and_leaks_nothing() {
    let host = plain("wdm_stays").start().expect("DriverEntry");
    assert!(matches!(host.unload(), Err(Error::NotUnloaded)), "it stays");
    host.report().assert_clean();
}

#[test]
fn a_limit_of_memory_is_the_drivers_and_not_the_hosts() {
    let host = plain("wdm_stays").memory(1024).allow(GapKind::NotLoaded).prepare().expect("a machine");
    assert!(
        matches!(host.load(), Err(Error::DriverEntry(NtStatus::InsufficientResources, _))),
        "no memory for the driver"
    );
    host.report().assert_clean();
}

#[test]
fn a_driver_that_takes_devices_needs_an_unload_routine_and_may_delete_a_device_before_it_passes_the_removal_on() {
    let host = plain("wdm_stays").hide("RtlRandomEx").start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("a removal");
    assert_eq!(Log::default().lines(&host), (1..=7).map(|number| format!("passed {number}")).collect::<Vec<_>>());
    host.report().assert_clean();
    assert!(matches!(host.unload(), Err(Error::NotUnloaded)), "it stays");
    let found: Vec<_> = host.report().findings().iter().map(|found| found.detail.clone()).collect();
    assert_eq!(found, ["has AddDevice but no unload routine"]);
}

// How long devices and records live.
steps! { lifetime, plain("wdm_lifetime");
    a_bug_check_record_is_registered_once,
    a_deleted_device_lives_until_its_last_reference,
    a_reference_to_an_attached_device_keeps_it,
    a_deleted_device_receives_the_close_of_its_file,
    a_queued_work_item_keeps_its_device,
}

#[test]
fn what_is_never_released_or_used_too_late_is_found() {
    for (bug, rule, routine, detail) in [
        (1, Rule::ObjectLeak, None, "does not release 1 reference to an object"),
        (2, Rule::UseAfterFree, None, "in a freed buffer or object"),
        (3, Rule::ObjectLeak, None, "does not remove a bug-check callback"),
    ] {
        let image = c::build("wdm_lifetime", bug, "DriverEntry", &["ntoskrnl"]);
        let host = NtHost::builder().driver(image).start().expect("DriverEntry");
        let _ = host.add_device().expect("a device").ioctl(0x0022_2000, &[], 256);
        let _ = host.unload();
        let report = host.report();
        let [found] = report.findings() else { panic!("{bug}: {:#?}", report.findings()) };
        assert_eq!(found.rule, rule, "{bug}: {found:?}");
        assert_eq!(found.routine.as_deref(), routine, "{bug}: {found:?}");
        assert!(found.detail.contains(detail), "{bug}: {}", found.detail);
    }
}

#[test]
fn a_file_that_the_driver_keeps_is_closed_after_the_last_reference_at_passive_level() {
    let host = plain("wdm_lifetime").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    let file = device.open().expect("a file");
    assert_eq!(file.ioctl(0x0022_2004, &[], 0).expect("a reply").status, NtStatus::Success);
    file.close().expect("closed");
    assert_eq!(log.lines(&host), ["function 12, irql 0"]);
    device.ioctl(0x0022_2008, &[], 0).expect("a reply");
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), ["function 2, irql 0"]);
    host.unload().expect("unload").assert_clean();
}

// How threads synchronise.
steps! { synchronisation, plain("wdm_sync");
    guarded_mutexes_disable_apcs,
    a_work_item_can_wait_for_dpcs,
    readers_of_a_resource_wait_behind_writers,
    a_pulse_ends_no_later_wait,
    what_is_signaled_satisfies_waits_at_once,
    threads_take_the_entries_of_a_queue_in_order,
}

/// Guarded mutexes raise the IRQL only since Windows 8.
#[test]
fn threads_synchronize_on_windows_7() {
    run_all(plain("wdm_sync").os(Os::Win7));
}

#[test]
fn a_resource_that_another_thread_has_is_not_released() {
    let image = c::build("wdm_sync", 1, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    host.add_device().expect("a device").ioctl(0x0022_2000, &[], 256).expect("a reply");
    let report = host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|found| (found.rule, found.routine.as_deref())).collect();
    assert_eq!(found, [(Rule::LockMisuse, Some("ExReleaseResourceLite"))]);
}

#[test]
fn a_packet_in_a_cancel_safe_queue_is_taken_once_or_canceled() {
    let host = plain("wdm_system").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.ioctl(0x0022_2000, &[], 256).expect("the queue is initialised");
    let file = device.open().expect("a file");
    let waiting = file.begin_read(1).expect("a request");
    assert_eq!(file.write(&[0]).expect("a reply").status, NtStatus::Success);
    assert_eq!(waiting.wait().expect("a reply").information, 1);
    let waiting = file.begin_read(1).expect("a request");
    waiting.cancel().expect("a cancellation");
    assert_eq!(waiting.wait().expect("a reply").status, NtStatus::Cancelled);
    let late = file.write(&[0]).expect("a reply");
    assert_eq!(late.status, NtStatus::Unsuccessful);
    assert_eq!(late.information, 1);
    file.close().expect("closed");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_starts_and_goes_through_its_stack() {
    let (host, device, mut log) = start();
    // After the start, Windows asks for capabilities, state and children.
    let up = ["added, 2 locations", "pnp d", "pnp 0", "started below: 0", "pnp 9", "pnp 14", "pnp 7"];
    assert_eq!(log.lines(&host), up);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["pnp 1", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
    assert_eq!(log.lines(&host), ["unloaded, no device"]);
}

#[test]
fn a_device_that_is_pulled_out_gets_a_surprise_removal() {
    let (host, device, mut log) = start();
    log.lines(&host);
    device.surprise_remove().expect("removal");
    assert_eq!(log.lines(&host), ["pnp 17", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

/// Documented for `IoInvalidateDeviceState`: the Plug and Play manager sends `IRP_MN_QUERY_PNP_DEVICE_STATE`, and removes
/// a device that returns `PNP_DEVICE_FAILED`.
#[test]
fn a_device_that_reports_its_failure_is_queried_and_removed() {
    let (host, device, mut log) = start_to_fail();
    log.lines(&host);
    assert_eq!(device.ioctl(0x0022_200C, &[], 0).expect("a reply").status, NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    let mut lines = log.lines(&host);
    // The client of the request closes its file before or after the query.
    lines.retain(|line| line != "cleanup");
    assert_eq!(lines, ["pnp 14", "pnp 17", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

/// Windows sends no plug-and-play requests while the system sleeps.
#[test]
fn a_sleeping_device_is_woken_up_before_it_is_queried_or_removed() {
    let woken = ["system power 2, 1", "device power 2, 1", "device power 1 done: 0"];
    let (host, device, mut log) = start();
    device.sleep().expect("sleep");
    log.lines(&host);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), [&woken[..], &["pnp 1", "pnp 2", "removed"]].concat());
    host.unload().expect("unload").assert_clean();

    let (host, device, mut log) = start_to_fail();
    device.sleep().expect("sleep");
    // The device reports that it has failed. It is asked for its state after it has woken up.
    assert_eq!(device.ioctl(0x0022_200C, &[], 0).expect("a reply").status, NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    assert!(!log.lines(&host).contains(&"pnp 17".to_owned()));
    device.wake().expect("wake");
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), [&woken[..], &["pnp 14", "pnp 17", "pnp 2", "removed"]].concat());
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_gets_other_resources_is_queried_stopped_and_started() {
    let (host, device, mut log) = start();
    log.lines(&host);
    device.rebalance().expect("a restart");
    let lines = ["pnp 5", "pnp 4", "pnp 0", "started below: 0", "pnp 9", "pnp 14", "pnp 7"];
    assert_eq!(log.lines(&host), lines);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_is_ejected_is_removed_in_an_orderly_way() {
    let (host, device, mut log) = start();
    log.lines(&host);
    assert_eq!(device.ioctl(0x0022_2010, &[], 0).expect("a reply").status, NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    let mut lines = log.lines(&host);
    lines.retain(|line| line != "cleanup");
    assert_eq!(lines, ["pnp 1", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_link_to_the_physical_device_opens_the_drivers_device() {
    let image = c::build("wdm_stack", 1, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let mut log = Log::default();
    let device = host.add_device().expect("a device");
    assert_eq!(log.lines(&host)[0], r"name: 0, \Device\NtHost0");
    let file = host.open(r"\\.\CStack").expect("a file");
    log.lines(&host);
    assert_eq!(file.ioctl(BELOW, &[], 0).expect("a reply").status, NtStatus::Success);
    // The file is closed before the device is removed.
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["below: c0000010, c0000010", "pnp 1", "cleanup", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn the_owner_of_power_policy_asks_for_its_device() {
    let (host, device, mut log) = start();
    log.lines(&host);
    device.sleep().expect("sleep");
    let lines = ["system power 3, 4", "system power 2, 4", "device power 2, 4", "device power 4 done: 0"];
    assert_eq!(log.lines(&host), lines);
    device.wake().expect("wake");
    assert_eq!(log.lines(&host), ["system power 2, 1", "device power 2, 1", "device power 1 done: 0"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_pending_request_is_canceled_by_its_routine() {
    let (host, device, mut log) = start();
    log.lines(&host);
    let request = device.begin_ioctl(WAIT, &[], 0).expect("a request");
    request.cancel().expect("a cancellation");
    assert_eq!(log.lines(&host), ["canceled at irql 0"]);
    assert_eq!(request.wait().expect("a reply").status.as_int(), 0xC000_0120);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_request_that_a_driver_builds_comes_back_with_its_status() {
    let (host, device, mut log) = start();
    log.lines(&host);
    assert_eq!(device.ioctl(BELOW, &[], 0).expect("a reply").status, NtStatus::Success);
    // The device below belongs to the host, which completes this request with STATUS_INVALID_DEVICE_REQUEST.
    assert_eq!(log.lines(&host), ["below: c0000010, c0000010", "cleanup"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}
