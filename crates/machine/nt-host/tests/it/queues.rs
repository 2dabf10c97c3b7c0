//! KMDF queues: when the driver gets a request, and what happens to canceled requests.

use crate::common::c::{FRAMEWORK, Log, build};
use etw_types::NtStatus;
use nt_host::{Device, File, NtHost, PendingRequest, Rule};

const fn code(function: u32) -> u32 {
    0x0022_2000 | function << 2
}

const HOLD: u32 = code(0);
const HOLD_PLAIN: u32 = code(1);
const TO_MANUAL: u32 = code(2);
const TO_SEQUENTIAL: u32 = code(3);
const TO_LIMITED: u32 = code(4);
const RELEASE: u32 = code(16);
const RETRIEVE: u32 = code(17);
const REQUEUE: u32 = code(18);
const FINISH_SEQUENTIAL: u32 = code(19);
const STOP: u32 = code(20);
const START: u32 = code(21);
const DRAIN: u32 = code(22);
const PURGE: u32 = code(23);
const STOP_AND_PURGE: u32 = code(24);
const FIND: u32 = code(25);
const STATE: u32 = code(26);
const RETRIEVE_PARALLEL: u32 = code(27);
const MARK_LATE: u32 = code(29);
const FAIL: u32 = code(30);

/// The queue that a control request acts on: the first byte of its input.
const MANUAL: u8 = 0;
const SEQUENTIAL: u8 = 1;

const CANCELLED: u32 = NtStatus::Cancelled.as_int();
const INVALID_DEVICE_STATE: u32 = NtStatus::InvalidDeviceState.as_int();
/// The status for a client if the driver passes on `STATUS_WDF_PAUSED` or `STATUS_WDF_BUSY`.
const DEVICE_BUSY: u32 = NtStatus::DeviceBusy.as_int();

struct Run {
    host: NtHost,
    device: Device,
    log: Log,
}

impl Run {
    fn new() -> Self {
        Self::with_bug(0)
    }

    fn with_bug(bug: u32) -> Self {
        let image = build("kmdf_queues", bug, "FxDriverEntry", &FRAMEWORK);
        let host = NtHost::builder().driver(image).start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        Self { host, device, log: Log::default() }
    }

    fn begin(&self, code: u32, number: u8) -> PendingRequest {
        self.device.begin_ioctl(code, &[number], 0).expect("a request")
    }

    /// Sends a control request to the driver and returns its status.
    fn order(&self, code: u32, argument: u8) -> u32 {
        self.device.ioctl(code, &[argument], 0).expect("a reply").status.as_int()
    }

    fn lines(&mut self) -> Vec<String> {
        self.log.lines(&self.host)
    }

    fn end(self) {
        self.device.remove().expect("removal");
        self.host.unload().expect("unload").assert_clean();
    }
}

fn ended(request: PendingRequest) -> u32 {
    request.wait().expect("a reply").status.as_int()
}

#[test]
fn a_request_that_is_marked_cancelable_is_canceled_by_its_callback() {
    let mut run = Run::new();
    let request = run.begin(HOLD, 5);
    request.cancel().expect("a cancellation");
    assert_eq!(run.lines(), ["holds 5", "cancel 5"]);
    assert_eq!(ended(request), CANCELLED);
    assert_eq!(run.order(RELEASE, 0), 0xC000_0001);
    run.end();
}

#[test]
fn a_request_that_is_unmarked_in_time_is_not_canceled() {
    let mut run = Run::new();
    let request = run.begin(HOLD, 5);
    assert_eq!(run.order(RELEASE, 0), 0);
    request.cancel().expect("a request that has ended");
    assert_eq!(run.lines(), ["holds 5", "unmark 0"]);
    assert_eq!(ended(request), 0);
    run.end();
}

#[test]
fn a_request_that_was_canceled_before_it_is_marked_ends_at_once() {
    let mut run = Run::new();
    let request = run.begin(HOLD_PLAIN, 6);
    request.cancel().expect("a cancellation");
    assert_eq!(run.lines(), ["holds 6"]);
    assert_eq!(run.order(MARK_LATE, 0), 0);
    assert_eq!(run.lines(), ["is canceled 1", "cancel 6"]);
    assert_eq!(ended(request), CANCELLED);
    run.end();
}

