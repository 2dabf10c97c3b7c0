//! What the codes of session control mean: name, cause, advice.
//!
//! One code has different causes in different functions, so an explanation belongs to a call. The texts follow the
//! public documentation of the functions and what users of other tools ran into.

use std::fmt;

use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;

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
    /// Why, as a clause.
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

type Texts = (&'static str, &'static str);

/// Causes that depend on the function.
fn particular(call: Call, code: Win32Error) -> Option<Texts> {
    use Call::{Consume, Enable, Query, Set, Start, Stop, Update};
    Some(match (call, code.as_int()) {
        (Start, 24) => ("the block of properties has no room for the names", "use a shorter session or file name"),
        (Start, 87) => (
            "a property, an offset or a combination of logging modes is not accepted",
            "compare the modes with the documented conflicts",
        ),
        (Start | Update, 161) => (
            "the file is in use by another session, or neither a file nor real time was asked for",
            "name another file, or ask for real time or buffering",
        ),
        (Start, 1450) => (
            "every session slot is taken, or all eight of the system logger",
            "stop a session that nobody needs; class 19 tells the cap",
        ),
        (Enable, 1) => ("the provider is not registered and its level cannot be changed", "start the provider first"),
        (Enable, 87) => ("the provider, the session or a filter is not valid", "check the GUID and the filters"),
        (Enable, 1450) => ("eight sessions have enabled this provider already", "disable it in another session"),
        (Enable, 1460) => (
            "the provider's callback did not return in time; the request stands",
            "wait longer, or look at what the callback does",
        ),
        (Stop, 234) => ("the session has stopped; its names did not fit", "nothing: the stop succeeded"),
        (Query, 234) => ("the names did not fit into the answer", "report it: room for the longest names was given"),
        (Set(_), 87) => (
            "the class is unknown to this version of Windows, the session is of the wrong kind, or a value is out of range",
            "look at the table of classes; some need a system logger session",
        ),
        (Consume, 5) => (
            "you are not allowed to read this session, or the system has no consumers (Wine)",
            "run elevated or join Performance Log Users",
        ),
        _ => return None,
    })
}

/// Name, and what the code says whoever answers it.
fn general(code: Win32Error) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match code.as_int() {
        1 => ("INVALID_FUNCTION", "the request does not fit the provider's state", "start the provider first"),
        2 => ("FILE_NOT_FOUND", "there is no such file", "check the path"),
        3 => ("PATH_NOT_FOUND", "there is no such folder", "make the folder first"),
        5 => (
            "ACCESS_DENIED",
            "you may not control trace sessions",
            "run elevated or join Performance Log Users; the kernel's own session needs an administrator",
        ),
        6 => ("INVALID_HANDLE", "the handle is not of a running session", "find the session by its name"),
        8 | 14 => ("NOT_ENOUGH_MEMORY", "there is no memory for the buffers", "ask for fewer or smaller buffers"),
        24 => ("BAD_LENGTH", "the data is shorter than the least length or no multiple of it", "check the layout"),
        31 => ("GEN_FAILURE", "a device or driver failed", "try again; look at the system's event log"),
        32 => ("SHARING_VIOLATION", "another process has the file open", "close it there, or name another file"),
        50 => ("NOT_SUPPORTED", "this class or function is not for that", "look at the table of classes"),
        87 => ("INVALID_PARAMETER", "a value is not accepted", "check the arguments"),
        112 => (
            "DISK_FULL",
            "the disk has less room than the largest file, or 200 MB on the system's disk",
            "free some room or ask for a smaller file",
        ),
        120 => ("CALL_NOT_IMPLEMENTED", "not supported here: this system has no such function", "use Windows"),
        122 => ("INSUFFICIENT_BUFFER", "the answer grew faster than its buffer", "try again"),
        126 => ("MOD_NOT_FOUND", "a library of the system is missing", "use a later version of Windows"),
        127 => ("PROC_NOT_FOUND", "not supported here: the function is missing", "use a later version of Windows"),
        161 => ("BAD_PATHNAME", "the file cannot be used", "name another file"),
        170 => (
            "BUSY",
            "somebody else owns the performance counters",
            "ask class 25 who, stop that profiler or hypervisor feature",
        ),
        183 => (
            "ALREADY_EXISTS",
            "a session of that name or GUID is running",
            "attach to it, stop it first, or choose another name",
        ),
        234 => ("MORE_DATA", "the answer did not fit", "try again"),
        534 => ("ARITHMETIC_OVERFLOW", "a size is too large", "ask for less"),
        591 => (
            "SYSTEM_PROCESS_TERMINATED",
            "the driver under test has stopped its machine",
            "look at the host's findings; the trace ends there",
        ),
        998 => ("NOACCESS", "memory of the call could not be read or written", "report it: this is a mistake here"),
        1067 => (
            "PROCESS_ABORTED",
            "the process that runs the driver is gone or does not answer",
            "start the host again; the file is readable up to its last buffer",
        ),
        1131 => (
            "POSSIBLE_DEADLOCK",
            "the call came from a callback of the provider that it concerns",
            "control the session from another thread",
        ),
        1168 => ("NOT_FOUND", "there is no such element", "check the arguments"),
        1223 => ("CANCELLED", "reading was ended by its callback", "nothing: this is how reading stops"),
        1300 | 1314 => (
            "PRIVILEGE_NOT_HELD",
            "the profile privilege is missing",
            "run as an administrator, whose token has SeSystemProfilePrivilege",
        ),
        1392 => ("FILE_CORRUPT", "the file is damaged", "decode what is left of it"),
        1450 => ("NO_SYSTEM_RESOURCES", "a limit of the system is reached", "stop what nobody needs"),
        1460 => ("TIMEOUT", "the wait was too short", "wait longer"),
        2402 => ("ACTIVE_CONNECTIONS", "the session is being stopped already", "wait for it"),
        4201 => (
            "WMI_INSTANCE_NOT_FOUND",
            "no such session is running, or nobody knows the GUID",
            "list the sessions or providers and check the name",
        ),
        7007 => ("CTX_CLOSE_PENDING", "reading ends after the buffers that wait", "nothing: it ends by itself"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use etw_types::Win32Error;

    use super::{Call, explain};

    /// Every code that the documentation of these functions names, or that was seen in practice.
    const CODES: [u32; 24] =
        [1, 2, 5, 6, 8, 14, 24, 32, 50, 87, 112, 120, 122, 161, 170, 183, 234, 998, 1223, 1314, 1450, 1460, 2402, 4201];

    #[test]
    fn every_code_of_session_control_has_a_name_a_cause_and_advice() {
        for code in CODES.into_iter().chain([7007]) {
            let explanation = explain(Call::Query, Win32Error::from_int(code)).unwrap_or_else(|| panic!("{code}"));
            assert!(!explanation.cause.is_empty() && !explanation.advice.is_empty(), "{code}");
        }
    }

    #[test]
    fn names_are_those_of_the_status_type() {
        for code in (1..8000).map(Win32Error::from_int) {
            let (Some(ours), Some(theirs)) = (explain(Call::Query, code), code.name()) else { continue };
            let alias = matches!(code.as_int(), 14);
            assert!(alias || format!("ERROR_{}", ours.name) == theirs, "{code}");
        }
    }

    #[test]
    fn a_cause_depends_on_the_function() {
        let of = |call| explain(call, Win32Error::NoSystemResources).unwrap().cause;
        assert_ne!(of(Call::Start), of(Call::Enable));
        assert_eq!(explain(Call::Start, Win32Error::from_int(4_000_000)), None);
    }
}
