//! `top`, `flame`, `profile` and `processes` summarise a trace of the kernel.

use std::fs;
use std::path::PathBuf;

use crate::common::kernel::{KernelTrace, wide, words};
use crate::common::{etwctl, rows, scratch};
use etw_types::{EventDescriptor, Guid, Opcode};
use serde_json::{Value, json};

/// A trace with one process, which has one thread.
fn trace(name: &str) -> PathBuf {
    const OWNER: (u32, u32) = (500, 70);
    const IDLE: (u32, u32) = (0, 0);
    let mut trace = KernelTrace::new(1);
    // Base, size, process, checksum, time, reserved, default base, reserved, file name.
    let image =
        [words(&[0x40_0000, 0, 0x1000, 0, 500, 0, 0, 0, 0, 0, 0, 0, 0, 0]), wide("\\Device\\X\\a.exe")].concat();
    let file = [words(&[0x77, 0]), wide("\\Device\\X\\data.bin")].concat();
    // Disk, flags, size, reserved, offset, file object, IRP, time, thread.
    let read = words(&[0, 0, 4096, 0, 0, 0, 0x77, 0, 9, 0, 20_000, 0, 70]);
    let opened = [words(&[999_000, 0, 0xC000_0034, 0, 0x99, 0]), wide("Software")].concat();
    let sent = words(&[500, 1000, 0x0101_0101, 0x0202_0202, 0x5000_BB01, 0, 0, 0, 0, 0]);
    trace.process(1_000_001, 500, "a.exe");
    trace.event(0, 0x0501, 3, 1_000_002, OWNER, &words(&[500, 70]));
    trace.event(0, 0x140A, 2, 1_000_003, OWNER, &image);
    trace.event(0, 0x0400, 0, 1_000_004, OWNER, &file);
    trace.switch(0, 1_010_000, OWNER, 0, 1);
    trace.sample(0, 1_015_000, OWNER, 0x40_0010);
    trace.stack(0, 1_015_000, OWNER, &[0x40_0010, 0x40_0100]);
    trace.sample(0, 1_016_000, OWNER, 0x40_0020);
    // The thread ran for 2 ms. It waits for 3 ms, is then ready for 1 ms, and runs until the end, for 4 ms.
    trace.switch(0, 1_030_000, IDLE, 70, 5);
    trace.event(0, 0x0532, 2, 1_060_000, IDLE, &words(&[70, 0]));
    trace.switch(0, 1_070_000, OWNER, 0, 1);
    trace.event(0, 0x010A, 3, 1_080_000, OWNER, &read);
    trace.event(0, 0x090B, 2, 1_090_000, OWNER, &opened);
    trace.event(0, 0x060A, 2, 1_100_000, OWNER, &sent);
    // A DPC that began 0.1 ms before.
    trace.event(0, 0x0F44, 1, 1_110_000, IDLE, &words(&[1_109_000, 0, 0x40_0010, 0]));
    trace.write(name)
}

#[test]
fn processor_time_comes_from_samples_and_context_switches() {
    let path = trace("top-cpu.etl");
    let all = rows(&format!("top {} --json", path.display()));
    let found = all.as_array().unwrap().iter().find(|row| row["pid"] == 500).unwrap();
    let wanted = json!({
        "process": "a.exe", "pid": 500, "samples": 2, "run_ms": 6.0, "ready_ms": 1.0, "wait_ms": 3.0, "switches": 2, "percent": 100.0,
    });
    assert_eq!(found, &wanted);
    let threads = rows(&format!("top {} --by cpu --per thread --json", path.display()));
    assert!(threads.as_array().unwrap().iter().any(|row| row["tid"] == 70 && row["run_ms"] == 6.0), "{threads}");
    let modules = rows(&format!("top {} --by cpu --per module --json", path.display()));
    assert_eq!(modules, json!([{"process": "a.exe", "pid": 500, "module": "a.exe", "samples": 2, "percent": 100.0}]));
    let wrong = etwctl(&format!("top {} --by disk --per thread", path.display()));
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains("--per is for --by cpu"), "{}", wrong.err);
    fs::remove_file(path).unwrap();
}

