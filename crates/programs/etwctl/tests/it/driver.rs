//! `record --driver`: the sample driver is recorded live and to a file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{etwctl, etwctl_limited, scratch};
use serde_json::{Value, json};

const PROVIDER: &str = "WdkEtw.DriverSample";
const ECHO: &str = "--ioctl 22E000:68656c6c6f";

/// The sample that `cargo xtask build` made.
fn sample() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let path = root.join("target/driver/x64/driver_sample.sys");
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn the_trace_never_replaces_the_driver_or_its_symbols() {
    let folder = scratch("replaced");
    fs::create_dir_all(&folder).expect("a folder");
    let driver = folder.join("driver_sample.sys");
    fs::copy(sample(), &driver).expect("a copy");
    for extension in ["sys", "map"] {
        let file = driver.with_extension(extension);
        fs::copy(sample().with_extension(extension), &file).expect("a copy");
        let before = fs::read(&file).expect("the file");
        let line = format!("record {PROVIDER} --driver {} --etl {}", driver.display(), file.display());
        let run = etwctl(&line);
        assert_eq!(run.code, 2, "{line}: {}", run.err);
        assert!(run.err.contains(" is the input "), "{line}: {}", run.err);
        assert!(fs::read(&file).expect("the file") == before, "{line}");
    }
    fs::remove_dir_all(folder).expect("the folder");
}

#[test]
fn what_a_full_disk_lost_of_a_driver_is_reported() {
    let file = scratch("driver-full.etl");
    let line = format!("record {PROVIDER} --driver {} {ECHO} --etl {}", sample().display(), file.display());
    let run = etwctl_limited(&line, 1);
    assert_eq!(run.code, 4, "{}", run.err);
    assert!(run.err.contains("not written: cannot write "), "the cause comes from the driver's process: {}", run.err);
    assert_eq!(etwctl(&format!("decode {}", file.display())).code, 4);
    fs::remove_file(file).expect("the file was written");
}

#[test]
fn a_driver_is_recorded_live_and_to_a_file_with_the_same_events() {
    let file = scratch("driver.etl");
    let live = etwctl(&format!(
        "record {PROVIDER} --driver {} {ECHO} --ioctl 222FFC --live --json --etl {}",
        sample().display(),
        file.display()
    ));
    assert_eq!(live.code, 0, "{}", live.err);
    assert!(live.err.contains("request 0022E000: 0x00000000 STATUS_SUCCESS, 5 bytes: 68656c6c6f"), "{}", live.err);
    assert!(live.err.contains("request 00222FFC: 0xC0000010 STATUS_INVALID_DEVICE_REQUEST"), "{}", live.err);
    assert!(live.err.contains("0 events and 0 buffers lost"), "{}", live.err);
    let decoded = etwctl(&format!("decode {} --json --provider {PROVIDER}", file.display()));
    assert_eq!(decoded.code, 0, "{}", decoded.err);
    let events = lines(&live.out);
    // Live events are not sorted: the buffers of two processors can arrive at different times. Only a file is in order.
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&live.out), sorted(&decoded.out), "times included");
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    for name in ["Enable", "DriverEntry", "DeviceAdd", "Request", "Tick", "DriverUnload"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let requests = etwctl(&format!("decode {} --where event=Request --where Code=0x22E000 --json", file.display()));
    assert_eq!(requests.out.lines().count(), 1, "{}", requests.out);
    let stats = etwctl(&format!("stats {} --json", file.display()));
    let stats: Value = serde_json::from_str(&stats.out).expect("JSON");
    assert_eq!(stats["events_lost"], 0);
    fs::remove_file(file).expect("the file was written");
}

/// The event of the sample's manifest is decoded with the resources of the image, without the manifest.
#[test]
fn a_manifest_event_is_decoded_with_the_image_alone() {
    let driver = sample();
    let file = scratch("admin.etl");
    let provider = "6b8f0f5e-6a0d-4f57-8b0c-9d4c2d1f7a31";
    let run = etwctl(&format!("record {provider} --driver {} --etl {}", driver.display(), file.display()));
    assert_eq!(run.code, 0, "{}", run.err);
    let decode = |options: &str| {
        let decoded = etwctl(&format!("decode {} --provider {provider} --json {options}", file.display()));
        assert_eq!(decoded.code, 0, "{}", decoded.err);
        let events = lines(&decoded.out);
        assert_eq!(events.len(), 1, "{}", decoded.out);
        events[0].clone()
    };
    let event = decode(&format!("--manifest {}", driver.display()));
    assert_eq!(event["provider"], "WdkEtw-DriverSample-Admin");
    assert_eq!(event["event"], "Driver/Start");
    assert_eq!(event["channel"], 16);
    assert_eq!(event["keyword"], "0x8000000000000001");
    assert_eq!(event["fields"]["Tracing"], "0x00000000 STATUS_SUCCESS");
    assert_eq!(
        event["message"],
        "driver_sample 0.1.0 was loaded. Registering its tracing provider returned 0x00000000 STATUS_SUCCESS."
    );
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let manifest = manifest.join("driver-sample/driver_sample.man");
    assert_eq!(decode(&format!("--manifest {}", manifest.display())), event, "as with the manifest");
    assert!(decode("")["fields"].as_object().is_none_or(serde_json::Map::is_empty), "nothing else describes it");
    // The driver has its binary tracked, so the trace names the file that describes the event.
    let note = format!(
        "1 event of {provider} has no schema; the trace says that it is in driver_sample.sys: pass --manifest with this file"
    );
    for command in ["decode --json", "stats"] {
        let (command, options) = command.split_once(' ').unwrap_or((command, ""));
        let run = etwctl(&format!("{command} {} {options}", file.display()));
        assert!(run.err.contains(&note), "{command}: {}", run.err);
    }
    let decoded = etwctl(&format!("decode {} --json --where event=ProviderBinaryPath", file.display()));
    let fields = json!({ "GuidCount": 1, "Guid": [provider], "BinaryPath": "driver_sample.sys" });
    assert_eq!(lines(&decoded.out)[0]["fields"], fields, "{}", decoded.out);
    fs::remove_file(file).expect("the file was written");
}

