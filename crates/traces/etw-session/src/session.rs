//! A session: start or find it, query, update, flush and stop it.

use std::fmt;
use std::sync::Arc;

use etw_types::session::{MAX_NAME, TraceInfoClass, Update, empty_block, enable as property, mode};
use etw_types::{Guid, Win32Error};

use crate::explain::Call;
use crate::info::{OfSession, Queryable, Settable};
use crate::system::{Control, System, Target};
use crate::{Error, Limit, Machine, Properties, Provider, SessionStatus};

/// A session. A started session is stopped when this is dropped, an attached one is not; see [`keep`](Self::keep).
///
/// ```
/// # #[cfg(not(windows))] {
/// use etw_session::info::StreamCount;
/// use etw_session::{Enable, Machine, Properties, Provider, Session, Update};
/// use etw_types::session::TraceInfoClass;
/// use etw_types::{Guid, Level};
///
/// let machine = Machine::local();
/// let mut session: Session = machine.start(&Properties::to_consumers("Session"))?;
/// assert_eq!(session.name(), "Session");
/// assert_eq!(machine.attach("Session")?.handle(), session.handle());
/// assert!(machine.sessions()?.iter().any(|status| status.properties.name == "Session"));
///
/// // Providers and groups of them.
/// let provider: Provider<'_> = session.provider(Guid::from_name("MyDriver"));
/// provider.enable(&Enable::new(Level::Verbose).any(0x1_u64))?;
/// provider.capture()?;
/// provider.capture_with(&Enable::new(Level::Verbose))?;
/// provider.disable()?;
/// session.group(Guid::from_u128(7)).enable(&Enable::new(Level::Error))?;
///
/// // What can change while it runs.
/// session.update(&Update { flush_timer: Some(2), ..Update::default() })?;
/// session.flush()?;
/// assert!(session.increment_file().is_err(), "it has no file");
/// session.convert_to_real_time()?;
///
/// // Information classes of a session: by type, or as bytes.
/// let StreamCount(streams) = session.get()?;
/// assert_eq!(session.query_raw(TraceInfoClass::StreamCount, &[0; 4])?, streams.to_le_bytes());
/// assert!(session.set_raw(TraceInfoClass::StreamCount, &[0; 4]).is_err(), "it cannot be set");
///
/// // It stops when it is dropped, unless it is to run on.
/// session.keep();
/// session.stop_when_dropped();
/// session.stop()?;
/// # }
/// # Ok::<(), etw_session::Error>(())
/// ```
pub struct Session {
    machine: Machine,
    handle: u64,
    name: String,
    /// The GUID and mode that it was started with; private sessions are found by these.
    guid: Guid,
    mode: u32,
    stops: bool,
}

impl Machine {
    /// Starts a session.
    ///
    /// # Errors
    ///
    /// A rule of [`Properties::check`], or any error that the system returns.
    #[doc(alias = "StartTrace")]
    pub fn start(&self, properties: &Properties) -> Result<Session, Error> {
        properties.check()?;
        let mut block = properties.to_block();
        let started = self.system().start_trace(&properties.name, &mut block);
        let handle = started.map_err(Error::from_call(Call::Start))?;
        let guid = properties.guid;
        let mode = properties.mode & (mode::PRIVATE_LOGGER | mode::PRIVATE_IN_PROC);
        Ok(Session { machine: self.clone(), handle, name: properties.name.clone(), guid, mode, stops: true })
    }

    /// Finds a running session by its name. It continues when the result is dropped.
    ///
    /// This is where the handle of a session comes from that another program started: the status that `ControlTrace`
    /// returns for the name has it in `Wnode.HistoricalContext`. [`Session::set`] and [`Session::get`] use it for
    /// `TraceSetInformation` and `TraceQueryInformation`; [`Session::handle`] returns it.
    ///
    /// ```
    /// # #[cfg(not(windows))] {
    /// use etw_session::info::StackTracing;
    /// use etw_session::{Machine, Properties};
    ///
    /// let machine = Machine::local();
    /// let started = machine.start(&Properties::new("Attach").real_time().system_logger(0))?;
    ///
    /// let session = machine.attach("Attach")?;
    /// assert_eq!(session.handle(), started.handle());
    /// session.set(&StackTracing::off())?;
    /// # }
    /// # Ok::<(), etw_session::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if there is none, or any other error that the system returns.
    #[doc(alias("ControlTrace", "Wnode.HistoricalContext", "EVENT_TRACE_CONTROL_QUERY"))]
    pub fn attach(&self, name: &str) -> Result<Session, Error> {
        let block = empty_block(Guid::ZERO, 0);
        let SessionStatus { handle, .. } =
            control(self.system(), Target::Name(name), Control::Query, block, Call::Query)?;
        Ok(Session { machine: self.clone(), handle, name: name.to_owned(), guid: Guid::ZERO, mode: 0, stops: false })
    }

    /// Returns why a file of a session could not be written, if this machine knows it: the last error of the file of
    /// the session with this handle, running or stopped. Windows only counts the buffers that were not written.
    #[must_use]
    pub fn file_error(&self, session: u64) -> Option<String> {
        self.system().file_error(session)
    }

    /// Returns the running sessions.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn sessions(&self) -> Result<Vec<SessionStatus>, Error> {
        let blocks =
            self.system().query_all_traces(&empty_block(Guid::ZERO, 0)).map_err(Error::from_call(Call::QueryAll))?;
        Ok(blocks.iter().filter_map(|block| SessionStatus::parse(block)).collect())
    }
}