#[test]
fn operations_are_summarised_by_process_and_object() {
    let path = trace("top-io.etl");
    for (topic, wanted) in [
        (
            "disk",
            json!({"process": "a.exe", "pid": 500, "disk": 0, "file": "\\Device\\X\\data.bin", "ms": 2.0, "longest_ms": 2.0, "reads": 1,
            "read_bytes": 4096, "writes": 0, "written_bytes": 0, "others": 0, "percent": 100.0}),
        ),
        (
            "registry",
            json!({"process": "a.exe", "pid": 500, "operation": "Open", "key": "Software", "count": 1, "failed": 1, "ms": 9.1,
            "longest_ms": 9.1, "percent": 100.0}),
        ),
        (
            "network",
            json!({"process": "a.exe", "pid": 500, "protocol": "TCP", "remote": "1.1.1.1:443", "bytes": 1000, "sent_bytes": 1000,
            "received_bytes": 0, "sends": 1, "receives": 0, "percent": 100.0}),
        ),
        (
            "images",
            json!({"image": "a.exe", "file": "\\Device\\X\\a.exe", "loads": 1, "bytes": 4096, "rundowns": 0, "percent": 100.0}),
        ),
        (
            "dpc",
            json!({"kind": "DPC", "routine": "0x400010", "ms": 0.1, "longest_ms": 0.1, "count": 1, "percent": 100.0}),
        ),
    ] {
        assert_eq!(rows(&format!("top {} --by {topic} --json", path.display())), json!([wanted]), "{topic}");
    }
    let nothing = etwctl(&format!("top {} --by memory", path.display()));
    assert_eq!(nothing.code, 0);
    assert!(nothing.err.contains("record hard page faults (MEMORY_HARD_FAULTS)"), "{}", nothing.err);
    for selected in ["--where pid=7", "--from +1s"] {
        let none = etwctl(&format!("top {} --by disk {selected}", path.display()));
        assert!(none.code == 0, "{}", none.err);
        assert!(none.err.contains("nothing of this is selected"), "{}", none.err);
    }
    let unknown = etwctl(&format!("top {} --by disk --where Nobody=7", path.display()));
    assert!(unknown.code == 2, "{}", unknown.err);
    assert!(unknown.err.contains("no event has 'Nobody'"), "{}", unknown.err);
    fs::remove_file(path).unwrap();
}

/// Microsoft-Windows-Kernel-Network.
const KERNEL_NETWORK: Guid = Guid::from_u128(0x7dd4_2a49_5329_4832_8dfd_43d9_7915_3a88);

