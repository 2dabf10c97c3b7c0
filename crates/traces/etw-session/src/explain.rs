//! The meaning of the error codes of session control: name, cause, advice.
//!
//! One code has different causes in different functions, so an explanation belongs to a call. The texts are based on
//! the public documentation of the functions and on problems that users of other tools reported.

mod names;
mod texts;

use std::fmt;

use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;

use crate::platform::message;
use texts::{general, particular};

/// The function that was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// `StartTrace`.
    Start,
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_QUERY`.
    Query,
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_STOP`.
    Stop,
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_UPDATE`.
    Update,
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_FLUSH`.
    Flush,
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_INCREMENT_FILE`.
    IncrementFile,
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME`.
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
    /// Enabling the profile privilege.
    Privilege,
    /// Writing the registry.
    Registry,
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
            Self::Registry => f.write_str("the registry"),
        }
    }
}

/// The meaning of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The C name, without `ERROR_`.
    pub name: &'static str,
    /// The cause, as a clause without a semicolon.
    pub cause: &'static str,
    /// The advice, as an imperative.
    pub advice: &'static str,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.name, self.cause, self.advice)
    }
}

/// Returns what `code` means if `call` returns it, or `None` if this crate has no text for the code. The message of
/// [`Error`](crate::Error) covers every code.
#[must_use]
pub fn explain(call: Call, code: Win32Error) -> Option<Explanation> {
    let (cause, advice) = particular(call, code).or_else(|| general(code))?;
    Some(Explanation { name: names::name(code.as_int())?, cause, advice })
}

/// Describes a code without a text in this crate: its name, and on Windows the system's own message.
pub(crate) fn describe(code: Win32Error) -> String {
    let code = code.as_int();
    match (names::name(code), message(code)) {
        (Some(name), Some(text)) => format!("{name}: {text}"),
        (Some(name), None) => format!("{name}; `net helpmsg {code}` prints its text on Windows"),
        (None, Some(text)) => text,
        (None, None) => "not a documented Win32 error; a program may have defined it".to_owned(),
    }
}