#[test]
fn a_manual_queue_gives_requests_in_order_and_says_when_it_has_some() {
    let mut run = Run::new();
    let requests: Vec<PendingRequest> = (1..=3).map(|number| run.begin(TO_MANUAL, number)).collect();
    assert_eq!(run.lines(), ["ready 9"]);
    run.order(STATE, MANUAL);
    assert_eq!(run.lines(), ["state b, 3 waiting, 0 presented"]);
    assert_eq!(run.order(REQUEUE, 0), 0);
    for _ in 0..3 {
        assert_eq!(run.order(RETRIEVE, 0), 0);
    }
    assert_eq!(run.order(RETRIEVE, 0), 0x8000_001A);
    let lines = ["retrieves 1", "retrieves 1", "retrieves 2", "retrieves 3", "retrieves nothing: 8000001a"];
    assert_eq!(run.lines(), lines);
    for request in requests {
        assert_eq!(ended(request), 0);
    }
    assert_eq!(run.order(RETRIEVE_PARALLEL, 0), INVALID_DEVICE_STATE);
    run.end();
}

#[test]
fn requests_are_found_in_a_queue_and_taken_out_of_its_middle() {
    let mut run = Run::new();
    let requests: Vec<PendingRequest> = (1..=2).map(|number| run.begin(TO_MANUAL, number)).collect();
    run.lines();
    assert_eq!(run.order(FIND, 0), 0);
    assert_eq!(run.lines(), ["finds 1, 222008", "finds 2, 222008", "takes 2"]);
    assert_eq!(run.order(RETRIEVE, 0), 0);
    for request in requests {
        assert_eq!(ended(request), 0);
    }
    run.end();
}

#[test]
fn a_request_in_a_queue_is_canceled_there_and_the_driver_is_notified_if_it_has_seen_it() {
    let mut run = Run::new();
    let seen = run.begin(TO_MANUAL, 1);
    run.lines();
    seen.cancel().expect("a cancellation");
    assert_eq!(run.lines(), ["canceled on queue 1"]);
    assert_eq!(ended(seen), CANCELLED);
    // The second request waits behind the first. Its queue has no EvtIoCanceledOnQueue callback, so the framework
    // completes it.
    let first = run.begin(TO_SEQUENTIAL, 1);
    let second = run.begin(TO_SEQUENTIAL, 2);
    second.cancel().expect("a cancellation");
    assert_eq!(run.lines(), ["sequential 1"]);
    assert_eq!(ended(second), CANCELLED);
    assert_eq!(run.order(FINISH_SEQUENTIAL, 0), 0);
    assert_eq!(ended(first), 0);
    run.end();
}

#[test]
fn a_sequential_queue_gives_one_request_at_a_time() {
    let mut run = Run::new();
    let requests: Vec<PendingRequest> = (1..=3).map(|number| run.begin(TO_SEQUENTIAL, number)).collect();
    assert_eq!(run.lines(), ["sequential 1"]);
    for _ in 0..3 {
        assert_eq!(run.order(FINISH_SEQUENTIAL, 0), 0);
    }
    assert_eq!(run.lines(), ["sequential 2", "sequential 3"]);
    for request in requests {
        assert_eq!(ended(request), 0);
    }
    run.end();
}

#[test]
fn a_parallel_queue_keeps_to_its_limit() {
    let mut run = Run::new();
    let requests: Vec<PendingRequest> = (1..=3).map(|number| run.begin(TO_LIMITED, number)).collect();
    assert_eq!(run.lines(), ["limited 1", "limited 2"]);
    for request in requests {
        request.cancel().expect("a cancellation");
        assert_eq!(ended(request), CANCELLED);
    }
    assert_eq!(run.lines(), ["cancel 1", "limited 3", "cancel 2", "cancel 3"]);
    run.end();
}

/// Microsoft's Windows-Driver-Frameworks, `shared/irphandlers/io/fxioqueue.cpp`, `FxIoQueue::Initialize`: 0 is the limit
/// and does not stand for "no limit". `WDF_IO_QUEUE_CONFIG_INIT` sets -1.
#[test]
fn a_parallel_queue_with_a_limit_of_zero_presents_nothing_and_is_found() {
    let mut run = Run::with_bug(1);
    let request = run.begin(HOLD, 1);
    assert!(run.lines().is_empty());
    request.cancel().expect("a cancellation");
    assert_eq!(ended(request), CANCELLED);
    run.device.remove().expect("removal");
    let report = run.host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::FrameworkMisuse).map(|finding| finding.detail.as_str()).collect();
    let what = "a parallel queue with NumberOfPresentedRequests = 0 never presents a request: set it to -1, as \
                WDF_IO_QUEUE_CONFIG_INIT does";
    assert_eq!(found.as_slice(), [what].as_slice());
    assert_eq!(report.findings().len(), 1);
}