#[test]
fn transfers_are_those_of_the_kernel_or_of_its_manifest_provider() {
    let mut trace = KernelTrace::new(1);
    trace.process(1_000_001, 500, "a.exe");
    // Process, size, addresses, ports in network byte order, and what is not counted. Another process's thread logs them.
    let sent = words(&[500, 1000, 0x0101_0101, 0x0202_0202, 0x5000_BB01, 0, 0, 0, 0]);
    let datagram = words(&[500, 300, 0x01, 0, 0, 0x0100_0000, 0, 0, 0, 0, 0x5000_3500, 0, 0]);
    trace.manifest(1_010_000, KERNEL_NETWORK, 10, (4, 8), &sent);
    trace.manifest(1_020_000, KERNEL_NETWORK, 59, (4, 8), &datagram);
    trace.manifest(1_030_000, KERNEL_NETWORK, 12, (4, 8), &sent);
    let row = |protocol: &str, remote: &str, numbers: [u64; 5], percent: f64| {
        let [bytes, sent_bytes, received_bytes, sends, receives] = numbers;
        json!({
            "process": "a.exe", "pid": 500, "protocol": protocol, "remote": remote, "bytes": bytes, "sent_bytes": sent_bytes,
            "received_bytes": received_bytes, "sends": sends, "receives": receives, "percent": percent,
        })
    };
    let wanted = json!([
        row("TCP", "1.1.1.1:443", [1000, 1000, 0, 1, 0], 76.9),
        row("UDP", "[100::1]:53", [300, 0, 300, 0, 1], 23.0),
    ]);
    let path = trace.write("network.etl");
    assert_eq!(rows(&format!("top {} --by network --json", path.display())), wanted);
    fs::remove_file(path).unwrap();

    // Two sessions in one file: each transfer counts once.
    trace.event(0, 0x060A, 2, 1_040_000, (500, 70), &[sent, words(&[0])].concat());
    let path = trace.write("network-both.etl");
    let run = etwctl(&format!("top {} --by network --json", path.display()));
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["rows"], wanted);
    assert!(run.err.contains("the transfers are those of Microsoft-Windows-Kernel-Network; 1 event"), "{}", run.err);
    fs::remove_file(path).unwrap();
}

#[test]
fn samples_become_a_flame_graph_and_profiles() {
    let path = trace("flame.etl");
    let folded = etwctl(&format!("flame {} --folded", path.display()));
    assert_eq!(folded.out, "a.exe (500);a.exe+0x100;a.exe+0x10 1\n", "{}", folded.err);
    let picture = etwctl(&format!("flame {}", path.display())).out;
    assert!(picture.starts_with("<svg "), "{picture}");
    assert!(picture.contains("<title>a.exe+0x10 (1, 100.00 %)</title>"), "{picture}");
    let profile: Value = serde_json::from_str(&etwctl(&format!("profile {}", path.display())).out).unwrap();
    let threads = profile["threads"].as_array().unwrap();
    let thread = threads.iter().find(|thread| thread["samples"]["length"] == 2).unwrap();
    assert_eq!(&thread["processName"], &json!("a.exe"));
    assert_eq!(&thread["pid"], &json!("500"));
    let strings = thread["stringArray"].as_array().unwrap();
    assert!(strings.contains(&json!("a.exe+0x100")), "frames and markers: {strings:?}");
    assert!(strings.contains(&json!("Read")), "frames and markers: {strings:?}");
    let out = scratch("flame.pb");
    let run = etwctl(&format!("profile {} --format pprof --output {}", path.display(), out.display()));
    assert!(run.err.contains("2 samples"), "{}", run.err);
    let bytes = fs::read(&out).unwrap();
    // The type of the first value, and the strings after all else but the times.
    assert_eq!(&bytes[..3], [0x0A, 4, 8]);
    assert!(bytes.windows(13).any(|window| window == b"\x32\x0ba.exe+0x100"), "a string of the table");
    fs::remove_file(out).unwrap();
    fs::remove_file(path).unwrap();
}

/// Microsoft-Windows-DotNETRuntime.
const DOTNET: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);

/// Two garbage collections, of 0.0050 ms and of 2 ms. The runtime writes each start in two versions.
fn collections(name: &str) -> PathBuf {
    let mut trace = KernelTrace::new(1);
    let mut event = |stamp: u64, opcode: Opcode, id: u16, version: u8, length: usize| {
        let descriptor = EventDescriptor { id, version, opcode, task: 1, ..EventDescriptor::default() };
        trace.described(stamp, DOTNET, descriptor, (500, 70), &vec![0; length]);
    };
    for (start, stop) in [(1_010_000, 1_010_050), (1_020_000, 1_040_000)] {
        event(start, Opcode::Start, 1, 1, 18);
        event(start + 1, Opcode::Start, 1, 2, 26);
        event(stop, Opcode::Stop, 2, 1, 10);
    }
    // One that does not end.
    event(1_050_000, Opcode::Start, 1, 1, 18);
    trace.write(name)
}