impl Session {
    /// Returns the name that it was started or found with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the handle.
    #[must_use]
    #[doc(alias("Wnode.HistoricalContext", "SessionHandle"))]
    pub const fn handle(&self) -> u64 {
        self.handle
    }

    /// Returns the machine that it runs on.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn system(&self) -> &Arc<dyn System> {
        self.machine.system()
    }

    /// Returns the current status of the session.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    #[doc(alias = "ControlTrace")]
    pub fn query(&self) -> Result<SessionStatus, Error> {
        self.control(Control::Query, Call::Query)
    }

    /// Updates the session. The system expects the whole block, so unchanged properties are sent with their current
    /// values: missing flags would disable the system providers.
    ///
    /// # Errors
    ///
    /// A file name that is too long, or any error that the system returns.
    pub fn update(&self, update: &Update) -> Result<SessionStatus, Error> {
        let mut properties = self.query()?.properties;
        update.apply(&mut properties);
        if let Some(file) = &update.log_file {
            Limit::no_longer("the file's name", file.to_string_lossy().encode_utf16().count(), MAX_NAME)?;
        }
        let mut block = properties.to_update_block(update.log_file.is_some());
        let target = Target::Handle(self.handle);
        let result = self.system().control_trace(target, Control::Update, &mut block);
        result.map_err(Error::from_call(Call::Update))?;
        self.query()
    }

    /// Writes out the contents of the buffers.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn flush(&self) -> Result<SessionStatus, Error> {
        self.control(Control::Flush, Call::Flush)
    }

    /// Continues with the next file if the files are numbered.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn increment_file(&self) -> Result<SessionStatus, Error> {
        self.control(Control::IncrementFile, Call::IncrementFile)
    }

    /// Finishes the file, and continues in real time only.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn convert_to_real_time(&self) -> Result<SessionStatus, Error> {
        self.control(Control::ConvertToRealTime, Call::ConvertToRealTime)
    }

    /// Stops the session and returns its final counts. Dropping also stops it; [`Machine::unstopped`] then returns any
    /// error.
    ///
    /// # Errors
    ///
    /// Any error that the system returns. Stopping is not tried again on drop.
    pub fn stop(mut self) -> Result<SessionStatus, Error> {
        self.stops = false;
        self.control(Control::Stop, Call::Stop)
    }

    /// Lets the session continue when this is dropped.
    pub fn keep(&mut self) {
        self.stops = false;
    }

    /// Stops the session when this is dropped, even an attached one.
    pub fn stop_when_dropped(&mut self) {
        self.stops = true;
    }

    /// Returns a provider on this session.
    #[must_use]
    pub const fn provider(&self, guid: Guid) -> Provider<'_> {
        Provider::new(self, guid, 0)
    }

    /// Returns a provider group on this session.
    #[must_use]
    pub const fn group(&self, guid: Guid) -> Provider<'_> {
        Provider::new(self, guid, property::PROVIDER_GROUP)
    }

    /// Sets a value on this session.
    ///
    /// # Errors
    ///
    /// Any error that the system returns, or the missing privilege if the class needs one.
    #[doc(alias = "TraceSetInformation")]
    pub fn set<T: Settable<Scope = OfSession>>(&self, information: &T) -> Result<(), Error> {
        self.machine.set_at(self.handle, information)
    }

    /// Queries an information class of this session; [`query`](Self::query) returns the status of the whole session.
    ///
    /// # Errors
    ///
    /// Any error that the system returns, or a result without the layout of its class.
    #[doc(alias = "TraceQueryInformation")]
    pub fn get<T: Queryable<Scope = OfSession, Input = ()>>(&self) -> Result<T, Error> {
        self.machine.query_at(self.handle, &())
    }

    /// `TraceSetInformation` with bytes.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    #[doc(alias = "TraceSetInformation")]
    pub fn set_raw(&self, class: TraceInfoClass, data: &[u8]) -> Result<(), Error> {
        self.machine.set_raw(self.handle, class, data)
    }

    /// `TraceQueryInformation` with bytes. The buffer starts as `start`, whose bytes the system may read, and grows as
    /// needed.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    #[doc(alias = "TraceQueryInformation")]
    pub fn query_raw(&self, class: TraceInfoClass, start: &[u8]) -> Result<Vec<u8>, Error> {
        self.machine.query_raw(self.handle, class, start)
    }

    fn control(&self, code: Control, call: Call) -> Result<SessionStatus, Error> {
        let block = empty_block(self.guid, self.mode);
        let mut status = control(self.system(), Target::Handle(self.handle), code, block, call)?;
        if status.properties.name.is_empty() {
            status.properties.name.clone_from(&self.name);
        }
        Ok(status)
    }
}

/// Calls `ControlTrace` with a new block. If a stop returns `MoreData`, the session has stopped.
fn control(
    system: &Arc<dyn System>,
    target: Target<'_>,
    code: Control,
    mut block: Vec<u8>,
    call: Call,
) -> Result<SessionStatus, Error> {
    match system.control_trace(target, code, &mut block) {
        Ok(()) => {}
        Err(Win32Error::MoreData) if code == Control::Stop => {}
        Err(error) => return Err(Error::from_code(call, error)),
    }
    SessionStatus::parse(&block).ok_or(Error::from_code(call, Win32Error::BadLength))
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.stops
            && let Err(error) = self.control(Control::Stop, Call::Stop)
        {
            self.machine.note_unstopped(&self.name, error);
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { handle, name, stops, .. } = self;
        f.debug_struct("Session")
            .field("name", name)
            .field("handle", handle)
            .field("stops", stops)
            .finish_non_exhaustive()
    }
}
