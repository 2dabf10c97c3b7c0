//! Sessions and the events that they recorded.

use std::path::Path;

use etw_etl::expect::Expected;
use etw_etl::format::classic::{PERFINFO_SIZE, SystemHeader, TYPE_PERFINFO_64};
use etw_etl::format::event::EVENT_HEADER_FLAG_CLASSIC_HEADER;
use etw_etl::{Clock, ClockKind, Event, EventData, FileTime, NewFile, Writer, WriterOptions};
use etw_types::{EventDescriptor, Guid, Level, Opcode};

use super::images::ImageFile;
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
/// // The driver logs its state.
/// session.capture_state(provider)?;
/// session.disable(provider)?;
///
/// let expectation: Expectation = trace.expect(event("Rundown").field("Devices", 0));
/// expectation.anywhere();
/// assert_eq!((trace.events()?.len(), trace.events_lost()?), (1, 0));
/// // One event at a time, for large traces; and as a file.
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
        let session = self.number;
        let level = level.as_int();
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
        self.host.call_for_status(request)?;
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
    #[expect(
        clippy::disallowed_methods,
        reason = "the caller chooses the file; the command passes an output that it checked"
    )]
    pub fn write_etl(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = |error: etw_etl::Error| Error::Host(error.about(path).to_string());
        let place = |error: std::io::Error| Error::Host(error.to_string());
        let file = NewFile::create(path).map_err(place)?;
        let mut writer = etl_writer(file.beside(), path).map_err(failed)?;
        let mut end = CLOCK.start;
        let mut result = Ok(());
        let mut first = true;
        let lost = self.visit(|event| {
            if result.is_ok() && std::mem::take(&mut first) {
                result = self.write_images(&mut writer, &event);
            }
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

    /// If events have stacks, writes the records of the images. With them, any reader of the file can resolve functions
    /// and lines.
    fn write_images(&self, writer: &mut Writer, first: &Event) -> Result<(), etw_etl::Error> {
        let inner = self.host.inner();
        let images = inner.images.files.iter().zip(inner.process.image_bases());
        let mut images = images.filter(|(_, base)| inner.stacks && *base != 0);
        images.try_for_each(|(image, base)| write_image(writer, first, image, base))
    }

    /// Calls `found` for each event so far, oldest first, and returns the number of lost events. Keeps at most one
    /// event in memory.
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

    /// Returns the end of the file of records, and the number of lost events.
    fn end(&self) -> Result<(u64, u64), Error> {
        match self.host.call(&Request::Events { session: self.number })? {
            Reply::Events { end, lost } => Ok((end, lost)),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

/// The clock of the timestamps. They count from the start of the machine, which has the same date and time in every
/// run.
const CLOCK: Clock = Clock {
    kind: ClockKind::PerformanceCounter,
    frequency: 10_000_000,
    start: FileTime(EPOCH.cast_signed()),
    start_stamp: 0,
};

/// The records that the kernel writes about an image: a system record for the load, and a classic event for the PDB.
const LOAD: u16 = 0x140A;
const IMAGE_ID: Guid = Guid::from_u128(0xB3E6_75D7_2554_4F18_830B_2762_7325_60DE);
const DBG_ID_RSDS: Opcode = Opcode::from_int(36);

/// Writes the records that the kernel writes when it loads an image: the address of the image, and its PDB.
fn write_image(writer: &mut Writer, first: &Event, image: &ImageFile, base: u64) -> Result<(), etw_etl::Error> {
    let process_id = first.header.process_id.unwrap_or_default();
    let name = &image.name;
    let path: Vec<u8> =
        format!("\\SystemRoot\\System32\\drivers\\{name}\0").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let place = base.to_le_bytes();
    let process = process_id.to_le_bytes();
    // Base, size, process, checksum, time stamp; then the preferred base and reserved members, and the name.
    let load = [&place[..], &image.size.to_le_bytes(), &process, &[0; 12], &place, &[0; 16], &path].concat();
    let size = u16::try_from(PERFINFO_SIZE + load.len()).unwrap_or(u16::MAX);
    let timestamp = first.header.stamp;
    let header = SystemHeader {
        version: 2,
        header_type: TYPE_PERFINFO_64,
        size,
        hook_id: LOAD,
        timestamp,
        ..SystemHeader::default()
    };
    writer.write_record(0, &[&header.to_perfinfo_bytes()[..], &load].concat(), timestamp)?;
    let Some(pdb) = &image.pdb else { return Ok(()) };
    let Ok(id) = Guid::parse(&pdb.id) else { return Ok(()) };
    let names = [&place[..], &process, &id.to_bytes_le(), &pdb.age.to_le_bytes(), pdb.path.as_bytes(), &[0]].concat();
    let descriptor = EventDescriptor { version: 2, opcode: DBG_ID_RSDS, ..EventDescriptor::default() };
    let provider = IMAGE_ID;
    let flags = EVENT_HEADER_FLAG_CLASSIC_HEADER;
    writer.write(
        0,
        &EventData { provider, descriptor, flags, process_id, timestamp, payload: &names, ..EventData::default() },
    )
}

/// Creates a file that Windows tools can read. It will be moved to `final_path`, which its header names.
fn etl_writer(path: &Path, final_path: &Path) -> Result<Writer, etw_etl::Error> {
    let options = WriterOptions {
        file_name: Some(final_path.to_string_lossy().into_owned()),
        session_name: "nt-host".into(),
        clock: CLOCK,
        boot_time: CLOCK.start,
        ..WriterOptions::default()
    };
    Writer::create(path, options)
}
