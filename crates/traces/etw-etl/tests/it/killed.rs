//! A process that is killed while it writes leaves a trace that is readable up to its last buffer.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::{folder, options, write};
use etw_etl::{Event, Reader, Writer};

const CHILD: &str = "ETW_ETL_KILLED_CHILD";

/// The child process: writes far more events than the test waits for, and reports when there are enough.
fn write_until_killed() {
    let path = folder("killed").join("a.etl");
    let mut writer = Writer::create(path, options()).unwrap();
    for number in 0..5_000_000_u32 {
        write(&mut writer, 0, 1_000_000 + u64::from(number), "E", |builder| builder.u32("n", number));
        if number == 5000 {
            println!("enough");
        }
    }
}

#[test]
fn a_killed_process_leaves_a_trace_that_decodes_up_to_its_last_buffer() {
    if std::env::var_os(CHILD).is_some() {
        write_until_killed();
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::a_killed_process_leaves_a_trace_that_decodes_up_to_its_last_buffer", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("enough")));
    child.kill().unwrap();
    child.wait().unwrap();

    let mut reader = Reader::open(folder("killed").join("a.etl")).unwrap();
    // The kill may have truncated the last buffer, but no other.
    let report = reader.report().clone();
    assert!(report.losses.len() <= 1, "{report}");
    assert!(report.losses.iter().all(|loss| loss.offset / 1024 + 1 >= report.buffers), "{report}");
    let written = u64::from(reader.header().buffers_written);
    assert!(
        (report.buffers.saturating_sub(1)..=report.buffers).contains(&written),
        "the header is one buffer behind at most"
    );
    let mut events = 0;
    for event in reader.by_ref().filter(Event::is_trace_logging) {
        assert_eq!(event.decode().fields[0].to_string(), format!("n={events}"), "none is missing");
        events += 1;
    }
    assert!(events > 4900, "{events}");
}
