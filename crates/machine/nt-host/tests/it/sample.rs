//! The sample driver as `cargo xtask build` makes it: a KMDF driver that uses Microsoft's crates.

use std::time::Duration;

use crate::common;
use etw_types::{Guid, Level, NtStatus};
use nt_host::{Builder, Device, GapKind, NtHost, Storm, event};

/// The provider of the sample's manifest.
const ADMIN: Guid = Guid::from_u128(0x6b8f_0f5e_6a0d_4f57_8b0c_9d4c_2d1f_7a31);

const ECHO: u32 = 0x0022_E000;
const GET_STATISTICS: u32 = 0x0022_6004;
const GET_STATUSES: u32 = 0x0022_600C;

fn provider() -> Guid {
    Guid::from_name("WdkEtw.DriverSample")
}

fn sample() -> Builder {
    NtHost::builder().driver(common::built("driver_sample.sys"))
}

/// The statuses of the driver's provider: register, set traits, use descriptor type, track binary; then those of the
/// manifest's provider: register, track binary.
fn statuses(device: &Device) -> Vec<u32> {
    let reply = device.ioctl(GET_STATUSES, &[], 24).expect("a reply");
    assert_eq!(reply.status, NtStatus::Success);
    reply.output.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes"))).collect()
}

#[test]
fn the_life_of_a_device_is_traced_in_order_and_nothing_is_left() {
    let host = sample().prepare().expect("the sample");
    let trace = host.session("test").expect("a session").enable(provider(), Level::Verbose, !0).expect("enabled");
    host.load().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let reply = device.ioctl(ECHO, b"hello", 64).expect("a reply");
    assert_eq!(reply.status, NtStatus::Success);
    assert_eq!(reply.output.as_slice(), b"hello".as_slice());
    host.advance(Duration::from_millis(2500)).expect("time");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
    trace
        .expect(event("Enable").field("Control", 1))
        .expect(event("DriverEntry").field("Register", 0).field("SetTraits", 0).field("Status", 0))
        .expect(event("DeviceAdd").field("Status", 0))
        .expect(event("Power").field("Callback", "PrepareHardware"))
        .expect(event("Power").field("Callback", "D0Entry"))
        .expect(event("Request").opcode(1).field("Code", ECHO).field("InputLength", 5))
        .expect(event("Request").opcode(2).field("Status", 0).field("Information", 5))
        .expect(event("Tick").field("Ticks", 1))
        .expect(event("Tick").field("Ticks", 2))
        .expect(event("Power").field("Callback", "D0Exit"))
        .expect(event("Power").field("Callback", "ReleaseHardware"))
        .expect(event("Power").field("Callback", "Cleanup"))
        .expect(event("DriverUnload"))
        .in_order();
}

#[test]
fn buffers_that_are_too_small_and_codes_that_are_unknown_get_their_status() {
    let host = sample().trace_all().start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let reply = device.ioctl(GET_STATISTICS, &[], 23).expect("a reply");
    assert_eq!(reply.status, NtStatus::BufferTooSmall);
    let reply = device.ioctl(0x0022_2FFC, &[], 0).expect("a reply");
    assert_eq!(reply.status, NtStatus::InvalidDeviceRequest);
    host.unload().expect("unload").assert_clean();
    host.trace().expect(event("RequestRefused").field("Status", NtStatus::BufferTooSmall.as_int())).in_order();
}

#[test]
fn a_windows_without_set_information_is_reported_and_survived() {
    let host = sample().hide("EtwSetInformation").trace_all().start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let status = NtStatus::NotSupported.as_int();
    assert_eq!(statuses(&device), [0, status, status, status, 0, status]);
    host.trace().session().capture_state(provider()).expect("state");
    host.unload().expect("unload").assert_clean();
    host.trace()
        .expect(event("DriverEntry").field("SetTraits", status).field("Status", 0))
        .expect(event("ProviderState").field("Register", 0).field("SetTraits", status).field("TrackBinary", status))
        .in_order();
    assert!(
        host.report().output().contains("EtwRegister 0x00000000 STATUS_SUCCESS; EtwSetInformation: traits 0xC00000BB")
    );
}