/// The same function refuses queues with contradictory configurations.
#[test]
fn a_queue_with_a_limit_or_callbacks_that_its_type_does_not_have_is_refused() {
    for (bug, status, what) in [
        (2, "0xC000000D", "NumberOfPresentedRequests is 1, but the queue is not parallel: set it to 0"),
        (3, "0xC020020B", "the queue has no callback for requests: set EvtIoDefault or another one"),
        (4, "0xC000000D", "gives a manual queue callbacks for requests: set none"),
    ] {
        let image = build("kmdf_queues", bug, "FxDriverEntry", &FRAMEWORK);
        let host = NtHost::builder().driver(image).start().expect("DriverEntry");
        let error = host.add_device().expect_err("an invalid queue");
        assert!(error.to_string().contains(status), "{bug}: {error}");
        let report = host.unload().expect("unload");
        let found: Vec<&str> = report.findings().iter().map(|finding| finding.detail.as_str()).collect();
        assert_eq!(found, [what], "{bug}");
    }
}

/// The statuses are those of Microsoft's Windows-Driver-Frameworks, `shared/core/fxdeviceapi.cpp` and
/// `shared/irphandlers/io/fxpkgio.cpp`.
#[test]
fn requests_of_a_type_go_to_the_queue_that_is_configured_for_it() {
    let mut run = Run::with_bug(5);
    let dispatching = [
        "dispatching c000000d",
        "dispatching c0000010",
        "dispatching c0000010",
        "dispatching 0",
        // STATUS_WDF_BUSY
        "dispatching c0200204",
    ];
    assert_eq!(run.lines(), dispatching);
    let read = run.device.begin_read(8).expect("a request");
    assert_eq!(run.lines(), ["ready 9"]);
    read.cancel().expect("a cancellation");
    assert_eq!(ended(read), CANCELLED);
    run.end();
}

/// `FxPkgGeneral::OnCleanup` in Microsoft's Windows-Driver-Frameworks, `shared/irphandlers/general/fxpkggeneral.cpp`.
#[test]
fn a_client_that_closes_its_file_cancels_the_requests_that_wait_in_queues() {
    let mut run = Run::new();
    let first = run.device.open().expect("a file");
    let second = run.device.open().expect("another file");
    let begin = |file: &File, code, number| file.begin_ioctl(code, &[number], 0).expect("a request");
    let held = begin(&first, HOLD_PLAIN, 1);
    let mut canceled = vec![begin(&first, TO_MANUAL, 2)];
    let current = begin(&first, TO_SEQUENTIAL, 3);
    canceled.push(begin(&first, TO_SEQUENTIAL, 4));
    let other = begin(&second, TO_MANUAL, 5);
    assert_eq!(run.lines(), ["holds 1", "ready 9", "sequential 3"]);
    first.close().expect("the end of the first file");
    // The sequential queue has no EvtIoCanceledOnQueue.
    assert_eq!(run.lines(), ["canceled on queue 2"]);
    for request in canceled {
        assert_eq!(ended(request), CANCELLED);
    }
    // The requests that the driver has, and those of other files, go on.
    assert_eq!(run.order(RELEASE, 0), 0);
    assert_eq!(run.order(FINISH_SEQUENTIAL, 0), 0);
    assert_eq!(run.order(RETRIEVE, 0), 0);
    for request in [held, current, other] {
        assert_eq!(ended(request), 0);
    }
    second.close().expect("the end of the second file");
    run.end();
}

/// Microsoft's Windows-Driver-Frameworks, `shared/core/fxrequest.cpp`, `FxRequest::CompleteInternal`.
#[test]
fn a_client_gets_no_status_of_the_framework() {
    let run = Run::new();
    for (status, seen) in [
        (0x01, 0xC000_00E5), // STATUS_WDF_INTERNAL_ERROR, STATUS_INTERNAL_ERROR
        (0x03, DEVICE_BUSY), // STATUS_WDF_PAUSED
        (0x04, DEVICE_BUSY), // STATUS_WDF_BUSY
        (0x0A, 0xC000_0010), // STATUS_WDF_TOO_FRAGMENTED, STATUS_INVALID_DEVICE_REQUEST
        (0x13, 0xC000_0010), // STATUS_WDF_TOO_MANY_TRANSFERS
        (0x14, 0xC000_009A), // STATUS_WDF_NOT_ENOUGH_MAP_REGISTERS, STATUS_INSUFFICIENT_RESOURCES
        (0x7F, 0xC000_0010), // unknown
    ] {
        assert_eq!(run.order(FAIL, status), seen, "{status:#x}");
    }
    run.end();
}

