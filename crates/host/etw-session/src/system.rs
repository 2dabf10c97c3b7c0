//! The seam to ETW: its control functions as they are, over bytes.
//!
//! Everything else in this crate is written against [`System`]: Windows is one, an engine in the process is another, and a
//! test may script a third. Implementations translate and decide nothing; the rules are above them.

use std::time::Duration;

use etw_etl::Event;
use etw_types::session::TraceInfoClass;
use etw_types::{ControlCode, Guid, Level, Win32Error};

/// The control functions of ETW. Data has the layouts of 64-bit Windows.
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
/// let error = machine.start(&Properties::to_consumers("None")).err().ok_or("started")?;
/// assert_eq!((error.code(), error.is_unsupported()), (NO, true));
/// let explanation: Option<Explanation> = error.explanation();
/// assert_eq!(explanation, explain(Call::Start, NO));
///
/// let mut source: Box<dyn EventSource> = Nothing.consume("None").map_err(|code| code.to_string())?;
/// assert_eq!(source.receive(Duration::ZERO), Received::End);
///
/// // A system whose answers make no sense.
/// let malformed = Malformed { class: TraceInfoClass::MaxLoggersQuery, reason: "three bytes" };
/// assert!(Error::from(malformed).to_string().contains("three bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait System: Send + Sync {
    /// `StartTraceW`: returns the handle. The block is `EVENT_TRACE_PROPERTIES` with room for the names, and is filled in.
    ///
    /// # Errors
    ///
    /// What the function answered.
    fn start_trace(&self, name: &str, block: &mut [u8]) -> Result<u64, Win32Error>;

    /// `ControlTraceW`. The block is filled in, also where the answer is `MoreData`.
    ///
    /// # Errors
    ///
    /// What the function answered.
    fn control_trace(&self, target: Target<'_>, control: Control, block: &mut [u8]) -> Result<(), Win32Error>;

    /// `QueryAllTracesW`: a filled block for every session, each of `size` bytes with these offsets of the names.
    ///
    /// # Errors
    ///
    /// What the function answered.
    fn query_all_traces(&self, template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error>;

    /// `EnableTraceEx2`.
    ///
    /// # Errors
    ///
    /// What the function answered.
    fn enable_trace(&self, session: u64, request: &EnableRequest<'_>) -> Result<(), Win32Error>;

    /// `TraceSetInformation`.
    ///
    /// # Errors
    ///
    /// What the function answered; `CallNotImplemented` where there is no such function.
    fn set_information(&self, session: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Win32Error>;

    /// `TraceQueryInformation`: returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// What the function answered, with `ReturnLength`; `CallNotImplemented` where there is no such function.
    fn query_information(&self, session: u64, class: TraceInfoClass, buffer: &mut [u8]) -> Result<usize, Refusal>;

    /// `EnumerateTraceGuidsEx`: returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// What the function answered, with `ReturnLength`; `CallNotImplemented` where there is no such function.
    fn enumerate(&self, class: TraceInfoClass, input: &[u8], buffer: &mut [u8]) -> Result<usize, Refusal>;

    /// `OpenTrace` and `ProcessTrace` in real time.
    ///
    /// # Errors
    ///
    /// What the functions answered.
    fn consume(&self, name: &str) -> Result<Box<dyn EventSource>, Win32Error>;

    /// Turns on the profile privilege of the process's token.
    ///
    /// # Errors
    ///
    /// `PrivilegeNotHeld` where the token does not have it.
    fn enable_profile_privilege(&self) -> Result<(), Win32Error>;

    /// What this system is, for messages.
    fn description(&self) -> &'static str;

    /// What a user of sessions has to know about this system, as sentences.
    fn caveat(&self) -> Option<&'static str> {
        None
    }
}

/// A refused query and how much room the answer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub code: Win32Error,
    /// `ReturnLength`; 0 where the function did not say.
    pub needed: usize,
}

impl From<Win32Error> for Refusal {
    fn from(code: Win32Error) -> Self {
        Self { code, needed: 0 }
    }
}

/// Which session `ControlTrace` is about.
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
    /// Stop.
    Stop = 1,
    /// Change what can be changed.
    Update = 2,
    /// Write out what the buffers hold.
    Flush = 3,
    /// Go on with the next file.
    IncrementFile = 4,
    /// Deliver in real time from here on.
    ConvertToRealTime = 5,
}

/// The arguments of `EnableTraceEx2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnableRequest<'a> {
    /// The provider, or a group with that property.
    pub provider: Guid,
    /// Enable, disable, or ask for state.
    pub control: ControlCode,
    /// The most verbose level.
    pub level: Level,
    /// An event's keyword needs one of these bits.
    pub any: u64,
    /// An event's keyword needs all of these bits.
    pub all: u64,
    /// How long to wait for the callbacks, in milliseconds; 0 does not wait.
    pub timeout: u32,
    /// `EVENT_ENABLE_PROPERTY_*`.
    pub property: u32,
    /// Who asks.
    pub source: Guid,
    /// The filters: kind and data.
    pub filters: &'a [(u32, Vec<u8>)],
}

/// Events of a session while it runs.
pub trait EventSource: Send {
    /// The next event; waits for so long.
    fn receive(&mut self, timeout: Duration) -> Received;
}

/// What came of waiting for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// An event.
    Event(Box<Event>),
    /// Nothing in time.
    Nothing,
    /// The session has stopped and everything was delivered.
    End,
    /// Reading failed; nothing more will come.
    Failed(Win32Error),
}
