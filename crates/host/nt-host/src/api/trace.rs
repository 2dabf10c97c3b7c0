//! Sessions and the events that they recorded.

use std::path::Path;

use etw_etl::expect::Expected;
use etw_etl::{Clock, ClockKind, Event, FileTime, NewFile, Writer, WriterOptions};
use etw_types::{Guid, Level};

use super::{Expectation, NtHost};
use nt_machine::EPOCH;

use crate::Error;
use crate::wire::{Reply, Request, spill};

/// A session that was started.
///
/// ```no_run
/// use etw_types::{Guid, Level};
/// use nt_host::{Expectation, NtHost, Trace, TraceSession, event};
///
/// let host = NtHost::builder().driver("my_driver.sys").start()?;
/// let provider = Guid::from_name("MyDriver");
/// let session: TraceSession = host.session("test")?;
/// let trace: Trace = session.enable(provider, Level::Verbose, !0)?;
/// session.enable_group(Guid::from_u128(7), Level::Error, !0)?;
/// // The driver tells its state.
/// session.capture_state(provider)?;
/// session.disable(provider)?;
///
/// let expectation: Expectation = trace.expect(event("Rundown").field("Devices", 0));
/// expectation.anywhere();
/// assert_eq!((trace.events()?.len(), trace.events_lost()?), (1, 0));
/// // One by one, for traces that are large; and as a file.
/// let lost = trace.visit(|event| println!("{}", event.decode()))?;
/// assert_eq!(lost, 0);
/// trace.write_etl("my_driver.etl")?;
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TraceSession {
    host: NtHost,
    number: u32,
}

/// The events that a session records.
#[derive(Clone, Debug)]
pub struct Trace {
    host: NtHost,
    number: u32,
}

impl TraceSession {
    pub(super) const fn new(host: NtHost, number: u32) -> Self {
        Self { host, number }
    }

    /// Records events of a provider up to a level, with any of the keywords. The driver's enable callback runs now, or
    /// when the provider registers.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn enable(&self, provider: Guid, level: Level, any: u64) -> Result<Trace, Error> {
        self.control(&Request::Enable {
            session: self.number,
            provider,
            level: level.as_int(),
            any,
            all: 0,
            group: false,
        })
    }

    /// Records events of every provider of a group.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn enable_group(&self, group: Guid, level: Level, any: u64) -> Result<Trace, Error> {
        let (session, level) = (self.number, level.as_int());
        self.control(&Request::Enable { session, provider: group, level, any, all: 0, group: true })
    }

    /// Stops recording events of a provider.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn disable(&self, provider: Guid) -> Result<Trace, Error> {
        self.control(&Request::Disable { session: self.number, provider })
    }

    /// Requests a provider to log its state.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn capture_state(&self, provider: Guid) -> Result<Trace, Error> {
        self.control(&Request::CaptureState { session: self.number, provider })
    }

    /// Returns the events that the session records.
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace::new(self.host.clone(), self.number)
    }

    fn control(&self, request: &Request) -> Result<Trace, Error> {
        self.host.ask_status(request)?;
        Ok(self.trace())
    }
}

impl Trace {
    pub(super) const fn new(host: NtHost, number: u32) -> Self {
        Self { host, number }
    }

    /// Returns the events so far, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone.
    pub fn events(&self) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        self.visit(|event| events.push(event))?;
        Ok(events)
    }

    /// Returns the number of events that the session lost.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone.
    pub fn events_lost(&self) -> Result<u64, Error> {
        self.end().map(|(_, lost)| lost)
    }

    /// Returns the session of this trace.
    #[must_use]
    pub fn session(&self) -> TraceSession {
        TraceSession::new(self.host.clone(), self.number)
    }

    /// Begins a list of expected events.
    pub fn expect(&self, event: Expected) -> Expectation {
        Expectation::new(self.clone()).expect(event)
    }

    /// Writes the events so far to a trace file that Windows tools can read. An existing file is kept until the new one
    /// is complete.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone or the file cannot be written.
    pub fn write_etl(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = |error: etw_etl::Error| Error::Host(format!("{}: {error}", path.display()));
        let place = |error: std::io::Error| Error::Host(error.to_string());
        let file = NewFile::create(path).map_err(place)?;
        let mut writer = etl_writer(file.beside()).map_err(failed)?;
        let (mut end, mut result) = (CLOCK.start, Ok(()));
        let lost = self.visit(|event| {
            if result.is_ok() {
                result = writer.write_record(0, event.record(), event.header.stamp).map(drop);
            }
            end = event.header.time;
        })?;
        result.map_err(failed)?;
        writer.add_lost(lost, 0);
        writer.close_at(end).map_err(failed)?;
        file.finish().map_err(place)
    }

    /// Calls `found` for each event so far, oldest first, and returns how many were lost. Keeps at most one event in
    /// memory.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone, or if its trace is damaged.
    pub fn visit(&self, mut found: impl FnMut(Event)) -> Result<u64, Error> {
        let (end, mut lost) = self.end()?;
        let process = self.host.process();
        let read =
            spill::read(process.trace(), end, self.number, |record| match Event::from_record(record, 0, &CLOCK) {
                Some(event) => found(event),
                None => lost += 1,
            });
        read.map_err(Error::Process)?;
        Ok(lost)
    }

    /// Returns where the file of records ends, and how many events were lost.
    fn end(&self) -> Result<(u64, u64), Error> {
        match self.host.ask(&Request::Events { session: self.number })? {
            Reply::Events { end, lost } => Ok((end, lost)),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

/// Time stamps count from the start of the machine, whose clock starts at the same time in every run.
const CLOCK: Clock = Clock {
    kind: ClockKind::PerformanceCounter,
    frequency: 10_000_000,
    start: FileTime(EPOCH.cast_signed()),
    start_stamp: 0,
};

/// Creates a file that Windows tools can read.
fn etl_writer(path: &Path) -> Result<Writer, etw_etl::Error> {
    let options = WriterOptions {
        session_name: "nt-host".into(),
        clock: CLOCK,
        boot_time: CLOCK.start,
        ..WriterOptions::default()
    };
    Writer::create(path, options)
}
