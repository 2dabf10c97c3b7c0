//! The interface to ETW: its control functions, with bytes as arguments.
//!
//! Everything else in this crate uses [`System`]. Windows and the in-process engine implement it, and a test may add
//! its own implementation. Implementations only translate and make no decisions; the callers check the rules.

use std::time::Duration;

use etw_etl::Event;
use etw_types::session::TraceInfoClass;
use etw_types::{ControlCode, Guid, Level, Win32Error};

/// The control functions of ETW. Data has the layout of 64-bit Windows.
///
/// ```
/// use etw_session::{
///     Call, Control, EnableRequest, Error, EventSource, Explanation, Machine, Malformed, Polled, Properties, Received, Refusal,
///     System, Target, explain, poll,
/// };
/// use etw_types::Win32Error;
/// use etw_types::session::TraceInfoClass;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// const NO: Win32Error = Win32Error::NotSupported;
///
/// /// A system that can do nothing but deliver the events of a session that has ended.
/// struct Nothing;
///
/// impl System for Nothing {
///     fn start_trace(&self, _name: &str, _block: &mut [u8]) -> Result<u64, Win32Error> {
///         Err(NO)
///     }
///     fn control_trace(&self, _target: Target<'_>, _control: Control, _block: &mut [u8]) -> Result<(), Win32Error> {
///         Err(NO)
///     }
///     fn query_all_traces(&self, _template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error> {
///         Ok(Vec::new())
///     }
///     fn enable_trace(&self, _session: u64, _request: &EnableRequest<'_>) -> Result<(), Win32Error> {
///         Err(NO)
///     }
///     fn set_information(&self, _session: u64, _class: TraceInfoClass, _data: &[u8]) -> Result<(), Win32Error> {
///         Err(NO)
///     }
///     fn query_information(&self, _session: u64, _class: TraceInfoClass, _buffer: &mut [u8]) -> Result<usize, Refusal> {
///         Err(NO.into())
///     }
///     fn enumerate(&self, _class: TraceInfoClass, _input: &[u8], _buffer: &mut [u8]) -> Result<usize, Refusal> {
///         Err(NO.into())
///     }
///     fn consume(&self, _name: &str) -> Result<Box<dyn EventSource>, Win32Error> {
///         Ok(poll(|| Polled::End))
///     }
///     fn file_error(&self, _session: u64) -> Option<String> {
///         Some("the disk is full".into())
///     }
///     fn enable_profile_privilege(&self) -> Result<(), Win32Error> {
///         Err(NO)
///     }
///     fn description(&self) -> &'static str {
///         "nothing"
///     }
///     fn caveat(&self) -> Option<&'static str> {
///         Some("it is an example")
///     }
/// }
///
/// let machine = Machine::with(Arc::new(Nothing));
/// assert!(machine.sessions()?.is_empty());
/// assert_eq!(machine.file_error(1).as_deref(), Some("the disk is full"));
/// let error = machine.start(&Properties::to_consumers("None")).err().ok_or("started")?;
/// assert_eq!((error.code(), error.is_unsupported()), (NO, true));
/// let explanation: Option<Explanation> = error.explanation();
/// assert_eq!(explanation, explain(Call::Start, NO));
///
/// let mut source: Box<dyn EventSource> = Nothing.consume("None").map_err(|code| code.to_string())?;
/// assert_eq!(source.receive(Duration::ZERO), Received::End);
///
/// // A system whose results make no sense.
/// let malformed = Malformed { class: TraceInfoClass::MaxLoggersQuery, reason: "three bytes" };
/// assert!(Error::from(malformed).to_string().contains("three bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait System: Send + Sync {
    /// `StartTraceW`: returns the handle. The block is `EVENT_TRACE_PROPERTIES` with room for the names. It is filled
    /// in.
    ///
    /// # Errors
    ///
    /// Any error that the function returns.
    fn start_trace(&self, name: &str, block: &mut [u8]) -> Result<u64, Win32Error>;

    /// `ControlTraceW`. The block is filled in, even if the error is `MoreData`.
    ///
    /// # Errors
    ///
    /// Any error that the function returns.
    fn control_trace(&self, target: Target<'_>, control: Control, block: &mut [u8]) -> Result<(), Win32Error>;

    /// `QueryAllTracesW`: returns a filled block for every session. Each has the size and the name offsets of
    /// `template`.
    ///
    /// # Errors
    ///
    /// Any error that the function returns.
    fn query_all_traces(&self, template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error>;

    /// `EnableTraceEx2`.
    ///
    /// # Errors
    ///
    /// Any error that the function returns.
    fn enable_trace(&self, session: u64, request: &EnableRequest<'_>) -> Result<(), Win32Error>;

    /// `TraceSetInformation`.
    ///
    /// # Errors
    ///
    /// Any error that the function returns; `CallNotImplemented` if the function does not exist.
    fn set_information(&self, session: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Win32Error>;

    /// `TraceQueryInformation`: returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// Any error that the function returns, with `ReturnLength`; `CallNotImplemented` if the function does not exist.
    fn query_information(&self, session: u64, class: TraceInfoClass, buffer: &mut [u8]) -> Result<usize, Refusal>;

    /// `EnumerateTraceGuidsEx`: returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// Any error that the function returns, with `ReturnLength`; `CallNotImplemented` if the function does not exist.
    fn enumerate(&self, class: TraceInfoClass, input: &[u8], buffer: &mut [u8]) -> Result<usize, Refusal>;

    /// `OpenTrace` and `ProcessTrace` in real time.
    ///
    /// # Errors
    ///
    /// Any error that the functions return.
    fn consume(&self, name: &str) -> Result<Box<dyn EventSource>, Win32Error>;

    /// Returns the last error of the file of a session, running or stopped. Windows does not report it; there, the only
    /// trace of such an error is the number of buffers that were not written.
    fn file_error(&self, _session: u64) -> Option<String> {
        None
    }

    /// Enables the profile privilege of the process's token.
    ///
    /// # Errors
    ///
    /// `PrivilegeNotHeld` if the token does not have it.
    fn enable_profile_privilege(&self) -> Result<(), Win32Error>;

    /// Returns what this system is, for messages.
    fn description(&self) -> &'static str;

    /// Returns what users of sessions need to know about this system, as sentences.
    fn caveat(&self) -> Option<&'static str> {
        None
    }
}

/// The error of a query, and the size that its result needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub code: Win32Error,
    /// `ReturnLength`; 0 if the function did not return it.
    pub needed: usize,
}

impl From<Win32Error> for Refusal {
    fn from(code: Win32Error) -> Self {
        Self { code, needed: 0 }
    }
}

/// The session that `ControlTrace` applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// By its handle.
    Handle(u64),
    /// By its name.
    Name(&'a str),
}

/// `EVENT_TRACE_CONTROL_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Fill in the block.
    Query = 0,
    /// Stop the session.
    Stop = 1,
    /// Change the properties that can be changed.
    Update = 2,
    /// Write out the contents of the buffers.
    Flush = 3,
    /// Continue with the next file.
    IncrementFile = 4,
    /// Deliver in real time from now on.
    ConvertToRealTime = 5,
}

/// The arguments of `EnableTraceEx2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnableRequest<'a> {
    /// The provider, or a group if the property says so.
    pub provider: Guid,
    /// Enable, disable, or capture state.
    pub control: ControlCode,
    /// The most verbose level.
    pub level: Level,
    /// An event's keyword must match at least one of these bits.
    pub any: u64,
    /// An event's keyword must match all of these bits.
    pub all: u64,
    /// How long to wait for the callbacks, in milliseconds; 0 means not to wait.
    pub timeout: u32,
    /// `EVENT_ENABLE_PROPERTY_*`.
    pub property: u32,
    /// The source id of the request.
    pub source: Guid,
    /// The filters: kind and data.
    pub filters: &'a [(u32, Vec<u8>)],
}

/// Events of a running session.
pub trait EventSource: Send {
    /// Returns the next event. Waits for at most `timeout`.
    fn receive(&mut self, timeout: Duration) -> Received;
}

/// The result of waiting for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// An event.
    Event(Box<Event>),
    /// No event arrived in time.
    Nothing,
    /// The session has stopped and all events were delivered.
    End,
    /// Reading failed; no more events will follow.
    Failed(Win32Error),
}
