//! A host with one driver.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nt_machine::{Callbacks, Coverage, Gap, GapKind, Notification, Notified};

use super::coverage::CoverageFile;
use super::images::{ImageFile, ImageFiles};
use super::target::Target;
use super::{Builder, Device, Trace, TraceSession};
use crate::Error;
use crate::child::Process;
use crate::report::{LineCoverage, Losses, Report};
use crate::wire::{Reply, Request};

/// The data that all handles of a host share.
pub(crate) struct Inner {
    pub(crate) process: Process,
    pub(crate) images: Arc<ImageFiles>,
    /// Whether there is a session that records everything.
    pub(crate) traces: bool,
    /// Notes about the image that are not mistakes.
    pub(crate) notes: Vec<String>,
    /// Whether events have stacks.
    pub(crate) stacks: bool,
    /// The kinds of gaps that the test intends.
    pub(crate) allowed: Vec<GapKind>,
    /// Which code of the driver ran, if that is recorded.
    pub(crate) coverage: Option<Coverage>,
    pub(crate) coverage_file: Option<CoverageFile>,
    /// The calls of the driver's functions, if they are recorded.
    pub(crate) callbacks: Option<Callbacks>,
}

impl Inner {
    fn line_coverage(&self) -> LineCoverage {
        let symbols = &self.images.driver().symbols;
        self.coverage.as_ref().map(|coverage| LineCoverage::new(coverage, symbols)).unwrap_or_default()
    }

    /// Writes the file with the lines that ran, unless the driver never ran.
    fn write_coverage(&self) -> io::Result<()> {
        let ran = self.coverage.as_ref().is_some_and(|coverage| coverage.hits() != 0);
        self.coverage_file.as_ref().filter(|_| ran).map_or(Ok(()), |file| file.add(|| self.line_coverage()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.write_coverage() {
            eprintln!("nt-host: cannot write which lines ran: {error}");
        }
    }
}

/// A kernel with one driver in it. The driver's process ends when the last handle is dropped.
///
/// ```no_run
/// use etw_types::Guid;
/// use nt_host::{Location, NtHost, Report, Storm};
///
/// let host = NtHost::builder().driver("my_driver.sys").start()?;
/// println!("process {}, {} events so far", host.process_id(), host.events_written()?);
/// host.notes().iter().for_each(|note| println!("{note}"));
/// host.files().iter().for_each(|file| println!("reads {}", file.display()));
///
/// // The driver is loaded and unloaded while threads send requests.
/// let storm = Storm {
///     rounds: 10,
///     threads: 4,
///     requests: 100,
///     provider: Guid::from_name("MyDriver"),
///     code: 0x0022_E000,
///     input: b"hello".to_vec(),
///     output: 64,
/// };
/// host.storm(&storm)?.assert_clean();
///
/// // The routines that can fail, with the number of calls of each: `Matrix` makes each call fail.
/// for (routine, calls) in host.fallible_calls()? {
///     println!("{routine}: {calls}");
/// }
///
/// // The findings so far, and the place of an address in the driver's sources.
/// let report: Report = host.report();
/// let mut decoder = host.decoder();
/// for event in host.trace().events()? {
///     let line = decoder.decode(&event.as_ref());
///     let innermost: Option<Location> = event.stack().and_then(|stack| host.locate(*stack.first()?));
///     let inlined: Vec<Location> = event.stack().and_then(|stack| Some(host.locate_all(*stack.first()?))).unwrap_or_default();
///     println!("{line} at {innermost:?}, inside of {} functions", inlined.len());
/// }
/// assert!(report.is_clean());
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone)]
pub struct NtHost {
    pub(super) inner: Arc<Inner>,
}

