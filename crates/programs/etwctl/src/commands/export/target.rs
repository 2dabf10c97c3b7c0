//! Where requests go: a file with one request per line, or a collector that takes them over HTTP.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use command_line::{Content, Inputs, OutputPath};
use httparse::{EMPTY_HEADER, Header, Response, Status, parse_chunk_size};
use serde_json::Value;

use super::otlp::Batch;
#[cfg(feature = "tls")]
use super::tls;
use crate::failure::Failure;
use crate::output::{Destination, Output};

/// The schemes of collectors, and the ports of addresses without one: that of collectors, and that of HTTPS.
const SCHEMES: [(&str, u16); 2] = [("http://", 4318), ("https://", 443)];
/// Maximum length of a line that an error shows, in bytes.
const MAX_STATUS: usize = 1024;
/// Maximum number of the headers of a result.
const MAX_HEADERS: usize = 64;
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
    pub(super) fn open(target: &str, inputs: Inputs) -> Result<Self, Failure> {
        match Collector::parse(target) {
            #[cfg(not(feature = "tls"))]
            Some(collector) if collector.scheme == "https://" => Err(Failure::Unsupported(format!(
                "{target}: this etwctl was built without TLS; install it with `--features tls`, or send to a collector on this machine \
                 with http://"
            ))),
            Some(collector) => Ok(Self::Collector(collector)),
            None => {
                let path = OutputPath::from(PathBuf::from(target));
                Ok(Self::File(Destination::check("--otlp", Some(&path), inputs)?.create(Content::Plain)?))
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
    let head = read_head(&mut reader)?;
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut result = Response::new(&mut headers);
    // A collector that took everything may end the connection after the first line.
    let parsed = result.parse(&head);
    if let Some(200..300) = result.code {
        let body = parsed.ok().and_then(|_| read_body(&mut reader, result.headers));
        return body.and_then(|body| rejected(&body)).map_or(Ok(()), |text| Err(io::Error::other(text)));
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line.get(..MAX_STATUS).unwrap_or(line));
    Err(io::Error::other(format!("the collector's result is '{}'", line.trim_end())))
}

/// Reads the first line and the headers of a result, up to the empty line after them.
fn read_head(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while reader.read_until(b'\n', &mut head)? != 0 && !head.ends_with(b"\n\r\n") && !head.ends_with(b"\n\n") {}
    Ok(head)
}

/// Reads the body of a result, whose headers say how long it is.
fn read_body(reader: &mut impl BufRead, headers: &[Header<'_>]) -> Option<Vec<u8>> {
    let value = |name: &str| {
        let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        str::from_utf8(header.value).ok().map(str::trim)
    };
    if value("transfer-encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked")) {
        return read_chunks(reader);
    }
    let length = value("content-length")?.parse().ok()?;
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).ok()?;
    Some(body)
}

/// Reads a body in chunks, each after its length. The last one is empty.
fn read_chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).ok()?;
        let Ok(Status::Complete((_, length))) = parse_chunk_size(&line) else { return None };
        if length == 0 {
            return Some(body);
        }
        reader.by_ref().take(length).read_to_end(&mut body).ok()?;
        // The end of the line after the chunk.
        reader.read_until(b'\n', &mut Vec::new()).ok()?;
    }
}

/// Returns what the collector says about records that it did not take.
fn rejected(body: &[u8]) -> Option<String> {
    let result: Value = serde_json::from_slice(body).ok()?;
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

    use proptest::collection::vec;
    use proptest::prelude::*;

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
        assert!(error.len() < 2000, "{error}");
        assert!(error.contains("xxx"), "{error}");
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
    fn a_result_in_chunks_is_read() {
        let send = |result: &'static [u8]| exchange(&mut Endless(result), "collector:4318", "/v1/logs", "{}");
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            13;name=value\r\n{\"partialSuccess\":{\r\n1c\r\n\"rejectedLogRecords\":\"7\"}}  \r\n0\r\n\r\n";
        assert!(send(chunked).unwrap_err().to_string().contains("did not take 7 records"));
    }

    proptest! {
        #[test]
        fn any_result_is_read(bytes: Vec<u8>, headers in "([A-Za-z-]{1,8}: [ -~]{0,8}\r\n){0,3}", length in 0..2000_usize, is_chunked: bool) {
            let way = if is_chunked { "Transfer-Encoding: chunked".into() } else { format!("Content-Length: {length}") };
            let head = format!("HTTP/1.1 200 OK\r\n{headers}{way}\r\n\r\n");
            for result in [[head.as_bytes(), &bytes].concat(), bytes] {
                // Nothing panics, and the end of a connection is not an error of its own.
                let _ = exchange(&mut Endless(result.leak()), "collector:4318", "/v1/logs", "{}");
            }
        }

        #[test]
        fn a_body_is_the_same_in_chunks_of_any_length(count in 1..1000_u32, lengths in vec(1..40_usize, 1..40)) {
            let body = format!("{{\"partialSuccess\":{{\"rejectedSpans\":\"{count}\"}}}}");
            let mut rest = body.as_bytes();
            let mut chunks = Vec::new();
            for length in lengths.into_iter().cycle() {
                let (chunk, after) = rest.split_at(length.min(rest.len()));
                chunks.extend([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
                if chunk.is_empty() {
                    break;
                }
                rest = after;
            }
            let result = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", chunks.as_slice()].concat();
            let error = exchange(&mut Endless(result.leak()), "collector:4318", "/v1/traces", "{}").unwrap_err();
            prop_assert_eq!(error.to_string(), format!("the collector did not take {count} records of this request: no reason given"));
        }
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
