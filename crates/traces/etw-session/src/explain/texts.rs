//! The texts: the meaning of a code for one function, and its meaning for any function.

use etw_types::Win32Error;

use super::Call;

/// Cause and advice.
type Texts = (&'static str, &'static str);

const MISTAKE: &str = "report it: this is a bug in this library";
const NOTHING: &str = "no action is needed";
const TABLE: &str = "look at the table of classes";
const NO_PROFILE: Texts =
    ("the profile privilege is missing", "run as an administrator, whose token has SeSystemProfilePrivilege");

/// Causes that depend on the function.
pub(super) fn particular(call: Call, code: Win32Error) -> Option<Texts> {
    match call {
        Call::Start => of_start(code.as_int()),
        Call::Query
        | Call::Stop
        | Call::Update
        | Call::Flush
        | Call::IncrementFile
        | Call::ConvertToRealTime
        | Call::QueryAll => of_control(call, code.as_int()),
        Call::Enable => of_enable(code.as_int()),
        Call::Set(_) | Call::QueryInformation(_) | Call::Enumerate(_) => of_information(call, code.as_int()),
        Call::Consume => of_consume(code.as_int()),
        Call::Privilege => None,
        Call::Registry => of_registry(code.as_int()),
    }
}

fn of_start(code: u32) -> Option<Texts> {
    Some(match code {
        24 => ("the properties buffer has no room for the names", "use a shorter session or file name"),
        87 => (
            "a property, an offset or a combination of logging modes is not accepted",
            "compare the modes with the documented conflicts",
        ),
        161 => (
            "the file is in use by another session, or neither a file nor real-time mode was requested",
            "use another file, or request real-time or buffering mode",
        ),
        1450 => (
            "the maximum number of sessions is running, or all eight sessions of the system logger",
            "stop a session that is not needed; information class 19 returns the maximum",
        ),
        _ => return None,
    })
}

fn of_control(call: Call, code: u32) -> Option<Texts> {
    Some(match (call, code) {
        (Call::QueryAll, 87) => ("the system does not list that many sessions at once", MISTAKE),
        (Call::QueryAll, 234) => ("there are more sessions than the buffer had room for", "try again"),
        (_, 24) => ("the properties buffer is too small for the result", MISTAKE),
        (Call::Update, 87) => (
            "this cannot be changed while the session runs",
            "change only the flags, the flush timer, the file, real-time mode or the maximum number of buffers, and keep a file or real-time mode",
        ),
        (Call::IncrementFile, 50 | 87) => (
            "the session does not number its files, or this Windows is older than version 1809",
            "start it with numbered files",
        ),
        (Call::ConvertToRealTime, 50 | 87) => (
            "the session cannot continue in real time, or this Windows is older than version 2004",
            "start it in real time",
        ),
        (_, 87) => ("the session's name or handle is not accepted", "find the session by its name"),
        (Call::Update, 161) => (
            "a session already writes the file, or the session would have neither a file nor real-time mode",
            "name another file",
        ),
        (Call::Flush, 161) => ("the session keeps its events in memory and has no file", "start it with a file"),
        (Call::Stop, 234) => ("the session has stopped, and only its names did not fit", NOTHING),
        (_, 234) => ("the names did not fit into the result", MISTAKE),
        _ => return None,
    })
}

fn of_enable(code: u32) -> Option<Texts> {
    Some(match code {
        1 => ("the provider is not registered and its level cannot be changed", "start the provider first"),
        87 => ("the provider, the session or a filter is not valid", "check the GUID and the filters"),
        1450 => ("eight sessions have enabled this provider already", "disable it in another session"),
        1460 => (
            "the provider's callback did not return in time, but the request is in effect",
            "use a longer timeout, or check what the callback does",
        ),
        _ => return None,
    })
}

