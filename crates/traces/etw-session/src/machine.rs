//! The machine: where sessions run, what is set for all of them, and which providers are registered.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etw_types::Guid;
use etw_types::session::TraceInfoClass;

use crate::explain::Call;
use crate::grow::grow;
use crate::info::{
    Enumerable, Facts, GroupInstances, MaxSessions, OfMachine, Privilege, ProcessProviders, ProviderGroups,
    ProviderInstances, Queryable, RegisteredProviders, Settable,
};
use crate::platform;
use crate::system::{EventSource, Received, System};
use crate::{Error, Session};

/// An ETW implementation: that of the system, or an engine. Clones refer to the same machine.
///
/// ```
/// # #[cfg(not(windows))] {
/// use etw_session::info::{MaxSessions, ProfileSources, RegisteredProviders, SampleInterval};
/// use etw_session::{Consumer, Machine, Properties, Received, Unstopped};
/// use etw_types::session::TraceInfoClass;
/// use std::time::Duration;
///
/// let machine = Machine::local();
/// assert!(machine.description().contains("engine"), "{}", machine.description());
/// assert!(machine.caveat().is_some(), "what an engine cannot do");
///
/// // Information classes of the machine: by type, or as bytes.
/// let MaxSessions(sessions) = machine.query()?;
/// assert_eq!(machine.max_sessions()?, sessions);
/// let ProfileSources(sources) = machine.query()?;
/// let interval: SampleInterval = machine.query_for(&sources[0].source)?;
/// machine.set(&interval)?;
/// let class = etw_session::info::find("sample-interval").expect("a class");
/// machine.set_data(0, class, &etw_session::info::Information::encode(&interval))?;
/// let bytes = machine.query_raw(0, TraceInfoClass::MaxLoggersQuery, &[0; 4])?;
/// assert_eq!(bytes, sessions.to_le_bytes());
/// # let _ = machine.set_raw(0, TraceInfoClass::MaxLoggersQuery, &bytes);
///
/// // Who is registered.
/// let providers: RegisteredProviders = machine.enumerate(&())?;
/// assert_eq!(machine.providers()?, providers.0);
/// assert!(!machine.enumerate_raw(TraceInfoClass::GuidQueryList, &[])?.is_empty() || providers.0.is_empty());
/// # let _ = (machine.providers_of_this_process(), machine.groups(), machine.group(etw_types::Guid::ZERO));
///
/// // Events while a session runs.
/// let session = machine.start(&Properties::to_consumers("Machine"))?;
/// let mut consumer: Consumer = machine.consume(&session)?;
/// assert_eq!(consumer.receive(Duration::ZERO), Received::Nothing);
/// session.stop()?;
///
/// // A session that is dropped is stopped; what went wrong then is here.
/// let unstopped: Vec<Unstopped> = machine.unstopped();
/// assert!(unstopped.is_empty());
/// # }
/// # Ok::<(), etw_session::Error>(())
/// ```
#[derive(Clone)]
pub struct Machine {
    system: Arc<dyn System>,
    unstopped: Arc<Mutex<Vec<Unstopped>>>,
}

/// A session that could not be stopped when it was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstopped {
    /// Its name.
    pub session: String,
    /// The reason.
    pub error: Error,
}

impl Machine {
    /// Returns the machine that this process runs on: Windows, or on other systems the engine of this process.
    #[must_use]
    pub fn local() -> Self {
        Self::with(platform::local())
    }

    /// Creates a machine from any other system.
    #[must_use]
    pub fn with(system: Arc<dyn System>) -> Self {
        Self { system, unstopped: Arc::default() }
    }