#[test]
fn the_windows_that_the_driver_finds_can_be_chosen_and_time_can_stand_still() {
    let path = sample();
    let count = |options: &str, event: &str| {
        let run = etwctl(&format!("record {PROVIDER} --driver {} --json {options}", path.display()));
        assert_eq!(run.code, 0, "{}", run.err);
        lines(&run.out).iter().filter(|line| line["event"] == event).count()
    };
    assert_eq!(count("--os win10-1803", "DriverEntry"), 1);
    assert_eq!(count("--advance 0", "Tick"), 0);
    assert_eq!(count("--advance 10.5s", "Tick"), 10);
    assert_eq!(count("--level warning", "DriverEntry"), 0);
}

#[test]
fn a_provider_that_the_driver_does_not_have_is_detected() {
    let run = etwctl(&format!("record WdkEtw.DriverSampel --driver {}", sample().display()));
    assert_eq!(run.code, 0, "{}", run.err);
    let id = etw_types::Guid::from_name(PROVIDER);
    assert!(run.err.contains("note: the driver did not register provider 'WdkEtw.DriverSampel'"), "{}", run.err);
    assert!(run.err.contains(&format!("it registered {id}")), "{}", run.err);
}

#[test]
fn mistakes_about_drivers_are_named() {
    let path = sample();
    let path = path.display();
    for (line, code, message) in [
        (format!("record --driver {path}"), 2, "record needs a provider"),
        (format!("record P --driver {path} --demo"), 2, "cannot be used with"),
        (format!("record P --driver {path} --ioctl me"), 2, "'me' is not a control code in hexadecimal"),
        (format!("record P --driver {path} --os vista"), 2, "unknown Windows release `vista`: expected one of win7"),
        ("record P --driver no-such.sys".to_owned(), 2, "no-such.sys: "),
        ("record P --driver Cargo.toml".to_owned(), 2, "Cargo.toml: "),
        ("record P --ioctl 222000".to_owned(), 2, "--driver <FILE>"),
    ] {
        let run = etwctl(&line);
        assert_eq!(run.code, code, "{line}: {}", run.err);
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
}

#[test]
fn a_driver_that_is_not_exercised_is_incomplete_and_one_that_is_not_loaded_is_refused() {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crates").join("machine/nt-host/drivers");
    let folder =
        test_support::images::build_all(&workspace, "nt-host-drivers", false).expect("drivers without a device");
    // The name keeps the driver from making its mistake. It has no device.
    let driver = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pool_leak_clean.sys");
    fs::copy(folder.join("pool_leak.exe"), &driver).expect("a copy of the driver");
    let line = format!("record P --driver {}", driver.display());
    let run = etwctl(&line);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = etwctl(&format!("{line} --ioctl 222000"));
    assert_eq!(run.code, 4, "{}", run.err);
    let gap = "gap: not-reached: request 00222000 did not reach the driver: there is no device";
    assert!(run.err.contains(gap), "{}", run.err);
    assert!(run.err.contains("error: the driver under test: the run is incomplete: 1 gap"), "{}", run.err);
    // This Windows lacks a routine that the driver imports.
    let run = etwctl(&format!("{line} --os win7"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("error: the driver under test: not loaded"), "{}", run.err);
}

#[test]
fn a_driver_that_stops_its_machine_is_reported_and_its_trace_is_kept() {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crates").join("machine/nt-host/drivers");
    let folder = test_support::images::build_all(&workspace, "nt-host-drivers", false).expect("drivers with mistakes");
    let driver = folder.join("traced_crash.exe");
    let file = scratch("crash.etl");
    // The id that the driver registers: constant bytes in its memory.
    let provider = "ddeeff01-bbcc-99aa-8877-665544332211";
    let line = format!("record {provider} --driver {} --live --json --etl {}", driver.display(), file.display());
    let run = etwctl(&line);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.err.contains("finding: access-violation: "), "{}", run.err);
    assert!(run.err.contains("error: the driver under test: 1 finding"), "{}", run.err);
    assert_eq!(lines(&run.out).len(), 1, "the event before: {}", run.err);
    let decoded = etwctl(&format!("decode {} --json --provider {provider}", file.display()));
    assert_eq!(decoded.code, 0, "{}", decoded.err);
    assert_eq!(decoded.out, run.out, "{}", decoded.err);
    fs::remove_file(file).expect("the file was written");
}