fn of_information(call: Call, code: u32) -> Option<Texts> {
    Some(match (call, code) {
        (Call::Set(_), 24) => (
            "the data is shorter than the minimum length of the class, or not a multiple of its element size",
            "check the layout in the table of classes",
        ),
        (_, 24) => {
            ("the buffer is shorter than the result of the class", "use a buffer of the size in the table of classes")
        }
        (Call::Set(_), 50) => ("the class cannot be set", TABLE),
        (Call::QueryInformation(_), 50) => ("the class cannot be queried", TABLE),
        (_, 50) => ("the class cannot be enumerated", TABLE),
        (Call::Set(_), 87) => (
            "the class is unknown to this version of Windows, the session is of the wrong kind, or a value is out of range",
            "look at the table of classes; some need a session of the system logger",
        ),
        (Call::QueryInformation(_), 87) => (
            "the class is unknown to this version of Windows, or needs another kind of handle",
            "look at the table of classes; some are for sessions, others for the machine",
        ),
        (_, 87) => ("the class is unknown to this version of Windows, or needs a GUID", TABLE),
        (Call::Enumerate(_), 4201) => ("the GUID is neither registered nor enabled", "list the providers or groups"),
        (_, 4201) => ("the session has stopped", "list the sessions and check the name"),
        _ => return None,
    })
}

fn of_consume(code: u32) -> Option<Texts> {
    Some(match code {
        5 => (
            "you are not allowed to read this session, or the system has no consumers (Wine)",
            "run elevated or join Performance Log Users",
        ),
        6 => ("the trace handle was already closed", "open the session again"),
        87 => ("the session does not deliver in real time", "start it with real time, or update it"),
        161 => ("the session's name is not accepted", "list the sessions and check the name"),
        _ => return None,
    })
}

fn of_registry(code: u32) -> Option<Texts> {
    Some(match code {
        2 => ("the registry has no session at boot with this name", "check the name"),
        5 => ("you do not have the rights to change this key", "run elevated, as an administrator"),
        120 => ("this system has no registry", "write a .reg file, and import it on Windows"),
        183 => ("the registry has a session at boot with this name", "remove it first, or choose another name"),
        _ => return None,
    })
}

/// The meaning of the code for any function.
pub(super) fn general(code: Win32Error) -> Option<Texts> {
    Some(match code.as_int() {
        1 => ("the request does not fit the provider's state", "start the provider first"),
        2 => ("there is no such file", "check the path"),
        3 => ("there is no such folder", "make the folder first"),
        5 => (
            "you do not have the rights to control trace sessions",
            "run elevated or join Performance Log Users; the kernel's own session needs an administrator",
        ),
        6 => ("the handle is not of a running session", "find the session by its name"),
        8 | 14 => ("there is not enough memory for the buffers", "use fewer or smaller buffers"),
        24 => {
            ("the data is shorter than the minimum length, or not a multiple of the element size", "check the layout")
        }
        31 => ("a device or driver failed", "try again; look at the system's event log"),
        32 => ("another process has the file open", "close it there, or name another file"),
        50 => ("this class or function does not support the operation", "look at the table of classes"),
        87 => ("a value is not accepted", "check the arguments"),
        112 => (
            "the disk has less free space than the maximum file size, or than 200 MB on the system disk",
            "free some space, or use a smaller maximum file size",
        ),
        120 => ("not supported here: this system has no such function", "use Windows"),
        122 => ("the result grew while it was read", "try again"),
        126 => ("a library of the system is missing", "use a later version of Windows"),
        127 => ("not supported here: the function is missing", "use a later version of Windows"),
        161 => ("the file cannot be used", "name another file"),
        170 => (
            "another component owns the performance counters",
            "query information class 25 for the owner, and stop that profiler or hypervisor feature",
        ),
        183 => ("a session of that name or GUID is running", "attach to it, stop it first, or choose another name"),
        234 => ("the result did not fit into the buffer", "try again"),
        534 => ("a size is too large", "use a smaller size"),
        591 => (
            "the driver under test stopped the emulated machine",
            "check the findings of nt-host; the trace ends there",
        ),
        998 => ("a buffer of the call could not be read or written", MISTAKE),
        1067 => (
            "the process that runs the driver is gone or does not respond",
            "start nt-host again; the file is readable up to its last buffer",
        ),
        1131 => {
            ("the call came from the enable callback of the same provider", "control the session from another thread")
        }
        1168 => ("there is no such element", "check the arguments"),
        1223 => ("the consumer's callback ended the processing", NOTHING),
        1300 | 1314 => NO_PROFILE,
        1392 => ("the file is damaged", "decode what is left of it"),
        1450 => ("a limit of the system is reached", "stop sessions that are not needed"),
        1460 => ("the timeout expired", "use a longer timeout"),
        2402 => ("the session is already stopping", "wait until it has stopped"),
        4201 => ("no such session is running", "list the sessions and check the name"),
        7007 => ("the trace was closed, and processing ends after the pending buffers", NOTHING),
        _ => return None,
    })
}