#[test]
fn a_stopped_queue_takes_requests_and_gives_none() {
    let mut run = Run::new();
    let first = run.begin(TO_SEQUENTIAL, 1);
    run.order(STOP, SEQUENTIAL);
    let second = run.begin(TO_SEQUENTIAL, 2);
    assert_eq!(run.lines(), ["sequential 1"]);
    run.order(FINISH_SEQUENTIAL, 0);
    assert_eq!(run.lines(), ["at rest after 1"]);
    run.order(START, SEQUENTIAL);
    assert_eq!(run.lines(), ["sequential 2"]);
    run.order(FINISH_SEQUENTIAL, 0);
    assert_eq!(ended(first), 0);
    assert_eq!(ended(second), 0);
    run.order(STOP, MANUAL);
    assert_eq!(run.order(RETRIEVE, 0), DEVICE_BUSY);
    // The driver is told about the request when the queue starts.
    let third = run.begin(TO_MANUAL, 3);
    assert_eq!(run.lines(), ["at rest after 1", "retrieves nothing: c0200203"]);
    run.order(START, MANUAL);
    assert_eq!(run.lines(), ["ready 9"]);
    assert_eq!(run.order(RETRIEVE, 0), 0);
    assert_eq!(ended(third), 0);
    run.end();
}

#[test]
fn a_drained_queue_gives_what_it_has_and_takes_nothing() {
    let mut run = Run::new();
    let first = run.begin(TO_SEQUENTIAL, 1);
    let second = run.begin(TO_SEQUENTIAL, 2);
    run.order(DRAIN, SEQUENTIAL);
    assert_eq!(ended(run.begin(TO_SEQUENTIAL, 3)), DEVICE_BUSY);
    run.order(FINISH_SEQUENTIAL, 0);
    run.order(FINISH_SEQUENTIAL, 0);
    assert_eq!(run.lines(), ["sequential 1", "sequential 2", "at rest after 2"]);
    assert_eq!(ended(first), 0);
    assert_eq!(ended(second), 0);
    run.end();
}

#[test]
fn a_purged_queue_ends_what_it_has_and_takes_nothing() {
    let mut run = Run::new();
    let requests: Vec<PendingRequest> = (1..=2).map(|number| run.begin(TO_MANUAL, number)).collect();
    run.lines();
    run.order(PURGE, MANUAL);
    assert_eq!(run.lines(), ["canceled on queue 1", "canceled on queue 2", "at rest after 3"]);
    for request in requests {
        assert_eq!(ended(request), CANCELLED);
    }
    assert_eq!(ended(run.begin(TO_MANUAL, 3)), DEVICE_BUSY);
    run.order(START, MANUAL);
    let last = run.begin(TO_MANUAL, 4);
    run.order(STOP_AND_PURGE, MANUAL);
    assert_eq!(run.lines(), ["ready 9", "canceled on queue 4", "stopped and purged"]);
    assert_eq!(ended(last), CANCELLED);
    run.end();
}

#[test]
fn requests_in_queues_end_when_the_device_goes() {
    let mut run = Run::new();
    let waiting = run.begin(TO_MANUAL, 1);
    let held = run.begin(TO_LIMITED, 2);
    run.lines();
    run.device.clone().remove().expect("removal");
    assert_eq!(run.lines(), ["canceled on queue 1", "cancel 2"]);
    assert_eq!(ended(waiting), CANCELLED);
    assert_eq!(ended(held), CANCELLED);
    run.host.unload().expect("unload").assert_clean();
}

/// Returns what the driver logs for requests of one byte and of none.
fn log_of_empty_requests(bug: u32) -> Vec<String> {
    let image = build("kmdf_empty", bug, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    for length in [1, 0] {
        let read = device.read(length).expect("a reply");
        assert_eq!(read.status, NtStatus::Success);
        assert_eq!(read.information, 0);
        let write = device.write(&[7][..length as usize]).expect("a reply");
        assert_eq!(write.status, NtStatus::Success);
    }
    if bug >= 2 {
        device.ioctl(code(0), &[], 0).expect("a reply");
    }
    let lines = Log::default().lines(&host);
    host.unload().expect("unload").assert_clean();
    lines
}

/// The page of `WDF_IO_QUEUE_CONFIG`: unless `AllowZeroLengthRequests` is set, the framework completes read and write
/// requests of no bytes with `STATUS_SUCCESS`.
#[test]
fn reads_and_writes_of_no_bytes_reach_only_a_queue_that_allows_them() {
    assert_eq!(log_of_empty_requests(0), ["read 1", "write 1"]);
    assert_eq!(log_of_empty_requests(1), ["read 1", "write 1", "read 0", "write 0"]);
    // A control request of no bytes is not affected.
    assert_eq!(log_of_empty_requests(2), ["default", "default", "default"]);
    assert_eq!(log_of_empty_requests(3), ["default"; 5]);
}
