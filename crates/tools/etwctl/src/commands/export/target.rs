//! Where requests go: a file with one request per line, or a collector that takes them over HTTP.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use command_line::{Content, Inputs};
use serde_json::Value;

use super::otlp::Batch;
#[cfg(feature = "tls")]
use super::tls;
use crate::failure::Failure;
use crate::output::Output;

/// The schemes of collectors, and the ports of addresses without one: that of collectors, and that of HTTPS.
const SCHEMES: [(&str, u16); 2] = [("http://", 4318), ("https://", 443)];
/// Maximum length of the first line of a result, in bytes. A collector that sends more does not speak HTTP.
const MAX_STATUS: u64 = 1024;
/// Maximum length of a result, in bytes.
const MAX_RESULT: u64 = 64 * 1024;

/// A target of requests.
pub(super) enum Target {
    File(Output),
    Collector(Collector),
}

/// The address of a collector.
pub(super) struct Collector {
    scheme: &'static str,
    /// A name or an address, without the port.
    host: String,
    port: u16,
    /// The path before `/v1/logs`, without slashes at its ends.
    path: String,
}

impl Collector {
    /// Parses an address. A target without a scheme is a file.
    fn parse(target: &str) -> Option<Self> {
        let (address, scheme, usual) =
            SCHEMES.iter().find_map(|(scheme, port)| Some((target.strip_prefix(scheme)?, *scheme, *port)))?;
        let (authority, path) = address.split_once('/').unwrap_or((address, ""));
        let with_port = authority.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) = with_port.unwrap_or((authority, usual));
        Some(Self { scheme, host: host.to_owned(), port, path: path.trim_matches('/').to_owned() })
    }

    /// Sends a request and checks its result.
    fn post(&self, kind: &str, body: &str) -> io::Result<()> {
        let Self { scheme, host, port, path } = self;
        let path = if path.is_empty() { format!("/v1/{kind}") } else { format!("/{path}/v1/{kind}") };
        let send = || {
            let stream = TcpStream::connect(format!("{host}:{port}"))?;
            match *scheme {
                #[cfg(feature = "tls")]
                "https://" => exchange(&mut tls::secure(stream, host)?, &format!("{host}:{port}"), &path, body),
                _ => exchange(&mut { stream }, &format!("{host}:{port}"), &path, body),
            }
        };
        send().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot send to {scheme}{host}:{port}{path}: {error}"))
        })
    }
}

impl Target {
    /// Opens a file, or takes the address of a collector.
    pub(super) fn open(target: &str, inputs: &Inputs) -> Result<Self, Failure> {
        match Collector::parse(target) {
            #[cfg(not(feature = "tls"))]
            Some(collector) if collector.scheme == "https://" => Err(Failure::Unsupported(format!(
                "{target}: this etwctl was built without TLS; install it with `--features tls`, or send to a collector on this machine \
                 with http://"
            ))),
            Some(collector) => Ok(Self::Collector(collector)),
            None => {
                let path = Path::new(target);
                inputs.check("--otlp", path)?;
                Ok(Self::File(Output::create(Some(path), Content::Plain)?))
            }
        }
    }

    /// Sends what waits.
    pub(super) fn send(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        for (kind, request) in batch.take() {
            match self {
                Self::File(out) => writeln!(out, "{request}")?,
                Self::Collector(collector) => collector.post(kind, &request.to_string())?,
            }
        }
        Ok(())
    }

    /// Completes a file.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(out) => out.finish(),
            Self::Collector(_) => Ok(()),
        }
    }
}

/// Writes a request and reads its result.
fn exchange(stream: &mut (impl Read + Write), host: &str, path: &str, body: &str) -> io::Result<()> {
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len(),
    )?;
    stream.flush()?;
    let mut reader = BufReader::new(stream.take(MAX_RESULT));
    let mut status = String::new();
    reader.by_ref().take(MAX_STATUS).read_line(&mut status)?;
    match status.split(' ').nth(1) {
        Some(code) if code.starts_with('2') => rejected(&mut reader).map_or(Ok(()), |text| Err(io::Error::other(text))),
        _ => Err(io::Error::other(format!("the collector's result is '{}'", status.trim_end()))),
    }
}

/// Reads the rest of a result, and returns what the collector says about records that it did not take. A collector that took all
/// may end the connection without it.
fn rejected(reader: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).ok()?;
        let line = str::from_utf8(line.trim_ascii()).ok()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let result: Value = serde_json::from_reader(reader.by_ref().take(length)).ok()?;
    let partial = result.get("partialSuccess")?;
    // The protocol writes 64-bit integers as text.
    let count = ["rejectedLogRecords", "rejectedSpans"].into_iter().find_map(|key| partial.get(key))?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    let reason = partial.get("errorMessage").and_then(Value::as_str).unwrap_or("no reason given");
    Some(format!("the collector did not take {count} records of this request: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};

    use super::{Collector, exchange};

    /// A connection to a collector that takes everything, and whose result is this line and then has no end.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() { io::repeat(b'x').read(into) } else { self.0.read(into) }
        }
    }

    impl Write for Endless {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_result_without_an_end_is_read_up_to_its_status() {
        let send = |result: &'static [u8]| exchange(&mut Endless(result), "collector:4318", "/v1/logs", "{}");
        assert!(send(b"HTTP/1.1 200 OK\r\n").is_ok());
        assert!(send(b"HTTP/1.1 404 Not Found\r\n").unwrap_err().to_string().ends_with("'HTTP/1.1 404 Not Found'"));
        let error = send(b"").unwrap_err().to_string();
        assert!(error.len() < 2000 && error.contains("xxx"), "{error}");
    }

    #[test]
    fn records_that_the_collector_does_not_take_are_an_error() {
        let send = |result: &str| {
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{result}", result.len());
            exchange(&mut Endless(answer.leak().as_bytes()), "collector:4318", "/v1/logs", "{}")
        };
        for taken in ["", "{}", r#"{"partialSuccess":null}"#, r#"{"partialSuccess":{"rejectedLogRecords":"0"}}"#] {
            assert!(send(taken).is_ok(), "{taken}");
        }
        let error = |partial: &str| send(&format!(r#"{{"partialSuccess":{{{partial}}}}}"#)).unwrap_err().to_string();
        let logs = error(r#""rejectedLogRecords":"3","errorMessage":"too old""#);
        assert_eq!(logs, "the collector did not take 3 records of this request: too old");
        assert!(error(r#""rejectedSpans":2"#).contains(" 2 records"));
    }

    #[test]
    fn an_address_has_the_port_of_its_scheme_and_a_path() {
        let parsed = |target: &str| {
            Collector::parse(target)
                .map(|Collector { scheme, host, port, path }| format!("{scheme} {host} {port} {path}"))
        };
        for (target, expected) in [
            ("http://collector", "http:// collector 4318 "),
            ("http://collector:80/", "http:// collector 80 "),
            ("https://otlp.example/a/b/", "https:// otlp.example 443 a/b"),
            ("https://[::1]", "https:// [::1] 443 "),
            ("https://[::1]:4318/otlp", "https:// [::1] 4318 otlp"),
        ] {
            assert_eq!(parsed(target).as_deref(), Some(expected), "{target}");
        }
        assert_eq!(parsed("trace.jsonl"), None);
    }
}
