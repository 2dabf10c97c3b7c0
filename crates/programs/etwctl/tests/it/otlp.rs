//! `export --otlp`: events become logs and activities become spans of OpenTelemetry.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::common::{demo_trace, etwctl, scratch};
use serde_json::Value;
use test_support::python;

#[test]
fn events_are_logs_and_activities_are_spans() {
    let path = demo_trace("otlp.etl");
    let out = scratch("otlp.jsonl");
    let run = etwctl(&format!("export {} --provider Etwctl-Demo --otlp {}", path.display(), out.display()));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("43 logs and 12 spans"), "{}", run.err);
    let requests: Vec<Value> =
        fs::read_to_string(&out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let scope = &requests[0]["resourceLogs"][0]["scopeLogs"][0];
    assert_eq!(scope["scope"]["name"], "Etwctl-Demo");
    let logs = scope["logRecords"].as_array().unwrap();
    let name = |log: &Value| log["attributes"][0]["value"]["stringValue"].as_str().map(str::to_owned);
    assert_eq!(logs.iter().filter(|log| name(log).as_deref() == Some("Read")).count(), 24, "starts and stops");
    let span = &requests[1]["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["name"].as_str(), Some("Read"));
    assert_eq!(span["traceId"].as_str().map(str::len), Some(32));
    let start: u64 = span["startTimeUnixNano"].as_str().unwrap().parse().unwrap();
    let end: u64 = span["endTimeUnixNano"].as_str().unwrap().parse().unwrap();
    assert!(start <= end, "{span}");
    assert!(start > 1_600_000_000_000_000_000, "{span}");
    fs::remove_file(out).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn the_requests_fit_the_definitions_of_the_protocol() {
    let path = demo_trace("otlp-schema.etl");
    let out = scratch("otlp-schema.jsonl");
    assert_eq!(etwctl(&format!("export {} --otlp {}", path.display(), out.display())).code, 0);
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("otlp-witness");
    let python = match python(&environment, "opentelemetry.proto", &["opentelemetry-proto==1.34.1"], 60) {
        Ok(python) => python,
        Err(reason) => {
            println!("skipped: no Python with OpenTelemetry's definitions: {reason}");
            return;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/otlp_reader.py");
    let run = Command::new(python).arg(script).arg(&out).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let found: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(found["logs"], 45, "{found}");
    assert_eq!(found["spans"].as_array().map(Vec::len), Some(12), "{found}");
    fs::remove_file(out).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn a_collector_gets_the_requests_and_its_refusal_is_an_error() {
    let path = demo_trace("otlp-http.etl");
    for (status, code) in [("200 OK", 0), ("503 Service Unavailable", 2)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let mut lines = Vec::new();
            // The test ends the server with a request of its own.
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut line = String::new();
                let mut length = 0;
                reader.read_line(&mut line).unwrap();
                if line.starts_with("END") {
                    break;
                }
                lines.push(line.trim_end().to_owned());
                loop {
                    let mut header = String::new();
                    reader.read_line(&mut header).unwrap();
                    if let Some(value) = header.strip_prefix("Content-Length: ") {
                        length = value.trim_end().parse().unwrap();
                    }
                    if header == "\r\n" {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                assert!(serde_json::from_slice::<Value>(&body).is_ok());
                write!(reader.get_mut(), "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
            lines
        });
        let run = etwctl(&format!("export {} --otlp http://{address}/otlp", path.display()));
        writeln!(TcpStream::connect(address).unwrap(), "END").unwrap();
        let lines = server.join().unwrap();
        let both = ["POST /otlp/v1/logs HTTP/1.1", "POST /otlp/v1/traces HTTP/1.1"];
        assert_eq!(run.code, code, "{}", run.err);
        // A refusal ends the export.
        assert_eq!(lines, both[..if code == 0 { 2 } else { 1 }]);
        assert!(code == 0 || run.err.contains("the collector's result is 'HTTP/1.1 503"), "{}", run.err);
    }
    fs::remove_file(path).unwrap();
}

#[cfg(not(feature = "tls"))]
#[test]
fn without_tls_the_error_says_how_to_get_it() {
    let run = etwctl("export none.etl --otlp https://localhost");
    assert_eq!(run.code, 5, "{}", run.err);
    assert!(run.err.contains("--features tls"), "{}", run.err);
}

/// Makes two authorities, and a certificate of the first one for this machine.
#[cfg(feature = "tls")]
const CERTIFICATES: &str = "for name in ca other; do \
    openssl req -x509 -newkey rsa:2048 -nodes -keyout $name.key -out $name.pem -days 2 -subj /CN=$name || exit 1; done; \
    openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost && \
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > server.ext && \
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.pem";

#[cfg(feature = "tls")]
#[test]
fn a_collector_with_tls_gets_the_requests_if_its_certificate_is_trusted() {
    let folder = scratch("otlp-tls");
    fs::create_dir_all(&folder).unwrap();
    let made = Command::new("sh").args(["-c", CERTIFICATES]).current_dir(&folder).output().unwrap();
    if !made.status.success() {
        println!("skipped: no certificates: {}", String::from_utf8_lossy(&made.stderr));
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/tls_collector.py");
    let server = Command::new("python3").arg(script).current_dir(&folder).stdout(std::process::Stdio::piped()).spawn();
    let mut server = match server {
        Ok(server) => server,
        Err(error) => {
            println!("skipped: no Python: {error}");
            return;
        }
    };
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    let port: u16 = lines.next().unwrap().parse().unwrap();
    let path = demo_trace("otlp-tls.etl");
    let export = |certificates: &str, host: &str| -> crate::common::Run {
        Command::new(env!("CARGO_BIN_EXE_etwctl"))
            .args(["export".as_ref(), path.as_os_str(), "--otlp".as_ref()])
            .arg(format!("https://{host}:{port}/otlp"))
            .env("SSL_CERT_FILE", folder.join(certificates))
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap()
            .into()
    };
    for host in ["localhost", "127.0.0.1"] {
        let run = export("ca.pem", host);
        assert_eq!(run.code, 0, "{}", run.err);
        let requests = [lines.next().unwrap(), lines.next().unwrap()];
        assert_eq!(requests, ["/otlp/v1/logs resourceLogs", "/otlp/v1/traces resourceSpans"]);
    }
    let stranger = export("other.pem", "localhost");
    assert_eq!(stranger.code, 2, "{}", stranger.err);
    assert!(stranger.err.contains("certificate"), "{}", stranger.err);
    server.kill().unwrap();
    server.wait().unwrap();
    fs::remove_file(path).unwrap();
    fs::remove_dir_all(folder).unwrap();
}
