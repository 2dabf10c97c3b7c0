//! A driver that calls every function at the highest IRQL that its documentation promises. That it knows all functions is a test of
//! `docs-tests`.

use std::time::Duration;

use etw_session::{Enable, Properties};
use etw_types::session::Filter;
use etw_types::{Guid, Level, NtStatus};
use nt_host::{Below, GapKind, NtHost, RequestKind, Resource, WmiOperation, WmiRequest};

use super::{code, driver};

const TRACE: u32 = code(0);
const USE_OBJECTS: u32 = code(1);
const USE_BUFFERS: u32 = code(2);
const REPLY_AT_HIGH: u32 = code(3);
const FORWARD: u32 = code(4);
const KEEP: u32 = code(5);
const RELEASE: u32 = code(6);
const SEND: u32 = code(7);
const FORGET: u32 = code(8);
const SEND_OWN: u32 = code(9);
const UNPLUG: u32 = code(10);

fn start() -> NtHost {
    let below = |code| Below {
        device: None,
        kind: Some(RequestKind::DEVICE_CONTROL),
        code: Some(code),
        status: NtStatus::Success,
        output: Vec::new(),
        delay: Duration::from_millis(10),
    };
    let builder = NtHost::builder().driver(driver("kmdf_irql.sys")).resource(Resource::LineInterrupt);
    let builder = builder.below(below(SEND)).below(below(FORGET)).below(below(code(11)));
    // The driver reports that the device has failed.
    builder.allow(GapKind::NotStarted).start().expect("DriverEntry")
}

#[test]
fn every_function_is_allowed_at_the_irql_that_its_documentation_promises() {
    let host = start();
    let trace = host.session("irql").expect("a session");
    let trace = trace.enable(Guid::from_name("Irql.Driver"), Level::Verbose, !0).expect("enabled");
    let machine = host.machine();
    let session = machine.start(&Properties::new("filter").real_time()).expect("a session");
    let filtered = Enable::new(Level::Warning).filter(Filter::Schematized(vec![1, 2, 3, 4]));
    session.provider(Guid::from_name("Irql.Driver")).enable(&filtered).expect("enabled");
    let device = host.add_device().expect("a device");
    for request in [TRACE, USE_OBJECTS, USE_BUFFERS, REPLY_AT_HIGH, FORWARD, SEND, FORGET, SEND_OWN, UNPLUG] {
        let reply = device.ioctl(request, b"input", 32).expect("a reply");
        assert_eq!(reply.status, NtStatus::Success, "{request:#x}: {}", host.report().output());
        host.advance(Duration::from_millis(20)).expect("time");
    }
    let kept = device.begin_ioctl(KEEP, &[], 0).expect("a request");
    device.sleep().expect("sleep");
    device.wake().expect("wake");
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Success);
    assert!(device.interrupt(0).expect("an interrupt"), "the service routine claims it");
    let guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61c0);
    let method = WmiRequest { guid, instance: 0, operation: WmiOperation::Method(1), input: vec![0; 8], output: 8 };
    assert_eq!(device.wmi(method).expect("a reply").status, NtStatus::Success);
    device.surprise_remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    let written = trace.events().expect("events").len();
    assert!(written > 10, "{written} events above DISPATCH_LEVEL");
    for line in ["irql: a filter of 4 bytes", "irql: the interrupt was locked 1 times"] {
        assert!(report.output().contains(line), "{}", report.output());
    }
}
