//! Runs the sample driver: load, add a device, send requests, ask session control, remove, unload.

use std::path::Path;
use std::thread;
use std::time::Duration;

use etw_session::info::{BinaryTracking, MaxSessions, ProcessingVersion, StreamCount};
use etw_session::{Enable, Error as SessionError, Machine, Properties, Received, Session, SessionStatus};
use etw_types::{Guid, Level, NtStatus, Win32Error};
use nt_host::{Device, NtHost, Os};

use crate::{Failure, Options, exit};

/// The driver's provider.
pub(crate) const PROVIDER: &str = "WdkEtw.DriverSample";
const SESSION: &str = "wdk-etw demo";
/// The requests: a description, the control code, the input, the length of the output buffer. The last three fail.
const REQUESTS: [(&str, u32, &[u8], u32); 8] = [
    ("set interval 1 ms", 0x0022_A008, &[1, 0, 0, 0], 0),
    ("echo", 0x0022_E000, b"hello", 64),
    ("echo", 0x0022_E000, b"events from a kernel driver, on Linux", 64),
    ("statistics", 0x0022_6004, &[], 24),
    ("echo", 0x0022_E000, &[0x5A; 2048], 2048),
    ("statistics without room", 0x0022_6004, &[], 23),
    ("set interval 0 ms", 0x0022_A008, &[0, 0, 0, 0], 0),
    ("unknown code", 0x0022_E03C, &[], 0),
];
/// The control code that returns the statuses of `EtwRegister` and `EtwSetInformation`, of both providers.
const GET_STATUSES: u32 = 0x0022_600C;
/// The pause after every fourth request, so that the driver's timer fires between requests.
const PAUSE: Duration = Duration::from_millis(1);
/// The maximum wait for the next live event, much longer than any pause between events.
const LONG: Duration = Duration::from_secs(20);

/// The results of a run besides the trace.
pub(crate) struct Outcome {
    /// Its decoder names the frames of stacks and the events of the manifest.
    pub(crate) host: NtHost,
    pub(crate) os: Os,
    /// The output of [`GET_STATUSES`]: how the provider was registered. It does not depend on a trace.
    pub(crate) statuses: Vec<NtStatus>,
    /// The requests with their control codes and the statuses that the driver returned.
    pub(crate) requests: Vec<(&'static str, u32, NtStatus)>,
    /// The calls of session control and their results.
    pub(crate) controls: Vec<(&'static str, String)>,
    /// The status of the session after it was stopped.
    pub(crate) session: SessionStatus,
    /// The number of `TraceLogging` events that a real-time consumer received.
    pub(crate) live: usize,
    /// The mistakes of the driver that `nt-host` found.
    pub(crate) findings: Vec<String>,
    /// What the run did not exercise.
    pub(crate) gaps: Vec<String>,
    /// The driver's debug output.
    pub(crate) output: String,
}

/// Runs the driver, with the session's trace going to `etl`.
pub(crate) fn run(options: &Options, etl: &Path) -> Result<Outcome, Failure> {
    let os = options.os;
    // Real time, because the page shows how long things take.
    let host = NtHost::builder().driver(&options.image).os(os).real_time().prepare();
    let host = host.map_err(|error| Failure::usage(error.to_string()))?;
    let machine = host.machine();
    let session = machine.start(&Properties::new(SESSION).file(etl).real_time())?;
    let mut consumer = machine.consume(&session)?;
    let live = thread::spawn(move || {
        let mut events = 0;
        while let Received::Event(event) = consumer.receive(LONG) {
            events += usize::from(event.is_trace_logging());
        }
        events
    });

    // Before the driver is loaded: otherwise the session misses its first event.
    let provider = session.provider(Guid::from_name(PROVIDER));
    provider.enable(&Enable::new(Level::Verbose).stacks())?;
    host.load().map_err(text)?;
    let device = host.add_device().map_err(text)?;
    let (status, statuses) = statuses(&device)?;
    let mut requests = vec![("statuses", GET_STATUSES, status)];
    requests.extend(send(&host, &device)?);
    provider.capture()?;
    let controls = control(&machine, &session);
    device.remove().map_err(text)?;
    let report = host.unload().map_err(text)?;
    let session = session.stop()?;
    let live = live.join().map_err(|_| "the consumer of live events failed".to_owned())?;
    Ok(Outcome {
        host,
        os,
        statuses,
        requests,
        controls,
        session,
        live,
        findings: report.findings().iter().map(ToString::to_string).collect(),
        gaps: report.gaps().iter().map(ToString::to_string).collect(),
        output: report.output().to_owned(),
    })
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        // The session writes a file of the demo.
        let code = if error.code() == Win32Error::DiskFull { exit::USAGE } else { exit::FAILED };
        Self { code, reason: error.to_string() }
    }
}

/// Asks the driver how its provider was registered.
fn statuses(device: &Device) -> Result<(NtStatus, Vec<NtStatus>), String> {
    let result = device.ioctl(GET_STATUSES, &[], 24).map_err(text)?;
    let words = result.output.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok());
    Ok((result.status, words.map(|bytes| NtStatus::from_int(u32::from_le_bytes(bytes))).collect()))
}

fn send(host: &NtHost, device: &Device) -> Result<Vec<(&'static str, u32, NtStatus)>, String> {
    let mut results = Vec::new();
    for requests in REQUESTS.chunks(4) {
        for (what, code, input, room) in requests {
            results.push((*what, *code, device.ioctl(*code, input, *room).map_err(text)?.status));
        }
        host.advance(PAUSE).map_err(text)?;
    }
    Ok(results)
}

/// Queries and sets information of the session and the machine. If this Windows lacks an information class, the result is
/// its error code.
fn control(machine: &Machine, session: &Session) -> Vec<(&'static str, String)> {
    let number = |result: Result<u32, SessionError>| result.map_or_else(refused, |number| number.to_string());
    let enabled = machine.provider(Guid::from_name(PROVIDER)).map_or_else(refused, |instances| {
        let all = instances.0.iter().flat_map(|instance| &instance.enabled);
        let words: Vec<String> = all.map(|by| format!("session {} at level {}", by.logger_id, by.level)).collect();
        if words.is_empty() { "by none".into() } else { format!("by {}", words.join(", ")) }
    });
    vec![
        ("TraceGuidQueryInfo: the provider is enabled", enabled),
        (
            "TraceProviderBinaryTracking: set",
            session.set(&BinaryTracking(true)).map_or_else(refused, |()| String::from("done")),
        ),
        ("TraceStreamCount", number(session.get::<StreamCount>().map(|count| count.0))),
        ("TraceMaxLoggersQuery", number(machine.query::<MaxSessions>().map(|count| count.0))),
        ("TraceVersionInfo", number(machine.query::<ProcessingVersion>().map(|version| version.0))),
    ]
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that results want")]
fn refused(error: SessionError) -> String {
    format!("refused with {}", error.code())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that results want")]
fn text(error: impl ToString) -> String {
    error.to_string()
}
