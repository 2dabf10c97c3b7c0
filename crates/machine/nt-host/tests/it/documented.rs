//! What the pages of routines on Microsoft Learn state, checked by a driver that calls them. The expected values are in the
//! driver, each with the page that it comes from.

use crate::common::c::build;
use crate::common::c::{framework, plain};
use crate::common::steps::{all_succeed, steps};
use etw_types::NtStatus;
use nt_host::{Builder, Error, Matrix, NtHost, Rule};

fn driver(bug: u32) -> Builder {
    NtHost::builder().driver(build("wdm_documented", bug, "DriverEntry", &["ntoskrnl"]))
}

/// The line number of a mark in the driver's source.
fn marked(bug: u32) -> Option<u32> {
    let mark = format!("/* mark {bug} */");
    let mut lines = (1..).zip(include_str!("../../drivers/c/wdm_documented.c").lines());
    lines.find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

// What the pages of routines state.
steps! { pages, driver(0);
    activity_ids_are_created_and_read,
    the_registry_path_is_valid_in_driver_entry_only,
    conversions_report_a_buffer_that_is_too_small,
    the_length_of_a_counted_string_has_a_limit,
    strings_have_the_documented_hashes,
    conversions_of_utf_8_write_no_part_of_a_character,
    copies_of_strings_are_terminated_on_request,
    callbacks_exclude_each_other,
    generic_tables_number_elements_in_the_order_of_insertion,
    bit_maps_have_whole_words_and_times_have_signed_years,
    a_handle_of_a_deleted_key_says_so,
    a_dispatch_routine_runs_on_the_thread_of_the_client,
    statuses_become_win32_codes,
    a_dpc_runs_when_the_irql_of_its_processor_allows_it,
    strings_versions_and_tokens_are_as_documented,
}

// What the framework's source says.
steps! { framework_source, framework("kmdf_documented");
    a_buffer_that_is_too_small_is_null,
    memory_objects_check_their_lengths,
    malformed_strings_are_refused,
    a_device_has_one_symbolic_link,
    secure_open_is_always_a_characteristic,
    registry_values_need_room_and_lists_have_two_terminators,
    a_cancelled_request_is_not_sent_before_it_is_reused,
    a_dpc_and_a_file_have_objects_of_the_kernel,
}

/// The process that a file was opened in, that a request of it was sent in, and the one that `IoGetRequestorProcessId` returns.
#[test]
fn a_dispatch_routine_runs_in_the_process_of_its_client() {
    let host = driver(0).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let files = [device.open(), device.open_as(1), device.open_as(2)].map(|file| file.expect("a file"));
    let processes = files.each_ref().map(|file| {
        let output = file.ioctl(0x0022_2004, &[], 12).expect("a reply").output;
        let ids: Vec<u32> = output.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "created, dispatched and sent in one process: {ids:?}");
        ids[0]
    });
    assert!(!processes.contains(&4), "not the system process: {processes:?}");
    assert!(processes.iter().all(|id| processes.iter().filter(|other| *other == id).count() == 1), "{processes:?}");
    drop(files);
    host.unload().expect("unload").assert_clean();
}

/// The statuses of `kmdf_attributes`, from `shared/object/fxvalidatefunctions.cpp` of Microsoft's framework and from the functions that
/// create the objects.
#[test]
fn the_framework_refuses_attributes_as_its_source_says() {
    const DONE: NtStatus = NtStatus::Success;
    const NO_PARENT: NtStatus = NtStatus::WdfParentNotSpecified;
    const NOT_OF_DEVICE: NtStatus = NtStatus::InvalidDeviceRequest;
    const INVALID: NtStatus = NtStatus::WdfObjectAttributesInvalid;
    let expected = [
        ("a device with a parent", NtStatus::WdfParentAssignmentNotAllowed),
        ("a work item without attributes", NO_PARENT),
        ("a work item without a parent", NO_PARENT),
        ("a work item of the driver", NOT_OF_DEVICE),
        ("a work item without a function", NtStatus::InvalidParameter),
        ("a work item", DONE),
        ("a DPC without attributes", NO_PARENT),
        ("a DPC", DONE),
        ("a timer without attributes", NO_PARENT),
        ("a timer of the driver", NOT_OF_DEVICE),
        ("a timer", DONE),
        ("a timer with a period over 2^31 - 1", NtStatus::InvalidParameter),
        ("a device key with a parent", NtStatus::WdfParentAssignmentNotAllowed),
        ("a device key", DONE),
        ("a periodic passive timer", NtStatus::NotSupported),
        ("a passive timer", DONE),
        ("a passive work item", NtStatus::WdfExecutionLevelInvalid),
        ("a passive general object", DONE),
        ("execution level 7", INVALID),
        ("execution level 0", INVALID),
        ("a general object with the scope of its queue", NtStatus::WdfSynchronizationScopeInvalid),
        ("a general object without a scope", DONE),
        ("scope 9", INVALID),
        ("a queue with a scope", DONE),
        ("a serialized work item of a queue at DISPATCH_LEVEL", NtStatus::WdfIncompatibleExecutionLevel),
        ("a work item of that queue that is not serialized", DONE),
        ("a context size without a type", INVALID),
        ("a larger context", DONE),
        ("a context that is too small", INVALID),
        ("a context type without a name", INVALID),
        ("a context type of another size", NtStatus::InfoLengthMismatch),
        ("a context without attributes", NO_PARENT),
        ("a context with a parent", NtStatus::WdfParentAssignmentNotAllowed),
    ];
    let host = framework("kmdf_attributes").start().expect("DriverEntry");
    let reply = host.add_device().expect("a device").ioctl(0x0022_2000, &[], 256).expect("a reply");
    let words = reply.output.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let statuses: Vec<NtStatus> = words.map(NtStatus::from_int).collect();
    let names = expected.map(|(name, _)| name);
    let actual: Vec<(&str, NtStatus)> = names.into_iter().zip(statuses.iter().copied()).collect();
    assert_eq!(actual, expected);
    assert_eq!(statuses.len(), expected.len(), "every attempt has a status");
    let report = host.unload().expect("unload");
    let reported =
        report.findings().iter().filter(|finding| matches!(finding.rule, Rule::BadArgument | Rule::FrameworkMisuse));
    assert_eq!(reported.count(), report.findings().len(), "{:#?}", report.findings());
}