#[test]
fn a_provider_that_cannot_register_does_not_keep_the_driver_from_working() {
    let host = sample().fail_call("EtwRegister", NtStatus::NoMemory, 1).trace_all().start().expect("DriverEntry");
    let output = host.report().output().to_owned();
    assert!(output.contains("EtwRegister 0xC0000017 STATUS_NO_MEMORY"), "{output}");
    assert!(output.contains("the driver continues without tracing"), "{output}");
    let device = host.add_device().expect("a device");
    let register = NtStatus::NoMemory.as_int();
    let handle = NtStatus::InvalidHandle.as_int();
    assert_eq!(statuses(&device), [register, register, handle, handle, 0, 0]);
    assert_eq!(device.ioctl(ECHO, b"x", 8).expect("a reply").output, b"x");
    host.unload().expect("unload").assert_clean();
    // The manifest's provider is registered separately. Its event tells administrators about the failure.
    let events = host.trace().events().expect("a trace");
    assert!(events.iter().all(|event| event.header.provider == Some(ADMIN)), "{events:?}");
    assert_eq!(events.len(), 1);
    assert!(events[0].payload().ends_with(&register.to_le_bytes()));
}

#[test]
fn the_status_of_the_second_registration_is_in_an_event_a_reply_and_the_debug_output() {
    let host = sample().fail_call("EtwRegister", NtStatus::NoMemory, 2).trace_all().start().expect("DriverEntry");
    let output = host.report().output().to_owned();
    assert!(output.contains("events for administrators: EtwRegister 0xC0000017 STATUS_NO_MEMORY"), "{output}");
    let device = host.add_device().expect("a device");
    let register = NtStatus::NoMemory.as_int();
    let handle = NtStatus::InvalidHandle.as_int();
    assert_eq!(statuses(&device), [0, 0, 0, 0, register, handle]);
    host.unload().expect("unload").assert_clean();
    host.trace()
        .expect(event("DriverEntry").field("AdminRegister", register).field("AdminTrackBinary", handle))
        .in_order();
}

#[test]
fn a_request_of_a_traced_client_is_joined_with_its_activity() {
    let client = |builder: Builder| {
        let host = builder.trace_all().start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        assert_eq!(device.ioctl(ECHO, b"x", 8).expect("a reply").status, NtStatus::Success);
        host.unload().expect("unload").assert_clean();
        let events = host.trace().events().expect("a trace");
        let named = |name: &str| events.iter().find(|event| event.decode().event.as_deref() == Some(name)).cloned();
        let request = named("Request").expect("a request");
        named("RequestClient").map(|event| {
            assert_eq!(event.header.activity, request.header.activity);
            event.related().expect("the client's activity")
        })
    };
    assert!(client(sample().request_activities()).is_some_and(|id| !id.is_zero()));
    assert_eq!(client(sample()), None, "a request without an activity");
    let older = sample().request_activities().hide("IoGetActivityIdIrp").hide("IoSetActivityIdIrp");
    assert_eq!(client(older), None, "a Windows without the routines");
}