impl NtHost {
    /// Returns a builder for a host.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) const fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    pub(super) const fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Returns the ID of the process that runs the driver, for a debugger.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.inner.process.id()
    }

    /// Loads the driver and calls its entry point.
    ///
    /// # Errors
    ///
    /// Fails if this Windows does not load the driver, or if `DriverEntry` fails or stops the machine.
    pub fn load(&self) -> Result<(), Error> {
        match self.call(&Request::Load {})? {
            Reply::Status { status } if status.is_success() => Ok(()),
            Reply::Status { status } => Err(Error::DriverEntry(status, Box::new(self.report()))),
            Reply::NotLoaded { status, reason } => Err(Error::NotLoaded(status, reason)),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Calls the driver's unload routine, and returns the report, including leaks. The driver can be loaded again.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine, or with [`Error::NotUnloaded`] if it has no unload routine.
    pub fn unload(&self) -> Result<Report, Error> {
        match self.call_for_status(&Request::Unload {}) {
            Ok(()) => Ok(self.report()),
            Err(Error::Status(_)) => Err(Error::NotUnloaded),
            Err(error) => Err(error),
        }
    }

    /// Adds a device to the driver and starts it: by Plug and Play, or a device that the driver created itself.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it does not accept the device. The report then has a [`Gap`], and is not clean
    /// unless [`Builder::allow`] says that the test intends this. Also fails if the driver stops the machine.
    pub fn add_device(&self) -> Result<Device, Error> {
        match self.call(&Request::AddDevice {})? {
            Reply::Number { number } => Ok(Device::new(self.clone(), number)),
            Reply::Status { status } => Err(Error::Status(status)),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Starts a session.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone.
    pub fn session(&self, name: &str) -> Result<TraceSession, Error> {
        match self.call(&Request::Session { name: name.to_owned() })? {
            Reply::Number { number } => Ok(TraceSession::new(self.clone(), number as u32)),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Returns the trace of all events, if the host was built with [`Builder::trace_all`]; otherwise it is empty.
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace::new(self.clone(), 0)
    }

    /// Lets time pass: timers expire and waits end, in their order and without delay.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn advance(&self, time: Duration) -> Result<(), Error> {
        let units = u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX);
        self.call_for_status(&Request::Advance { time: units })
    }

    /// Notifies the driver of an event in the system: processes, threads, images, the registry, handles, the
    /// removal of a device of another driver. Its notification routines are called at once, one after the other.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn notify(&self, notification: Notification) -> Result<Notified, Error> {
        match self.call(&Request::Notify { notification })? {
            Reply::Notified { called, status, access } => Ok(Notified { called, status, access }),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Returns the routines that the driver called and that can fail, with the number of calls of each. Calls that undo
    /// an earlier one, such as the removal of a notification routine, do not fail and are not counted.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone.
    pub fn fallible_calls(&self) -> Result<Vec<(String, u64)>, Error> {
        match self.call(&Request::Calls {})? {
            Reply::Calls { calls } => Ok(calls),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Returns the number of events that the driver has written: the calls for which ETW returned success, whether or
    /// not a session recorded the event. A session that records everything has lost the events that it did not record.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone.
    pub fn events_written(&self) -> Result<u64, Error> {
        match self.call(&Request::Written {})? {
            Reply::Number { number } => Ok(number),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Returns the findings and the debug output so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let findings = self.inner.process.records().iter().map(|record| self.name(record)).collect();
        let events = if self.inner.traces { self.trace().events_lost().unwrap_or_default() } else { 0 };
        let process = &self.inner.process;
        let losses = Losses { findings: process.findings_cut(), events, output: process.output_dropped() };
        Report::new(findings, process.output()).with_losses(losses).with_gaps(self.gaps())
    }

    /// Returns what the run has not exercised so far, except for the kinds that [`Builder::allow`](crate::Builder::allow) names.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let before = host.gaps().len();
    /// let _ = host.open(r"\\.\MyDevice");
    /// assert_eq!(host.gaps().len(), before, "the request to open the device reached the driver");
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = match self.call(&Request::Gaps {}) {
            Ok(Reply::Gaps { gaps }) => gaps,
            Ok(_) => Vec::new(),
            // Without the process, nobody knows how far the run came.
            Err(error) => vec![Gap { kind: GapKind::NotFinished, detail: error.to_string(), advice: Vec::new() }],
        };
        gaps.retain(|gap| !self.inner.allowed.contains(&gap.kind));
        gaps
    }

    /// Returns which blocks of the driver's code ran so far, if [`Builder::measure_coverage`] or [`Builder::coverage`] was
    /// called.
    #[must_use]
    pub fn coverage(&self) -> Option<&Coverage> {
        self.inner.coverage.as_ref()
    }

    /// Returns which source lines of the driver ran so far. Empty if the driver has no PDB, or if this is not recorded.
    #[must_use]
    pub fn line_coverage(&self) -> LineCoverage {
        self.inner.line_coverage()
    }

    /// Writes the lines that ran to the file that [`Builder::coverage`] names, now and not when the last handle is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_coverage(&self) -> Result<(), Error> {
        self.inner.write_coverage().map_err(|error| Error::Host(error.to_string()))
    }

    /// Returns the files that the run reads, which no output may replace: the driver and the other images, and their PDBs
    /// and linker maps if they exist.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let files = |image: &ImageFile| {
            let symbols = image.symbols.files().filter(|path| path.exists()).map(Path::to_owned);
            [image.path.clone()].into_iter().chain(symbols).collect::<Vec<_>>()
        };
        self.inner.images.files.iter().flat_map(files).collect()
    }

    /// Returns notes about the image that break no rule of this run, such as that memory integrity would refuse it.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.inner.notes
    }
}

impl Target {
    /// Starts a process for the driver.
    pub(crate) fn host(&self) -> Result<NtHost, Error> {
        let process = Process::start(&self.guests, &self.config).map_err(Error::Process)?;
        let images = Arc::clone(&self.images);
        let notes = self.notes.clone();
        let allowed = self.allowed.clone();
        let traces = self.config.trace_all;
        let stacks = self.config.stacks;
        let coverage = self.config.coverage.clone();
        let callbacks = self.config.callbacks.clone();
        let coverage_file = self.coverage_file.clone().map(CoverageFile::new);
        let inner = Inner { process, images, traces, notes, stacks, allowed, coverage, coverage_file, callbacks };
        Ok(NtHost::new(Arc::new(inner)))
    }
}

impl fmt::Debug for NtHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtHost").field("process", &self.inner.process).finish_non_exhaustive()
    }
}