#[test]
fn the_irql_limit_of_a_routine_can_depend_on_its_arguments() {
    let host = driver(1).start().expect("DriverEntry");
    all_succeed(&host);
    let report = host.unload().expect("unload");
    let finding = report.findings_of(Rule::IrqlTooHigh).next().expect("a finding");
    assert_eq!(finding.routine.as_deref(), Some("EtwActivityIdControl"));
    assert_eq!(finding.detail, "called at IRQL 2 with these arguments, allowed up to 1");
    assert_eq!(finding.location.as_ref().and_then(|location| location.line), marked(1));
    assert_eq!(report.findings().len(), 1, "{:#?}", report.findings());
}

#[test]
fn the_registry_path_of_driver_entry_is_gone_when_that_has_returned() {
    let host = driver(2).start().expect("DriverEntry");
    let stopped = host.add_device().expect("a device").ioctl(0x0022_2000, &[], 256);
    assert!(matches!(stopped, Err(Error::Stopped(_))), "{stopped:?}");
    let report = host.report();
    let finding = report.findings_of(Rule::UseAfterFree).next().expect("a finding");
    assert_eq!(finding.location.as_ref().and_then(|location| location.line), marked(2));
    assert!(finding.detail.contains("the RegistryPath of DriverEntry"), "{}", finding.detail);
}

/// What an allocation of `wdm_raise` did: it returned memory or NULL, or raised `STATUS_INSUFFICIENT_RESOURCES`.
const MEMORY: u32 = 1;
const NULL: u32 = 0;
const RAISED: u32 = NtStatus::InsufficientResources.as_int();

/// Makes all allocations of `wdm_raise`, of which the calls of one routine fail.
fn allocations(fails: Option<&str>) -> Vec<u32> {
    let builder = plain("wdm_raise");
    let status = NtStatus::InsufficientResources;
    let builder = fails
        .into_iter()
        .fold(builder, |builder, routine| builder.fail_call(routine, status, 1).fail_call(routine, status, 2));
    let host = builder.start().expect("DriverEntry");
    let reply = host.add_device().expect("a device").ioctl(0x0022_2000, &[], 64).expect("a reply");
    host.unload().expect("unload").assert_clean();
    reply.output.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// The pages of the routines: quota allocations raise an exception unless `POOL_QUOTA_FAIL_INSTEAD_OF_RAISE` is set, others
/// return NULL unless `POOL_RAISE_IF_ALLOCATION_FAILURE` or `POOL_FLAG_RAISE_ON_FAILURE` is set.
#[test]
fn an_allocation_that_fails_raises_an_exception_or_returns_null_as_its_flags_say() {
    assert_eq!(allocations(None), [MEMORY; 8]);
    let routines =
        ["ExAllocatePoolWithQuotaTag", "ExAllocatePoolWithTag", "ExAllocatePool2", "ExAllocateFromLookasideListEx"];
    for (index, routine) in routines.into_iter().enumerate() {
        let mut expected = [MEMORY; 8];
        expected[2 * index] = RAISED;
        expected[2 * index + 1] = NULL;
        assert_eq!(allocations(Some(routine)), expected, "{routine}");
    }
}

#[test]
fn a_driver_that_handles_the_exceptions_of_its_allocations_survives_every_failure() {
    let drive = |host: &NtHost| {
        host.load()?;
        host.add_device()?.ioctl(0x0022_2000, &[], 64)?;
        host.unload().map(drop)
    };
    let survey = Matrix::new(plain("wdm_raise")).run(drive).expect("a driver without failures");
    survey.assert_clean();
    assert!(survey.failures >= 8, "{survey}");
}