#[test]
fn capture_state_gives_a_rundown_of_the_devices() {
    let host = sample().start().expect("DriverEntry");
    let _device = host.add_device().expect("a device");
    let session = host.session("late").expect("a session");
    session.enable(provider(), Level::Verbose, !0).expect("enabled");
    let before = session.trace().events().expect("a trace").len();
    session.capture_state(provider()).expect("state");
    let events = session.trace().events().expect("a trace");
    let names: Vec<String> = events.iter().skip(before).filter_map(|event| event.decode().event).collect();
    assert_eq!(names, ["ProviderState", "DeviceState"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_event_of_the_manifest_is_decoded_by_the_image_and_its_stack_has_names() {
    let host = sample().trace_all().stacks().start().expect("DriverEntry");
    let events = host.trace().events().expect("a trace");
    let event = events.iter().find(|event| event.header.provider == Some(ADMIN)).expect("an event of the manifest");
    let decoded = host.decoder().decode(&event.as_ref());
    assert!(decoded.event.is_some(), "{decoded:?}");
    assert!(decoded.raw.is_none(), "{decoded:?}");
    assert!(decoded.frames.iter().any(|frame| frame.contains("DriverEntry") || frame.contains(".rs:")), "{decoded:?}");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn random_failures_are_survived() {
    for seed in 1..=20 {
        // With failures, the driver need not load, and its device need not start.
        let builder =
            [GapKind::NotLoaded, GapKind::NotAdded, GapKind::NotStarted].into_iter().fold(sample(), Builder::allow);
        let host = builder.seed(seed).trace_all().prepare().expect("the sample");
        if host.load().is_ok() {
            if let Ok(device) = host.add_device() {
                device.ioctl(ECHO, b"hello", 64).expect("a reply");
            }
            host.unload().expect("unload");
        }
        host.report().assert_clean();
    }
}

/// The provider is enabled, asked for its state and disabled as fast as possible, two threads send requests, and the
/// driver is loaded and unloaded a thousand times.
#[test]
fn a_storm_over_a_thousand_loads_leaves_nothing_and_every_event_is_recorded_or_counted_as_lost() {
    let host = sample().trace_all().patience(Duration::from_mins(10)).prepare().expect("the sample");
    let storm = Storm {
        rounds: 1000,
        threads: 2,
        requests: 4,
        provider: provider(),
        code: ECHO,
        input: b"storm".to_vec(),
        output: 64,
    };
    host.storm(&storm).expect("a storm").assert_clean();
    // Only successful writes count. A write fails if the enable callback still runs while its provider is unregistered.
    let written = host.events_written().expect("a number");
    let trace = host.trace();
    let events = trace.events().expect("a trace");
    let lost = trace.events_lost().expect("a trace");
    let count = |name: &str| events.iter().filter(|event| event.decode().event.as_deref() == Some(name)).count() as u64;
    println!("{written} written, {} recorded, {lost} lost", events.len());
    assert_eq!(written, events.len() as u64 + lost);
    // All three were part of the storm: capture state, enabling and disabling, and requests.
    assert!(count("DeviceState") > 0, "no driver with a device got a request for its state");
    assert!(count("Enable") > 1000, "the session did not come and go");
    assert!(count("Request") + lost >= 2 * 8 * 1000, "requests are missing");
}

/// Sends a request to a device and advances the clock by three seconds. Returns the time between the first and the last
/// event, and the threads that wrote `Tick` and `Request`.
fn times_and_threads(builder: Builder) -> (u64, [Vec<u32>; 2]) {
    let host = builder.trace_all().start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.ioctl(ECHO, b"hello", 64).expect("a reply");
    host.advance(Duration::from_secs(3)).expect("time");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
    let events = host.trace().events().expect("events");
    let stamps: Vec<_> = events.iter().map(|event| event.header.stamp).collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
    let threads = ["Tick", "Request"].map(|name| {
        let of_name = events.iter().filter(|written| event(name).matches(written));
        let threads: std::collections::BTreeSet<u32> = of_name.filter_map(|event| event.header.thread_id).collect();
        threads.into_iter().collect()
    });
    let first = stamps.first().expect("an event");
    let last = stamps.last().expect("an event");
    (last - first, threads)
}

#[test]
fn events_have_threads_and_measured_time_adds_what_things_take() {
    let (time, [ticks, requests]) = times_and_threads(sample());
    assert_eq!(time, 30_000_000, "virtual time passes only while everybody waits");
    assert!(!ticks.is_empty(), "{ticks:?} {requests:?}");
    assert!(!requests.is_empty(), "{ticks:?} {requests:?}");
    // Timers and requests run on different threads.
    assert!(ticks.iter().all(|thread| *thread != 0 && thread % 4 == 0 && !requests.contains(thread)), "{ticks:?}");
    let (measured, _) = times_and_threads(sample().measured_time());
    assert!(measured > time, "{measured}");
}

/// The maximum size of the sample's sections in bytes. With Rust 1.95 they have 25,406 bytes, with the names of all statuses; `core`'s number formatting or a
/// panic path would exceed the limit.
const MAX_BYTES: usize = 25_600;

#[test]
fn the_image_without_the_manifests_resources_stays_small() {
    let bytes = std::fs::read(common::built("driver_sample.sys")).expect("the sample");
    let image = pe_image::Image::parse(&bytes).expect("an image");
    let sections = image.sections.iter().filter(|section| section.name != ".rsrc");
    let size: usize = sections.map(|section| section.virtual_size.min(section.file_size) as usize).sum();
    // Panics in the framework's crate name the absolute path of its source. Subtract the repository's path, so that the
    // size does not depend on it.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let root = root.to_str().expect("a path in UTF-8").as_bytes();
    let paths = bytes.windows(root.len()).filter(|window| *window == root).count();
    let size = size - paths * root.len();
    assert!(size <= MAX_BYTES, "{size} bytes");
}
