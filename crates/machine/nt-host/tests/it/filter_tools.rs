//! The tools for drivers do for minifilters and callout drivers what they do for others: the fuzzer, the failure matrix, stacks.

use std::path::{Path, PathBuf};

use nt_host::{Connection, Event, Fuzz, Harvest, Matrix, NtHost, Packet};

use crate::common::c;

const MINIFILTER: [&str; 2] = ["ntoskrnl", "fltMgr"];
const CALLOUT: [&str; 3] = ["ntoskrnl", "fwpkclnt", "ndis"];

fn minifilter(name: &str, bug: u32) -> PathBuf {
    c::build(name, bug, "DriverEntry", &MINIFILTER)
}

fn callout(name: &str, bug: u32) -> PathBuf {
    c::build(name, bug, "DriverEntry", &CALLOUT)
}

/// A datagram to port 53 of 10.0.0.1.
fn dns_query() -> Packet {
    let mut data = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    data.extend(b"\xC0\0\0\x35\0\x0C\0\0dns?");
    Packet { data, inbound: false }
}

fn fuzz(driver: &Path, executions: u64) -> Harvest {
    Fuzz::new(NtHost::builder().driver(driver)).seed(1).executions(executions).run().expect("a session")
}

/// It also redirects and pends connections, keeps contexts of flows, and injects clones of packets.
#[test]
fn a_callout_driver_without_mistakes_has_no_findings() {
    let harvest = fuzz(&callout("wfp_callout", 0), 500);
    harvest.assert_clean();
    let (blocks, hits) = harvest.blocks;
    assert!(hits * 4 > blocks * 3, "{hits} of {blocks} blocks of code ran");
}

/// It also pends operations, keeps contexts and asks its client.
#[test]
fn a_minifilter_without_mistakes_has_no_findings() {
    let harvest = fuzz(&minifilter("filter", 0), 900);
    harvest.assert_clean();
    let (blocks, hits) = harvest.blocks;
    assert!(hits * 4 > blocks * 3, "{hits} of {blocks} blocks of code ran");
}

#[test]
fn the_matrix_makes_each_call_of_a_filter_fail() {
    let files = |host: &NtHost| {
        host.load()?;
        let volume = host.volume();
        if let Ok(file) = volume.create(r"\dir\a.txt") {
            file.write(0, b"text")?;
            file.read(0, 4)?;
            file.rename(r"\dir\b.txt")?;
            file.delete()?;
            file.close()?;
        }
        host.unload().map(drop)
    };
    let builder = NtHost::builder().driver(minifilter("filter", 0)).volume_file(r"\dir\slow.txt", "slowly");
    let survey = Matrix::new(builder).seeds(6).run(files).expect("a driver without failures");
    survey.assert_clean();
    assert!(survey.failures > 8, "{survey}");

    let traffic = |host: &NtHost| {
        host.load()?;
        let connection = host.connect(Connection::to(([10, 0, 0, 1], 443).into()))?;
        let _ = host.transfer(&connection, false, b"data");
        let _ = host.disconnect(&connection);
        host.unload().map(drop)
    };
    let builder = NtHost::builder().driver(callout("wfp_callout", 0));
    let survey = Matrix::new(builder).seeds(6).run(traffic).expect("a driver without failures");
    survey.assert_clean();
    assert!(survey.failures > 8, "{survey}");

    let packet = |host: &NtHost| {
        host.load()?;
        host.send_packet(dns_query())?;
        host.unload().map(drop)
    };
    let builder = NtHost::builder().driver(callout("fuzz_callout", 0));
    let survey = Matrix::new(builder).seeds(6).run(packet).expect("a driver without failures");
    survey.assert_clean();
    assert!(survey.failures > 5, "{survey}");
}

/// The events that a callback writes have its stack.
#[test]
fn events_of_filters_have_their_stacks() {
    let functions = |host: &NtHost| -> Vec<Vec<String>> {
        let stack = |event: &Event| {
            let frames = event.stack().unwrap_or_default();
            frames.iter().filter_map(|frame| host.locate(*frame)?.symbol).collect()
        };
        host.trace().events().expect("events").iter().map(stack).collect()
    };
    let host =
        NtHost::builder().driver(minifilter("fuzz_filter", 0)).trace_all().stacks().start().expect("DriverEntry");
    host.volume().create(r"\a.txt").expect("a file").close().expect("a close");
    assert_eq!(functions(&host), [["KeepName", "PreCreate"]]);
    host.unload().expect("unload").assert_clean();

    let host = NtHost::builder().driver(callout("fuzz_callout", 0)).trace_all().stacks().start().expect("DriverEntry");
    host.send_packet(dns_query()).expect("a packet");
    assert_eq!(functions(&host), [["LookAtMessage", "Classify"]]);
    host.unload().expect("unload").assert_clean();
}
