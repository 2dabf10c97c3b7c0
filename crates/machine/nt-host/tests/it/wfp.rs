//! Callout drivers of the Windows Filtering Platform.

use std::net::SocketAddr;

use crate::common::c::{Log, build};
use nt_host::{Connection, GapKind, NtHost, Packet, Passage, Rule, Verdict};

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn start(bug: u32) -> NtHost {
    let image = build("wfp_callout", bug, "DriverEntry", &["ntoskrnl", "fwpkclnt", "ndis"]);
    NtHost::builder().driver(image).start().expect("DriverEntry")
}

fn connect(host: &NtHost, remote: &str) -> Passage {
    host.connect(Connection::to(at(remote))).expect("a connection")
}

/// A DNS query to 10.0.0.1, as an application sends it, without a checksum of UDP.
fn query() -> Packet {
    let mut data = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    data.extend([0xC0, 0, 0, 53, 0, 12, 0, 0]);
    data.extend(b"dns?");
    Packet { data, inbound: false }
}

fn layers(passage: &Passage) -> Vec<&str> {
    passage.layers.iter().map(|layer| layer.layer.as_str()).collect()
}

#[test]
fn a_callout_authorizes_connections_and_sees_their_data() {
    let host = start(0);
    let mut log = Log::default();
    // The notification of each filter changes its context.
    let contexts = [1, 11, 21, 31, 41].map(|context| format!("filter added, context {context}"));
    assert_eq!(log.lines(&host), contexts);

    let passage = connect(&host, "10.0.0.1:443");
    assert_eq!(passage.verdict, Verdict::Permit);
    let handshake = [
        "ALE_RESOURCE_ASSIGNMENT_V4",
        "ALE_CONNECT_REDIRECT_V4",
        "ALE_AUTH_CONNECT_V4",
        "OUTBOUND_TRANSPORT_V4",
        "OUTBOUND_IPPACKET_V4",
        "INBOUND_IPPACKET_V4",
        "INBOUND_TRANSPORT_V4",
        "ALE_FLOW_ESTABLISHED_V4",
        "OUTBOUND_TRANSPORT_V4",
        "OUTBOUND_IPPACKET_V4",
    ];
    assert_eq!(layers(&passage), handshake);
    assert_eq!(passage.delivered.iter().map(|packet| packet.inbound).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(log.lines(&host), ["connect to 0a000001:443, process 1000, context 1", "established with port 443"]);

    let sent = host.transfer(&passage, false, b"hello").expect("data");
    assert_eq!(sent.verdict, Verdict::Permit);
    assert_eq!(layers(&sent)[0], "STREAM_V4");
    assert_eq!(host.transfer(&passage, true, b"!bad").expect("data").verdict, Verdict::Block);
    host.disconnect(&passage).expect("an open connection");
    assert!(host.transfer(&passage, false, b"late").is_err());
    let lines = [
        "sends 'hello', 5 bytes, 5 of the flow",
        "receives '!bad', 4 bytes, 9 of the flow",
        "flow ends at layer 20 of callout 1 with 9 bytes",
    ];
    assert_eq!(log.lines(&host), lines);

    let refused = connect(&host, "10.0.0.1:23");
    assert_eq!(refused.verdict, Verdict::Block);
    assert_eq!(refused.delivered.len(), 0);
    assert_eq!(layers(&refused).last(), Some(&"ALE_AUTH_CONNECT_V4"));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_filter_sees_only_what_its_conditions_match_and_a_callout_redirects_it() {
    let host = start(0);
    let mut log = Log::default();
    log.lines(&host);
    let passage = connect(&host, "10.0.0.1:80");
    assert_eq!(passage.verdict, Verdict::Permit);
    assert_eq!(passage.redirected, Some(at("127.0.0.1:8080")));
    assert_eq!(log.lines(&host)[..2], ["redirect 80", "connect to 7f000001:8080, process 1000, context 1"]);
    assert_eq!(connect(&host, "10.0.0.1:81").redirected, None);
    assert_eq!(log.lines(&host)[0], "connect to 0a000001:81, process 1000, context 1");
    host.disconnect(&passage).expect("an open connection");
}

#[test]
fn a_pended_operation_is_authorized_again_when_it_is_completed() {
    let host = start(0);
    let mut log = Log::default();
    log.lines(&host);
    assert_eq!(connect(&host, "10.0.0.1:4000").verdict, Verdict::Permit);
    let lines = [
        "connect to 0a000001:4000, process 1000, context 1",
        "connect to 0a000001:4000, process 1000, context 1, again",
    ];
    assert_eq!(log.lines(&host)[..2], lines);
    assert_eq!(connect(&host, "10.0.0.1:4001").verdict, Verdict::Block);
}

#[test]
fn a_pended_classify_goes_on_with_what_the_callout_decides_later() {
    let host = start(0);
    let mut log = Log::default();
    log.lines(&host);
    let redirected = connect(&host, "10.0.0.7:80");
    assert_eq!(redirected.verdict, Verdict::Permit);
    assert_eq!(redirected.redirected, Some(at("127.0.0.1:8080")));
    assert_eq!(log.lines(&host)[..2], ["redirect 80", "connect to 7f000001:8080, process 1000, context 1"]);
    let refused = connect(&host, "10.0.0.8:80");
    assert_eq!(refused.verdict, Verdict::Block);
    assert_eq!(layers(&refused).last(), Some(&"ALE_CONNECT_REDIRECT_V4"));
    host.disconnect(&redirected).expect("an open connection");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_clone_is_injected_and_passes_as_the_drivers_own_packet() {
    let host = start(0);
    let mut log = Log::default();
    log.lines(&host);
    let passage = host.send_packet(query()).expect("a packet");
    assert_eq!(passage.verdict, Verdict::Absorb);
    let [delivered] = passage.delivered.as_slice() else { panic!("{passage:?}") };
    assert!(delivered.injected);
    assert!(!delivered.inbound);
    // The driver changes the time to live; the data of the original and of its clone are the same.
    assert_eq!(delivered.data[8], 63);
    assert_eq!(&delivered.data[28..], b"dns?".as_slice());
    let lines = log.lines(&host);
    let start = lines.iter().position(|line| line.starts_with("packet")).expect("the packet");
    assert_eq!(lines[start..], ["packet of 32 bytes, header 20", "injected: 0, context 7, 1"]);
    assert!(host.send_packet(Packet { data: b"no packet".to_vec(), inbound: true }).is_err());
    let again = host.passage(&passage).expect("the passage");
    assert_eq!(again.verdict, Verdict::Absorb);
    assert_eq!(again.delivered.len(), 0);
}

#[test]
fn traffic_that_reaches_no_callout_leaves_a_gap() {
    let host = start(0);
    let passage = host.connect(Connection::to(at("[fd00::1]:443"))).expect("a connection");
    assert_eq!(passage.verdict, Verdict::Permit);
    assert_eq!(passage.layers.len(), 10);
    let report = host.unload().expect("unload");
    assert_eq!(report.gaps().iter().map(|gap| gap.kind).collect::<Vec<_>>(), [GapKind::NotReached]);
    assert!(report.gaps()[0].detail.starts_with("the connection to [fd00::1]:443"), "{:?}", report.gaps());
}

/// Each mistake is found at the driver's line, and the driver without it is clean.
#[test]
fn mistakes_of_callout_drivers_are_found() {
    for (bug, rule, routine, detail) in [
        (1, Rule::ObjectLeak, None, "does not free a clone of a NET_BUFFER_LIST"),
        (2, Rule::DoubleFree, Some("FwpsFreeCloneNetBufferList0"), "frees a NET_BUFFER_LIST that is already freed"),
        (3, Rule::WfpMisuse, Some("FwpsInjectNetworkSendAsync0"), "injects a packet that it did not clone or allocate"),
        (4, Rule::RequestNever, Some("FwpsPendOperation0"), "never completes a classify that it pended"),
        (
            5,
            Rule::ObjectLeak,
            Some("FwpsCalloutRegister"),
            "leaves callout 6a7d1f02-0001-4a5b-9000-010203040506 registered",
        ),
        (6, Rule::IrqlTooHigh, Some("FwpsInjectionHandleCreate0"), "called at IRQL 2, allowed up to 0"),
        (7, Rule::WfpMisuse, Some("classifyFn"), "returns with a NET_BUFFER whose data start was moved"),
        (8, Rule::ObjectLeak, Some("FwpsReferenceNetBufferList0"), "does not release a reference to a NET_BUFFER_LIST"),
        (9, Rule::WfpMisuse, None, "acquires writable layer data and does not apply it"),
        (10, Rule::HandleLeak, None, "does not close a handle (filter engine session)"),
        (11, Rule::RequestNever, Some("FwpsPendClassify0"), "never completes a classify that it pended"),
        (
            12,
            Rule::ObjectLeak,
            Some("FwpsCalloutRegister"),
            "leaves callout 6a7d1f04-0001-4a5b-9000-010203040506 registered: flows have contexts of it, call FwpsFlowRemoveContext0",
        ),
        (13, Rule::BadFree, Some("FwpsFreeCloneNetBufferList0"), "frees a NET_BUFFER_LIST of the network stack"),
        (14, Rule::BadFree, Some("FwpsFreeNetBufferList0"), "frees a clone with the routine for other lists"),
        (15, Rule::WfpMisuse, Some("FwpsInjectNetworkSendAsync0"), "injects its own packets again and again"),
        (16, Rule::WfpMisuse, Some("classifyFn"), "changes the action without FWPS_RIGHT_ACTION_WRITE"),
        (17, Rule::WfpMisuse, Some("FwpmFilterAdd0"), "the layer OUTBOUND_IPPACKET_V4 has no field IP_REMOTE_PORT"),
        (18, Rule::RequestTwice, Some("FwpsCompleteOperation0"), "completes an operation that is not pended"),
        (19, Rule::HandleLeak, None, "does not close a handle"),
        (20, Rule::HandleLeak, None, "does not close a handle"),
        (21, Rule::ObjectLeak, Some("FwpsAcquireClassifyHandle0"), "does not release a classify handle"),
        (0, Rule::Host, None, ""),
    ] {
        let host = start(bug);
        host.send_packet(query()).expect("a packet");
        for remote in ["10.0.0.1:80", "10.0.0.1:443", "10.0.0.1:4000", "10.0.0.7:80"] {
            connect(&host, remote);
        }
        let report = host.unload().expect("unload");
        if bug == 0 {
            report.assert_clean();
            continue;
        }
        let of_rule: Vec<_> = report.findings_of(rule).collect();
        let found = of_rule.iter().find(|finding| finding.detail.starts_with(detail));
        let Some(found) = found else { panic!("BUG {bug}: {:#?}", report.findings()) };
        if routine.is_some() {
            assert_eq!(found.routine.as_deref(), routine, "BUG {bug}");
        }
    }
}

#[test]
fn a_driver_looks_up_and_lists_what_the_engine_has() {
    let host = |bug| {
        let image = build("wfp_lookup", bug, "DriverEntry", &["ntoskrnl", "fwpkclnt"]);
        NtHost::builder().driver(image).start().expect("DriverEntry")
    };
    host(0).unload().expect("unload").assert_clean();
    let report = host(1).unload().expect("unload");
    let [finding] = report.findings() else { panic!("{:?}", report.findings()) };
    assert_eq!(finding.rule, Rule::PoolLeak);
    assert_eq!(finding.routine.as_deref(), Some("FwpmFilterGetById0"));
}
