//! `driver-client`: sends control requests to the device of a driver.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use driver_client::{Device, Request, Requests, send};

/// Sends control requests to the device of a Windows driver. Prints one JSON object per request.
#[derive(Parser)]
#[command(
    name = "driver-client",
    version,
    after_help = "Exit codes: 0 all requests were sent, whatever the driver returned; \
    1 the device cannot be opened; 2 wrong usage; 5 not supported on this system."
)]
struct Arguments {
    /// The device: a path such as `\\.\MyDriver`, or the class of an interface such as {9f7b4a52-30c4-4d1e-8f0a-6a1d5d0c7e11}
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    device: Option<Device>,
    /// A request: control code and input in hexadecimal, length of the output buffer; repeatable
    #[arg(long = "ioctl", value_name = "CODE[:INPUT[:LENGTH]]", requires = "device")]
    requests: Vec<Request>,
    /// A JSON file with the members `device` and `requests`, an array of requests
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, text)) => {
            eprintln!("error: {text}");
            ExitCode::from(code)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), (u8, String)> {
    let Requests { device, requests } = match (&arguments.file, &arguments.device) {
        (Some(path), _) => {
            let bad = |error: &dyn ToString| (2, format!("{}: {}", path.display(), error.to_string()));
            let text = fs::read_to_string(path).map_err(|error| bad(&error))?;
            serde_json::from_str(&text).map_err(|error| bad(&error))?
        }
        (None, Some(device)) => Requests { device: device.clone(), requests: arguments.requests.clone() },
        (None, None) => return Err((2, "name a device with --device".to_owned())),
    };
    let mut written = Ok(());
    let sent = send(&device, &requests, |reply| {
        let line = serde_json::to_string(&reply).unwrap_or_default();
        let mut out = io::stdout().lock();
        // Each line is written at once: the next request may stop the machine.
        let result = writeln!(out, "{line}").and_then(|()| out.flush());
        if written.is_ok() {
            written = result;
        }
    });
    let unsupported = if cfg!(windows) { 1 } else { 5 };
    sent.map_err(|error| (unsupported, error.to_string()))?;
    written.map_err(|error| (2, format!("standard output: {error}")))
}