#[test]
fn an_activity_whose_start_has_two_versions_is_one() {
    let path = collections("collections.etl");
    let row = &rows(&format!("activities {} --json", path.display()))[0];
    assert_eq!(row["activity"], "GarbageCollection");
    assert_eq!([&row["count"], &row["open"]], [&json!(2), &json!(1)]);
    let times = ["min_ms", "max_ms", "total_ms"].map(|column| row[column].clone());
    assert_eq!(times, [json!(0.005), json!(2.0), json!(2.005)], "in milliseconds, as in `top`");
    fs::remove_file(path).unwrap();
}

#[test]
fn an_activity_is_selected_by_its_start_and_keeps_its_duration() {
    let path = collections("collections-selected.etl");
    // The range ends between the start and the stop of the second one.
    for selected in
        ["--from +1500us --to +3ms", "--from +1500us --to +3ms --where id=1", "--where cpu=0 --from +1500us --to +3ms"]
    {
        let all = rows(&format!("activities {} --json {selected}", path.display()));
        let row = &all[0];
        assert_eq!(
            [&row["count"], &row["open"], &row["max_ms"]],
            [&json!(1), &json!(0), &json!(2.0)],
            "{selected}: {all}"
        );
    }
    let wrong = etwctl(&format!("activities {} --where Nobody=1", path.display()));
    assert!(wrong.code == 2, "{}", wrong.err);
    assert!(wrong.err.contains("no event has 'Nobody'"), "{}", wrong.err);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_condition_does_not_change_whose_stacks_are_drawn() {
    const OWNER: (u32, u32) = (500, 70);
    const OTHER: (u32, u32) = (600, 80);
    let mut trace = KernelTrace::new(1);
    trace.sample(0, trace.at(10_000), OWNER, 0x10);
    trace.stack(0, trace.at(10_000), OWNER, &[0x10, 0x20]);
    for (after, owner) in [(20_000, OWNER), (30_000, OTHER)] {
        trace.switch(0, trace.at(after), owner, 0, 1);
        trace.stack(0, trace.at(after), owner, &[0x30, 0x40]);
    }
    let path = trace.write("flame-where.etl");
    let folded = |line: &str| etwctl(&format!("flame {} --folded {line}", path.display()));
    let sample = "process 500;0x20;0x10 1\n";
    assert_eq!(folded("").out, sample);
    assert_eq!(folded("--where pid=500").out, sample, "not the stacks of its switches");
    let none = folded("--where pid=600");
    assert_eq!(none.out, "", "it has no samples");
    assert!(none.err.contains("none of the trace's stacks is selected"), "{}", none.err);
    assert_eq!(folded("--event CSwitch --where pid=600").out, "process 600;0x40;0x30;CSwitch 1\n");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_sample_without_a_process_is_not_one_of_the_idle_process() {
    const NOBODY: (u32, u32) = (u32::MAX, u32::MAX);
    let mut trace = KernelTrace::new(1);
    trace.process(trace.at(1), 0, "Idle");
    trace.sample(0, trace.at(10_000), NOBODY, 0x10);
    let path = trace.write("nobody.etl");
    let file = path.display();
    let row = &rows(&format!("top {file} --json"))[0];
    assert_eq!([&row["process"], &row["pid"]], [&Value::Null, &Value::Null]);
    let profile: Value = serde_json::from_str(&etwctl(&format!("profile {file}")).out).unwrap();
    let threads = profile["threads"].as_array().unwrap();
    let thread = threads.iter().find(|thread| thread["samples"]["length"] == 1).unwrap();
    assert_eq!(thread["processName"], "(unknown process)");
    let chrome: Value =
        serde_json::from_str(&etwctl(&format!("decode {file} --chrome --event SampleProfile")).out).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    assert!(events.iter().all(|event| event["pid"] == -1), "{chrome}");
    let out = scratch("nobody.pb");
    assert_eq!(etwctl(&format!("profile {file} --format pprof --output {}", out.display())).code, 0);
    let bytes = fs::read(&out).unwrap();
    assert!(bytes.windows(17).any(|window| window == b"(unknown process)"), "the name of the process");
    fs::remove_file(out).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn processes_are_listed_and_events_selected_by_their_names() {
    let path = trace("processes.etl");
    let all = rows(&format!("processes {} --json", path.display()));
    assert_eq!(all[0]["name"], "a.exe");
    assert_eq!(&all[0]["parent"], &json!(4));
    assert_eq!(&all[0]["session"], &json!(1));
    assert_eq!(&all[0]["command_line"], &json!("a -x"));
    assert_eq!(all[0]["services"], Value::Null, "the trace does not say it");
    let count = |line: &str| {
        let run = etwctl(&format!("decode {} --json {line}", path.display()));
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        run.out.lines().count()
    };
    assert_eq!(count("--where file~data.bin"), 2, "the name and the read");
    assert_eq!(count("--where process=a.exe&&TransferSize>=4KiB"), 1);
    assert_eq!(count("--where event=Read||event=Open"), 2);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_part_of_a_trace_keeps_what_describes_its_events() {
    let path = trace("trim.etl");
    let part = scratch("part.etl");
    // From 1 ms on, which is after the events of processes, images and names; up to 2 ms.
    let run = etwctl(&format!("trim {} --from +1ms --to +2ms --output {}", path.display(), part.display()));
    assert_eq!(run.code, 0, "{}", run.err);
    let lines = |path: &PathBuf, more: &str| -> Vec<Value> {
        let run = etwctl(&format!("decode {} --json {more}", path.display()));
        assert_eq!(run.code, 0, "{}", run.err);
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let samples = lines(&part, "--event SampleProfile");
    assert_eq!(samples.len(), 2);
    assert_eq!(samples, lines(&path, "--event SampleProfile"), "with process, time and stack");
    assert_eq!(samples[0]["frames"], json!(["a.exe+0x10", "a.exe+0x100"]));
    assert!(lines(&part, "").iter().all(|event| event["event"] != "Read"), "it is later");
    let again = etwctl(&format!("trim {} --output {}", part.display(), part.display()));
    assert_eq!(again.code, 2, "the input is not replaced: {}", again.err);
    let whole = scratch("whole.etl");
    // A file with a similar name is not touched, and nothing is left beside the output.
    let folder = scratch("trimmed");
    fs::create_dir(&folder).unwrap();
    let output = folder.join("part.etl");
    let other = folder.join("part.etl.partial");
    fs::write(&other, "other").unwrap();
    assert_eq!(etwctl(&format!("trim {} --output {}", path.display(), output.display())).code, 0);
    let refused = etwctl(&format!("trim {} {} --output {}", path.display(), other.display(), output.display()));
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert_eq!(fs::read(&other).unwrap().as_slice(), b"other".as_slice(), "{}", refused.err);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    fs::remove_dir_all(&folder).unwrap();
    if cfg!(target_os = "linux") {
        let full = etwctl(&format!("trim {} --output /dev/full", path.display()));
        assert!(full.code == 2, "{}", full.err);
        assert!(full.err.contains("cannot write /dev/full: "), "{}", full.err);
    }
    let header = |path: &PathBuf| etw_etl::Reader::open(path).unwrap().header().clone();
    assert_eq!(header(&part).file_name, part.to_str().unwrap());
    assert_eq!(etwctl(&format!("trim {} {} --output {}", path.display(), part.display(), whole.display())).code, 0);
    assert_eq!(lines(&whole, "--event SampleProfile").len(), 4, "two traces of one clock are merged");
    for file in [path, part, whole] {
        fs::remove_file(file).unwrap();
    }
}
