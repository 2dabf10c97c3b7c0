//! `export --otlp http://…` and an OpenTelemetry collector that others wrote.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::{demo_trace, etwctl, scratch};
use test_support::{python, run};

/// Rotel is an OpenTelemetry collector that is a package of Python's index.
const COLLECTOR: &str = "rotel==0.0.1a15";

/// Returns the program of the collector.
fn collector() -> Result<PathBuf, String> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("otlp-collector");
    let python = python(&environment, "rotel", &[COLLECTOR], 60)?;
    let script = "import importlib.util as u; print(*u.find_spec('rotel').submodule_search_locations)";
    let folder = run(Command::new(python).args(["-c", script]))?;
    let program = Path::new(folder.trim()).join("rotel-agent");
    // A wheel for an older system may need other libraries than this one has.
    run(Command::new(&program).arg("version"))?;
    Ok(program)
}

#[test]
fn an_unmodified_collector_takes_all_logs_and_spans() {
    let program = match collector() {
        Ok(program) => program,
        Err(reason) => {
            println!("skipped: no collector; it is installed with `pip install {COLLECTOR}`: {reason}");
            return;
        }
    };
    let path = demo_trace("otlp-collector.etl");
    let output = scratch("otlp-collector.txt");
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let http = free();
    let grpc = free();
    let mut server = Command::new(program)
        .args(["start", "--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc, "--exporter", "blackhole"])
        .args(["--debug-log", "logs", "--debug-log", "traces", "--debug-log-verbosity", "detailed"])
        .stdout(fs::File::create(&output).unwrap())
        .spawn()
        .unwrap();
    while TcpStream::connect(&http).is_err() {
        assert_eq!(server.try_wait().unwrap(), None, "the collector ended: {}", fs::read_to_string(&output).unwrap());
        thread::sleep(Duration::from_millis(20));
    }
    let run = etwctl(&format!("export {} --otlp http://{http}", path.display()));
    // It ends after it has handled what it took.
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    server.wait().unwrap();
    let taken = fs::read_to_string(&output).unwrap();
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("45 logs and 12 spans"), "{}", run.err);
    let count = |start: &str| taken.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("LogRecord #"), 45, "{taken}");
    assert_eq!(count("Span #"), 12, "{taken}");
    for text in ["InstrumentationScope Etwctl-Demo", "-> etw.field.", "-> event.name: Str(Read)"] {
        assert!(taken.contains(text), "{text}: {taken}");
    }
    fs::remove_file(path).unwrap();
    fs::remove_file(output).unwrap();
}
