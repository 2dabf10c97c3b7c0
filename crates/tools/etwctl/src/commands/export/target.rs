//! Where requests go: a file with one request per line, or a collector that takes them over HTTP.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

use command_line::{Content, Inputs};

use super::otlp::Batch;
use crate::failure::Failure;
use crate::output::Output;

/// The port of collectors.
const PORT: u16 = 4318;

/// A target of requests.
pub(super) enum Target {
    File(Output),
    /// Host with port, and the path before `/v1/logs`.
    Collector {
        host: String,
        path: String,
    },
}

impl Target {
    /// Opens a file, or takes the address of a collector.
    pub(super) fn open(target: &str, inputs: &Inputs) -> Result<Self, Failure> {
        if target.starts_with("https://") {
            return Err(Failure::Unsupported(format!("{target}: only http:// is supported; write a file and send it")));
        }
        let Some(address) = target.strip_prefix("http://") else {
            let path = Path::new(target);
            inputs.check("--otlp", path)?;
            return Ok(Self::File(Output::create(Some(path), Content::Plain)?));
        };
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
        Ok(Self::Collector { host, path: path.trim_end_matches('/').to_owned() })
    }

    /// Sends what waits.
    pub(super) fn send(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        for (kind, request) in batch.take() {
            match self {
                Self::File(out) => writeln!(out, "{request}")?,
                Self::Collector { host, path } => {
                    let path = if path.is_empty() { format!("/v1/{kind}") } else { format!("/{path}/v1/{kind}") };
                    post(host, &path, &request.to_string())?;
                }
            }
        }
        Ok(())
    }

    /// Completes a file.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(out) => out.finish(),
            Self::Collector { .. } => Ok(()),
        }
    }
}

/// Sends one request and checks its result.
fn post(host: &str, path: &str, body: &str) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot send to http://{host}{path}: {error}"));
    let mut stream = TcpStream::connect(host).map_err(named)?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len(),
    )
    .map_err(named)?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status).map_err(named)?;
    match status.split(' ').nth(1) {
        Some(code) if code.starts_with('2') => Ok(()),
        _ => Err(named(io::Error::other(format!("the collector's result is '{}'", status.trim_end())))),
    }
}
