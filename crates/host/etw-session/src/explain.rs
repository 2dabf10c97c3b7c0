//! What the codes of session control mean: name, cause, advice.
//!
//! One code has different causes in different functions, so an explanation belongs to a call. The texts follow the
//! public documentation of the functions and what users of other tools ran into.

mod texts;

use std::fmt;

use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;

use texts::{general, particular};

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// `StartTrace`.
    Start,
    /// `ControlTrace` with the code for query.
    Query,
    /// `ControlTrace` with the code for stop.
    Stop,
    /// `ControlTrace` with the code for update.
    Update,
    /// `ControlTrace` with the code for flush.
    Flush,
    /// `ControlTrace` with the code for another file.
    IncrementFile,
    /// `ControlTrace` with the code that makes it deliver in real time.
    ConvertToRealTime,
    /// `QueryAllTraces`.
    QueryAll,
    /// `EnableTraceEx2`.
    Enable,
    /// `TraceSetInformation`.
    Set(TraceInfoClass),
    /// `TraceQueryInformation`.
    QueryInformation(TraceInfoClass),
    /// `EnumerateTraceGuidsEx`.
    Enumerate(TraceInfoClass),
    /// `OpenTrace` and `ProcessTrace`.
    Consume,
    /// Turning the profile privilege on.
    Privilege,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("StartTrace"),
            Self::Query => f.write_str("ControlTrace(query)"),
            Self::Stop => f.write_str("ControlTrace(stop)"),
            Self::Update => f.write_str("ControlTrace(update)"),
            Self::Flush => f.write_str("ControlTrace(flush)"),
            Self::IncrementFile => f.write_str("ControlTrace(increment file)"),
            Self::ConvertToRealTime => f.write_str("ControlTrace(convert to real time)"),
            Self::QueryAll => f.write_str("QueryAllTraces"),
            Self::Enable => f.write_str("EnableTraceEx2"),
            Self::Set(class) => write!(f, "TraceSetInformation(class {})", class.as_int()),
            Self::QueryInformation(class) => write!(f, "TraceQueryInformation(class {})", class.as_int()),
            Self::Enumerate(class) => write!(f, "EnumerateTraceGuidsEx(class {})", class.as_int()),
            Self::Consume => f.write_str("OpenTrace"),
            Self::Privilege => f.write_str("AdjustTokenPrivileges"),
        }
    }
}

/// The meaning of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The C name, without `ERROR_`.
    pub name: &'static str,
    /// Why, as a clause without a semicolon.
    pub cause: &'static str,
    /// What to do, as an imperative.
    pub advice: &'static str,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.name, self.cause, self.advice)
    }
}

/// What `code` means as the answer of `call`; `None` for a code that is not known.
#[must_use]
pub fn explain(call: Call, code: Win32Error) -> Option<Explanation> {
    let (name, cause, advice) = general(code)?;
    let (cause, advice) = particular(call, code).unwrap_or((cause, advice));
    Some(Explanation { name, cause, advice })
}
