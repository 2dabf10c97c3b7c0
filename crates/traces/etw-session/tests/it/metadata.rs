//! Compares names, numbers and sizes with Microsoft's metadata (the windows-sys crate).

use etw_session::info::{self, group_by_name};
use etw_session::{Control, MODES};
use etw_types::session::mode;
use windows_sys::Win32::System::Diagnostics::Etw as etw;

#[test]
fn public_groups_are_the_flags_of_the_metadata() {
    for (name, flag) in [
        ("process", etw::EVENT_TRACE_FLAG_PROCESS),
        ("thread", etw::EVENT_TRACE_FLAG_THREAD),
        ("image-load", etw::EVENT_TRACE_FLAG_IMAGE_LOAD),
        ("process-counters", etw::EVENT_TRACE_FLAG_PROCESS_COUNTERS),
        ("context-switch", etw::EVENT_TRACE_FLAG_CSWITCH),
        ("dpc", etw::EVENT_TRACE_FLAG_DPC),
        ("interrupt", etw::EVENT_TRACE_FLAG_INTERRUPT),
        ("system-call", etw::EVENT_TRACE_FLAG_SYSTEMCALL),
        ("disk-io", etw::EVENT_TRACE_FLAG_DISK_IO),
        ("disk-file-io", etw::EVENT_TRACE_FLAG_DISK_FILE_IO),
        ("disk-io-init", etw::EVENT_TRACE_FLAG_DISK_IO_INIT),
        ("dispatcher", etw::EVENT_TRACE_FLAG_DISPATCHER),
        ("page-fault", etw::EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS),
        ("hard-fault", etw::EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS),
        ("virtual-alloc", etw::EVENT_TRACE_FLAG_VIRTUAL_ALLOC),
        ("va-map", etw::EVENT_TRACE_FLAG_VAMAP),
        ("network", etw::EVENT_TRACE_FLAG_NETWORK_TCPIP),
        ("registry", etw::EVENT_TRACE_FLAG_REGISTRY),
        ("debug-print", etw::EVENT_TRACE_FLAG_DBGPRINT),
        ("job", etw::EVENT_TRACE_FLAG_JOB),
        ("alpc", etw::EVENT_TRACE_FLAG_ALPC),
        ("split-io", etw::EVENT_TRACE_FLAG_SPLIT_IO),
        ("driver", etw::EVENT_TRACE_FLAG_DRIVER),
        ("profile", etw::EVENT_TRACE_FLAG_PROFILE),
        ("file-io", etw::EVENT_TRACE_FLAG_FILE_IO),
        ("file-io-init", etw::EVENT_TRACE_FLAG_FILE_IO_INIT),
    ] {
        assert_eq!(group_by_name(name), Some(flag), "{name}");
    }
}

#[test]
fn control_codes_are_those_of_the_metadata() {
    for (ours, theirs) in [
        (Control::Query, etw::EVENT_TRACE_CONTROL_QUERY),
        (Control::Stop, etw::EVENT_TRACE_CONTROL_STOP),
        (Control::Update, etw::EVENT_TRACE_CONTROL_UPDATE),
        (Control::Flush, etw::EVENT_TRACE_CONTROL_FLUSH),
        (Control::IncrementFile, etw::EVENT_TRACE_CONTROL_INCREMENT_FILE),
        (Control::ConvertToRealTime, etw::EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME),
    ] {
        assert_eq!(ours as u32, theirs, "{ours:?}");
    }
}

#[test]
fn lengths_of_the_classes_are_sizes_of_the_structures() {
    let length = |number: u32| info::find(&number.to_string()).unwrap();
    let sets = |number: u32| length(number).set.unwrap().length;
    let result = |number: u32| length(number).query.unwrap().length.unwrap();
    assert_eq!(sets(3).step, size_of::<etw::CLASSIC_EVENT_ID>());
    assert_eq!(sets(5).least, size_of::<etw::TRACE_PROFILE_INTERVAL>());
    assert_eq!(sets(8).least, size_of::<etw::CLASSIC_EVENT_ID>());
    assert_eq!(sets(16).least, size_of::<etw::TRACE_PERIODIC_CAPTURE_STATE_INFO>());
    assert_eq!(sets(24).least, size_of::<etw::TRACE_STACK_CACHING_INFO>());
    assert_eq!(result(11), size_of::<etw::TRACE_VERSION_INFO>());
    assert_eq!(result(17), size_of::<etw::TRACE_PERIODIC_CAPTURE_STATE_INFO>());
}

#[test]
fn every_mode_has_one_name() {
    let all = MODES.iter().fold(0, |all, (_, bit)| {
        assert_eq!(all & bit, 0, "{bit:#x} has two names");
        all | bit
    });
    assert_eq!(all & (mode::DELAY_OPEN_FILE | mode::ADD_HEADER | mode::RELOG), 0, "those are not for sessions");
}