    /// Returns what this machine is, for messages.
    #[must_use]
    pub fn description(&self) -> &'static str {
        self.system.description()
    }

    /// Returns what users of sessions need to know about this machine, as sentences.
    #[must_use]
    pub fn caveat(&self) -> Option<&'static str> {
        self.system.caveat()
    }

    pub(crate) const fn system(&self) -> &Arc<dyn System> {
        &self.system
    }

    pub(crate) fn note_unstopped(&self, session: &str, error: Error) {
        let mut unstopped = self.unstopped.lock().unwrap_or_else(PoisonError::into_inner);
        unstopped.push(Unstopped { session: session.to_owned(), error });
    }

    /// Removes and returns the sessions that could not be stopped when they were dropped, with the reasons.
    #[must_use]
    pub fn unstopped(&self) -> Vec<Unstopped> {
        std::mem::take(&mut self.unstopped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets a value for the whole machine.
    ///
    /// # Errors
    ///
    /// Any error that the system returns, or the missing privilege if the class needs one.
    pub fn set<T: Settable<Scope = OfMachine>>(&self, information: &T) -> Result<(), Error> {
        self.set_at(0, information)
    }

    /// Queries a value of the machine.
    ///
    /// # Errors
    ///
    /// Any error that the system returns, or a result without the layout of its class.
    pub fn query<T: Queryable<Scope = OfMachine, Input = ()>>(&self) -> Result<T, Error> {
        self.query_at(0, &())
    }

    /// Queries a value of the machine that needs an input.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub fn query_for<T: Queryable<Scope = OfMachine>>(&self, input: &T::Input) -> Result<T, Error> {
        self.query_at(0, input)
    }

    /// Queries a class through `EnumerateTraceGuidsEx`.
    ///
    /// # Errors
    ///
    /// Any error that the system returns, or a result without the layout of its class.
    pub fn enumerate<T: Enumerable>(&self, input: &T::Input) -> Result<T, Error> {
        let result = self.enumerate_raw(T::CLASS, &T::input_bytes(input))?;
        Ok(T::decode(&result)?)
    }

    pub(crate) fn set_at<T: Settable>(&self, handle: u64, information: &T) -> Result<(), Error> {
        self.set_with(T::PRIVILEGE, handle, T::CLASS, &information.encode())
    }

    /// Sets a class that is chosen at run time to data in its layout, such as that of [`Words`](crate::info::Words). A
    /// class that cannot be set is refused by the system.
    ///
    /// # Errors
    ///
    /// Any error that the system returns, or the missing privilege if the class needs one.
    pub fn set_data(&self, handle: u64, facts: &Facts, data: &[u8]) -> Result<(), Error> {
        self.set_with(facts.set.map_or(Privilege::None, |set| set.privilege), handle, facts.class, data)
    }

    fn set_with(&self, privilege: Privilege, handle: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Error> {
        match privilege {
            Privilege::None => {}
            // It is not documented whether the class needs the privilege. If it does, the call below fails.
            Privilege::Helps => drop(self.system.enable_profile_privilege()),
            Privilege::Needed => {
                self.system.enable_profile_privilege().map_err(Error::from_call(Call::Privilege))?;
            }
        }
        self.set_raw(handle, class, data)
    }

    pub(crate) fn query_at<T: Queryable>(&self, handle: u64, input: &T::Input) -> Result<T, Error> {
        let result = self.query_raw(handle, T::CLASS, &T::buffer(input))?;
        Ok(T::decode(&result)?)
    }

    /// `TraceSetInformation` with bytes.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn set_raw(&self, handle: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Error> {
        self.system.set_information(handle, class, data).map_err(Error::from_call(Call::Set(class)))
    }

    /// `TraceQueryInformation` with bytes. The buffer starts as `start`, whose bytes the system may read, and grows as
    /// needed.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn query_raw(&self, handle: u64, class: TraceInfoClass, start: &[u8]) -> Result<Vec<u8>, Error> {
        let result = grow(start, |buffer| self.system.query_information(handle, class, buffer));
        result.map_err(Error::from_call(Call::QueryInformation(class)))
    }

    /// `EnumerateTraceGuidsEx` with bytes. The buffer grows as needed.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn enumerate_raw(&self, class: TraceInfoClass, input: &[u8]) -> Result<Vec<u8>, Error> {
        let result = grow(&[], |buffer| self.system.enumerate(class, input, buffer));
        result.map_err(Error::from_call(Call::Enumerate(class)))
    }

    /// Returns the providers that are registered, or enabled but not registered yet.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn providers(&self) -> Result<Vec<Guid>, Error> {
        Ok(self.enumerate::<RegisteredProviders>(&())?.0)
    }

    /// Returns the providers that this process registered.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn providers_of_this_process(&self) -> Result<Vec<Guid>, Error> {
        Ok(self.enumerate::<ProcessProviders>(&())?.0)
    }

    /// Returns the registrations of a provider and the sessions that enabled it.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn provider(&self, guid: Guid) -> Result<ProviderInstances, Error> {
        self.enumerate(&guid)
    }

    /// Returns the provider groups.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn groups(&self) -> Result<Vec<Guid>, Error> {
        Ok(self.enumerate::<ProviderGroups>(&())?.0)
    }

    /// Returns the members of a group and the sessions that enabled it.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn group(&self, guid: Guid) -> Result<GroupInstances, Error> {
        self.enumerate(&guid)
    }

    /// Returns the maximum number of sessions. According to the header this is queried, according to Microsoft Learn it
    /// is enumerated. If the query fails, the enumeration is tried.
    ///
    /// # Errors
    ///
    /// The error of the query, if both fail.
    pub fn max_sessions(&self) -> Result<u32, Error> {
        let queried = self.query::<MaxSessions>();
        let result = queried.or_else(|error| self.enumerate::<MaxSessions>(&()).map_err(|_| error));
        result.map(|MaxSessions(most)| most)
    }

    /// Reads the events of a real-time session while it runs.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn consume(&self, session: &Session) -> Result<Consumer, Error> {
        let source = self.system.consume(session.name()).map_err(Error::from_call(Call::Consume))?;
        Ok(Consumer(source))
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Machine").field(&self.description()).finish()
    }
}

/// A reader of a session's events. Dropping it disconnects.
pub struct Consumer(Box<dyn EventSource>);

impl Consumer {
    /// Returns the next event. Waits for at most `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Received {
        self.0.receive(timeout)
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Consumer")
    }
}
