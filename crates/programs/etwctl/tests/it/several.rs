//! Several traces of one machine share the names of processes, threads and images.

use std::fs;
use std::path::PathBuf;

use crate::common::kernel::{KernelTrace, wide, words};
use crate::common::{etwctl, rows};
use etw_etl::FileTime;
use etw_types::Guid;
use serde_json::{Value, json};

const OWNER: (u32, u32) = (500, 70);
const USER: Guid = Guid::from_u128(0x1234_5678);

/// The processes, threads and images of a machine.
fn described(name: &str) -> PathBuf {
    let mut trace = KernelTrace::new(1);
    trace.process(trace.at(1), 500, "a.exe");
    trace.thread(trace.at(2), 500, 70);
    let image =
        [words(&[0x40_0000, 0, 0x1000, 0, 500, 0, 0, 0, 0, 0, 0, 0, 0, 0]), wide("\\Device\\X\\a.exe")].concat();
    trace.event(0, 0x1403, 2, trace.at(3), OWNER, &image);
    trace.write(name)
}

/// Samples of a thread whose process and image another trace describes.
fn samples(name: &str) -> PathBuf {
    let mut trace = KernelTrace::new(1);
    for after in [10_000, 20_000, 30_000] {
        // The headers of samples have no process and no thread.
        trace.event(0, 0x0F2E, 2, trace.at(after), (u32::MAX, u32::MAX), &words(&[0x40_0010, 0, 70, 1]));
    }
    trace.write(name)
}

/// An event of a program, with another clock.
fn user(name: &str, boot_time: Option<FileTime>) -> PathBuf {
    let mut trace = KernelTrace::of_system_time(1);
    trace.boot_time = boot_time.unwrap_or(trace.boot_time);
    trace.manifest(trace.at(40_000), USER, 1, OWNER, &[]);
    trace.write(name)
}

/// The processes of the program's events.
fn processes(files: &str) -> Vec<Value> {
    let run = etwctl(&format!("decode {files} --json"));
    assert_eq!(run.code, 0, "{}", run.err);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["provider_id"] == USER.to_string()).map(|event| event["process"].clone()).collect()
}

#[test]
fn traces_of_one_machine_share_names_and_threads() {
    let files = [described("several-kernel.etl"), samples("several-samples.etl"), user("several-user.etl", None)];
    let names = files.each_ref().map(|file| file.display().to_string());
    let all = names.join(" ");
    assert_eq!(processes(&all), [json!("a.exe")]);
    assert_eq!(processes(&names[2]), [json!(null)], "alone it has no names");

    let top = rows(&format!("top {all} --per module --json"));
    assert_eq!(top, json!([{"process": "a.exe", "pid": 500, "module": "a.exe", "samples": 3, "percent": 100.0}]));
    let listed = rows(&format!("processes {all} --json"));
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(&listed[0]["name"], &json!("a.exe"), "{listed}");
    let profile: Value = serde_json::from_str(&etwctl(&format!("profile {all}")).out).unwrap();
    let threads = profile["threads"].as_array().unwrap();
    assert!(
        threads.iter().any(|thread| thread["processName"] == "a.exe" && thread["samples"]["length"] == 3),
        "{threads:?}"
    );
    let stats: Value = serde_json::from_str(&etwctl(&format!("stats {all} --json")).out).unwrap();
    let alone = names.each_ref().map(|name| {
        let stats: Value = serde_json::from_str(&etwctl(&format!("stats {name} --json")).out).unwrap();
        ["events", "buffers", "bytes"].map(|member| stats[member].as_u64().unwrap())
    });
    for (place, member) in ["events", "buffers", "bytes"].into_iter().enumerate() {
        let sum: u64 = alone.iter().map(|numbers| numbers[place]).sum();
        assert_eq!(stats[member], sum, "{member}");
    }
    assert_eq!(stats["processors"], 1, "the same in all files");
    for file in &files {
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn traces_of_different_machines_share_nothing() {
    let files = [described("machine-one.etl"), user("machine-two.etl", Some(FileTime(133_594_000_000_000_000)))];
    let all = files.each_ref().map(|file| file.display().to_string()).join(" ");
    assert_eq!(processes(&all), [json!(null)]);
    let run = etwctl(&format!("top {all}"));
    assert!(run.err.contains("machine-two.etl has another boot time than "), "{}", run.err);
    for file in &files {
        fs::remove_file(file).unwrap();
    }
}
