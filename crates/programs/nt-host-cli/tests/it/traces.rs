//! The events of a run: in the text, in JSON, in the trace file, with the stacks of each.

use std::process::Command;

use etw_etl::{Exporter, Format};
use nt_host::NtHost;
use test_support::drivers::built;
use test_support::drivers::c::build_at;

/// Text, JSON and HTML have function, offset, file and line.
#[test]
fn every_form_of_a_trace_names_functions_and_lines() {
    let image = build_at("-O0", "stacks", 0, "DriverEntry", &["ntoskrnl"]);
    let source = include_str!("../../../../machine/nt-host/drivers/c/stacks.c");
    let line = (1..).zip(source.lines()).find(|(_, line)| line.contains("EtwWrite(")).map_or(0, |(number, _)| number);
    let run = |format: &[&str]| {
        let command =
            Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&image).arg("--stacks").args(format).output();
        String::from_utf8(command.expect("the command").stdout).expect("text")
    };
    let is_named = |frame: &str| frame.starts_with("Write+0x") && frame.ends_with(&format!("stacks.c:{line})"));
    let text = run(&[]);
    let stacks = text.split_once("\nstacks\n").expect("stacks").1;
    assert!(stacks.lines().any(|frame| is_named(frame.trim())), "{stacks}");
    let report: serde_json::Value = serde_json::from_str(&run(&["--json"])).expect("JSON");
    let frames = report["events"][0]["frames"].as_array().expect("frames");
    assert!(frames[0].as_str().is_some_and(is_named), "{frames:?}");

    let host = NtHost::builder().driver(&image).trace_all().stacks().start().expect("DriverEntry");
    let mut page = Exporter::new(Vec::new(), Format::Html).expect("a page").with_decoder(host.decoder());
    host.trace().visit(|event| page.event(&event).expect("memory")).expect("events");
    let page = String::from_utf8(page.finish().expect("memory")).expect("text");
    assert!(page.contains("\"Write+0x"), "{page}");
    assert!(page.contains(&format!("stacks.c:{line})\"")), "{page}");
}

#[test]
fn the_trace_file_holds_the_events_that_were_shown() {
    let path = std::env::temp_dir().join(format!("nt-host-{}.etl", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host"))
        .arg("run")
        .arg(built("driver_sample.sys"))
        .arg("--etl")
        .arg(&path)
        .output()
        .expect("the command");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reader = etw_etl::Reader::open(&path).expect("a trace file");
    let events: Vec<String> =
        reader.filter(etw_etl::Event::is_trace_logging).map(|event| event.decode().to_string()).collect();
    std::fs::remove_file(&path).expect("the file is there");
    assert!(events.iter().any(|event| event.starts_with("WdkEtw.DriverSample/DriverEntry")), "{events:#?}");
    assert!(events.iter().any(|event| event.contains("Tick") && event.contains("Ticks=2")), "{events:#?}");
}

#[test]
fn an_event_of_the_manifest_is_decoded_by_the_image_and_its_stack_has_names() {
    let run = |json: &[&str]| {
        let image = built("driver_sample.sys");
        let arguments = ["run".as_ref(), image.as_os_str(), "--no-device".as_ref(), "--stacks".as_ref()];
        let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).args(arguments).args(json).output().expect("nt-host");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = run(&[]);
    assert!(!text.contains("raw="), "{text}");
    assert!(text.contains("\nstacks\n  event 1\n"), "{text}");
    assert!(text.contains("(src/") || text.contains(".rs:"), "{text}");
    let json = run(&["--json"]);
    assert!(json.contains("\"frames\":["), "{json}");
}
