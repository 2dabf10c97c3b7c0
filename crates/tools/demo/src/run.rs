//! A day in the life of the sample driver.

use std::path::Path;
use std::thread;
use std::time::Duration;

use etw_session::info::{BinaryTracking, MaxSessions, ProcessingVersion, StreamCount};
use etw_session::{Enable, Error as SessionError, Machine, Properties, Received, Session, SessionStatus};
use etw_types::{Guid, Level, NtStatus};
use nt_host::{Device, NtHost, Os};

use crate::Failure;
use crate::args::Options;

/// The driver's provider.
pub(crate) const PROVIDER: &str = "WdkEtw.DriverSample";
const SESSION: &str = "wdk-etw demo";
/// Requests: what they are, the code, the input, room for output. The last three are refused.
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
/// Returns the statuses of starting the provider: register and three operations of set-information.
const GET_STATUSES: u32 = 0x0022_600C;
/// Time that passes behind every fourth request, so that the timer ticks among them.
const PAUSE: Duration = Duration::from_millis(1);
/// How long to wait for the end of the live events: nothing takes so long.
const LONG: Duration = Duration::from_secs(20);

/// What came of the run besides the trace.
pub(crate) struct Outcome {
    /// Names the frames of stacks and the manifest's events.
    pub(crate) host: NtHost,
    pub(crate) os: Os,
    /// What the driver returned about starting its provider: the statuses that are there even without a trace.
    pub(crate) statuses: Vec<NtStatus>,
    /// Requests with their code and what the driver answered.
    pub(crate) requests: Vec<(&'static str, u32, NtStatus)>,
    /// What session control was asked, and its answer.
    pub(crate) controls: Vec<(&'static str, String)>,
    /// The session after its end.
    pub(crate) session: SessionStatus,
    /// Events that a consumer got while the session ran.
    pub(crate) live: usize,
    /// What the driver did wrong.
    pub(crate) findings: Vec<String>,
    /// What it printed for a debugger.
    pub(crate) output: String,
}

/// Runs the driver, with the session's trace going to `etl`.
pub(crate) fn run(options: &Options, etl: &Path) -> Result<Outcome, Failure> {
    let os = options.os;
    // Real time, as the page is to show how long things take.
    let host = NtHost::builder().driver(&options.image).os(os).real_time().prepare();
    let host = host.map_err(|error| Failure::usage(error.to_string()))?;
    let machine = host.machine();
    let session = machine.start(&Properties::new(SESSION).file(etl).real_time()).map_err(text)?;
    let mut consumer = machine.consume(&session).map_err(text)?;
    let live = thread::spawn(move || {
        let mut events = 0;
        while let Received::Event(event) = consumer.receive(LONG) {
            events += usize::from(event.is_trace_logging());
        }
        events
    });

    // Before the driver is there: its first event is not to be missed.
    let provider = session.provider(Guid::from_name(PROVIDER));
    provider.enable(&Enable::new(Level::Verbose).stacks()).map_err(text)?;
    host.load().map_err(text)?;
    let device = host.add_device().map_err(text)?;
    let (answer, statuses) = statuses(&device)?;
    let mut requests = vec![("statuses", GET_STATUSES, answer)];
    requests.extend(send(&host, &device)?);
    provider.capture().map_err(text)?;
    let controls = control(&machine, &session);
    device.remove().map_err(text)?;
    let report = host.unload().map_err(text)?;
    let session = session.stop().map_err(text)?;
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
        output: report.output().to_owned(),
    })
}

/// Asks the driver how its provider was started.
fn statuses(device: &Device) -> Result<(NtStatus, Vec<NtStatus>), String> {
    let answer = device.ioctl(GET_STATUSES, &[], 16).map_err(text)?;
    let words = answer.output.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok());
    Ok((answer.status, words.map(|bytes| NtStatus::from_int(u32::from_le_bytes(bytes))).collect()))
}

fn send(host: &NtHost, device: &Device) -> Result<Vec<(&'static str, u32, NtStatus)>, String> {
    let mut answers = Vec::new();
    for requests in REQUESTS.chunks(4) {
        for (what, code, input, room) in requests {
            answers.push((*what, *code, device.ioctl(*code, input, *room).map_err(text)?.status));
        }
        host.advance(PAUSE).map_err(text)?;
    }
    Ok(answers)
}

/// Asks for information of the session and the machine; a Windows that lacks a class says so.
fn control(machine: &Machine, session: &Session) -> Vec<(&'static str, String)> {
    let number = |answer: Result<u32, SessionError>| answer.map_or_else(refused, |number| number.to_string());
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
