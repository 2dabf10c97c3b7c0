//! A framework driver that is also a callout driver and a minifilter. [`steps`] also runs on Microsoft's framework.

use nt_host::{Builder, Connection, Error, Fuzz, Matrix, NtHost, Passage, Rule, Verdict};

use crate::common::c::{FRAMEWORK, build};

const LIBRARIES: [&str; 3] = ["fwpkclnt", "ndis", "fltMgr"];
const BLOCK_PORT: u32 = 0x0022_2000;
const COUNT_FLOWS: u32 = 0x0022_2004;

/// Returns a builder for the driver, with files that it filters.
pub(crate) fn builder(bug: u32) -> Builder {
    let image = build("kmdf_filters", bug, "FxDriverEntry", &[&FRAMEWORK[..], &LIBRARIES].concat());
    NtHost::builder().driver(image).volume_file(r"\dir\a.txt", "hello").volume_file(r"\dir\b.secret", "secret")
}

fn connect(host: &NtHost, remote: &str) -> Result<Passage, Error> {
    host.connect(Connection::to(remote.parse().expect("an address")))
}

/// Lets the driver decide about connections and files, between load and unload. Returns what the clients see.
pub(crate) fn steps(host: &NtHost) -> Result<Vec<String>, Error> {
    let mut results = Vec::new();
    let control = host.open(r"\Device\KmdfFilters")?;
    results.push(control.ioctl(BLOCK_PORT, &23_u16.to_le_bytes(), 0)?.status.to_string());
    results.push(control.ioctl(BLOCK_PORT, &[], 0)?.status.to_string());
    for length in [8, 2] {
        let read = control.read(length)?;
        results.push(format!("{} {:?}", read.status, read.output));
    }
    for remote in ["10.0.0.1:23", "10.0.0.1:4000", "10.0.0.1:443"] {
        let passage = connect(host, remote)?;
        results.push(format!("{remote}: {:?}", passage.verdict));
        if passage.verdict == Verdict::Permit {
            results.push(format!("{:?}", host.transfer(&passage, false, b"hello")?.verdict));
        }
    }
    let flows = |results: &mut Vec<String>| -> Result<(), Error> {
        results.push(format!("flows: {:?}", control.ioctl(COUNT_FLOWS, &[], 4)?.output));
        Ok(())
    };
    flows(&mut results)?;
    let closed = connect(host, "10.0.0.1:80")?;
    flows(&mut results)?;
    host.disconnect(&closed)?;
    flows(&mut results)?;
    for path in [r"\dir\a.txt", r"\dir\b.secret"] {
        let opened = host.volume().open(path).and_then(|file| {
            let read = file.read(0, 64)?;
            file.close()?;
            Ok(read.output)
        });
        results.push(format!("{path}: {opened:?}"));
    }
    control.close()?;
    Ok(results)
}

#[test]
fn a_framework_driver_filters_connections_and_files() {
    let host = builder(0).start().expect("DriverEntry");
    let results = steps(&host).expect("the steps");
    let expected = [
        "0x00000000 STATUS_SUCCESS",
        "0xC0000023 STATUS_BUFFER_TOO_SMALL",
        "0x00000000 STATUS_SUCCESS [97, 98, 99]",
        "0xC0000023 STATUS_BUFFER_TOO_SMALL []",
        "10.0.0.1:23: Block",
        "10.0.0.1:4000: Permit",
        "Permit",
        "10.0.0.1:443: Permit",
        "Permit",
        "flows: [2, 0, 0, 0]",
        "flows: [3, 0, 0, 0]",
        "flows: [2, 0, 0, 0]",
        r"\dir\a.txt: Ok([104, 101, 108, 108, 111])",
    ];
    assert_eq!(results[..expected.len()], expected);
    assert!(results.last().is_some_and(|last| last.contains("STATUS_ACCESS_DENIED")), "{results:?}");
    let report = host.unload().expect("unload");
    report.assert_clean();
    // Two flows are open when the driver goes: the filter manager asks first, then the framework.
    let end: Vec<&str> = report.output().lines().rev().take(4).collect();
    assert_eq!(end, ["flow ends after 5 bytes", "flow ends after 5 bytes", "unload", "filter unload"]);
}

#[test]
fn contexts_that_a_framework_driver_keeps_are_found() {
    let host = builder(1).start().expect("DriverEntry");
    connect(&host, "10.0.0.1:443").expect("a connection");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::ObjectLeak).map(|finding| finding.detail.as_str()).collect();
    assert!(found.iter().any(|detail| detail.contains("call FwpsFlowRemoveContext0")), "{found:#?}");
}

#[test]
fn the_matrix_and_the_fuzzer_find_nothing_in_it() {
    let survey = Matrix::new(builder(0)).seeds(4).run(|host| {
        host.load()?;
        let done = steps(host).map(drop);
        host.unload()?;
        match done {
            // What a failed call takes away: a connection, a file, the device.
            Err(Error::Status(_) | Error::Usage(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    });
    let survey = survey.expect("a driver without failures");
    survey.assert_clean();
    assert!(survey.failures > 10, "{survey}");
    let harvest = Fuzz::new(builder(0)).seed(1).executions(400).run().expect("a session");
    harvest.assert_clean();
}
