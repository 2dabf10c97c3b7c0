//! Every code that session control is known to return has its own text: name, cause and advice.
//!
//! The pairs are from the functions' public documentation, and from what users of other tools reported.

use etw_session::{Call, Error, explain};
use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;
use windows_sys::Win32::Foundation as win32;

/// `ControlTrace`, for every control code.
const CONTROL: [u32; 7] = [
    win32::ERROR_BAD_LENGTH,
    win32::ERROR_INVALID_PARAMETER,
    win32::ERROR_BAD_PATHNAME,
    win32::ERROR_MORE_DATA,
    win32::ERROR_ACCESS_DENIED,
    win32::ERROR_WMI_INSTANCE_NOT_FOUND,
    win32::ERROR_ACTIVE_CONNECTIONS,
];
const START: [u32; 8] = [
    win32::ERROR_BAD_LENGTH,
    win32::ERROR_INVALID_PARAMETER,
    win32::ERROR_ALREADY_EXISTS,
    win32::ERROR_BAD_PATHNAME,
    win32::ERROR_DISK_FULL,
    win32::ERROR_ACCESS_DENIED,
    win32::ERROR_NO_SYSTEM_RESOURCES,
    win32::ERROR_SHARING_VIOLATION,
];
const ENABLE: [u32; 6] = [
    win32::ERROR_TIMEOUT,
    win32::ERROR_INVALID_PARAMETER,
    win32::ERROR_INVALID_FUNCTION,
    win32::ERROR_NO_SYSTEM_RESOURCES,
    win32::ERROR_ACCESS_DENIED,
    win32::ERROR_WMI_INSTANCE_NOT_FOUND,
];
/// Set, query and enumerate. A stale handle returns one of three codes.
const INFORMATION: [u32; 9] = [
    win32::ERROR_BAD_LENGTH,
    win32::ERROR_INVALID_PARAMETER,
    win32::ERROR_NOT_SUPPORTED,
    win32::ERROR_WMI_INSTANCE_NOT_FOUND,
    win32::ERROR_INVALID_HANDLE,
    win32::ERROR_ACCESS_DENIED,
    win32::ERROR_CALL_NOT_IMPLEMENTED,
    win32::ERROR_NOACCESS,
    win32::ERROR_PROC_NOT_FOUND,
];
const SET: [u32; 2] = [win32::ERROR_BUSY, win32::ERROR_PRIVILEGE_NOT_HELD];
const QUERY: [u32; 2] = [win32::ERROR_INSUFFICIENT_BUFFER, win32::ERROR_MORE_DATA];
const CONSUME: [u32; 9] = [
    win32::ERROR_ACCESS_DENIED,
    win32::ERROR_INVALID_PARAMETER,
    win32::ERROR_INVALID_HANDLE,
    win32::ERROR_BAD_PATHNAME,
    win32::ERROR_WMI_INSTANCE_NOT_FOUND,
    win32::ERROR_CALL_NOT_IMPLEMENTED,
    win32::ERROR_NOACCESS,
    win32::ERROR_CANCELLED,
    win32::ERROR_CTX_CLOSE_PENDING,
];

fn pairs() -> Vec<(Call, u32)> {
    let classes = || (0..29).map(TraceInfoClass::from_int);
    let controls = [Call::Query, Call::Stop, Call::Update, Call::Flush, Call::IncrementFile, Call::ConvertToRealTime];
    let of = |calls: Vec<Call>, codes: &[u32]| -> Vec<(Call, u32)> {
        calls.into_iter().flat_map(|call| codes.iter().map(move |code| (call, *code))).collect()
    };
    [
        of(vec![Call::Start], &START),
        of(controls.to_vec(), &CONTROL),
        of(vec![Call::QueryAll], &[win32::ERROR_MORE_DATA, win32::ERROR_ACCESS_DENIED, win32::ERROR_INVALID_PARAMETER]),
        of(vec![Call::Enable], &ENABLE),
        of(classes().map(Call::Set).collect(), &[&INFORMATION[..], &SET].concat()),
        of(classes().map(Call::QueryInformation).collect(), &[&INFORMATION[..], &QUERY].concat()),
        of(classes().map(Call::Enumerate).collect(), &[&INFORMATION[..], &QUERY].concat()),
        of(vec![Call::Consume], &CONSUME),
        of(vec![Call::Privilege], &[win32::ERROR_PRIVILEGE_NOT_HELD, win32::ERROR_NOT_ALL_ASSIGNED]),
    ]
    .concat()
}

#[test]
fn every_code_of_every_function_has_a_name_a_cause_and_advice() {
    for (call, code) in pairs() {
        let Some(explanation) = explain(call, Win32Error::from_int(code)) else { panic!("{call}: {code}") };
        let line = Error::from_code(call, Win32Error::from_int(code)).to_string();
        assert_eq!(line, format!("{call}: {code} {}: {}; {}", explanation.name, explanation.cause, explanation.advice));
        // The line has two parts, and the texts contain no other semicolons or final full stops.
        assert!(!explanation.cause.contains(';'), "{line}");
        assert!(!explanation.cause.ends_with('.'), "{line}");
        assert!(explanation.cause.len() >= 15, "{line}");
        assert!(explanation.advice.len() >= 9, "{line}");
        assert!(!explanation.advice.ends_with('.'), "{line}");
    }
}

/// Checks every name of an explained code against Microsoft's metadata.
#[test]
fn names_are_microsofts() {
    const NAMES: &[(&str, u32)] = &[
        ("INVALID_FUNCTION", win32::ERROR_INVALID_FUNCTION),
        ("FILE_NOT_FOUND", win32::ERROR_FILE_NOT_FOUND),
        ("PATH_NOT_FOUND", win32::ERROR_PATH_NOT_FOUND),
        ("ACCESS_DENIED", win32::ERROR_ACCESS_DENIED),
        ("INVALID_HANDLE", win32::ERROR_INVALID_HANDLE),
        ("NOT_ENOUGH_MEMORY", win32::ERROR_NOT_ENOUGH_MEMORY),
        ("OUTOFMEMORY", win32::ERROR_OUTOFMEMORY),
        ("BAD_LENGTH", win32::ERROR_BAD_LENGTH),
        ("GEN_FAILURE", win32::ERROR_GEN_FAILURE),
        ("SHARING_VIOLATION", win32::ERROR_SHARING_VIOLATION),
        ("NOT_SUPPORTED", win32::ERROR_NOT_SUPPORTED),
        ("INVALID_PARAMETER", win32::ERROR_INVALID_PARAMETER),
        ("DISK_FULL", win32::ERROR_DISK_FULL),
        ("CALL_NOT_IMPLEMENTED", win32::ERROR_CALL_NOT_IMPLEMENTED),
        ("INSUFFICIENT_BUFFER", win32::ERROR_INSUFFICIENT_BUFFER),
        ("MOD_NOT_FOUND", win32::ERROR_MOD_NOT_FOUND),
        ("PROC_NOT_FOUND", win32::ERROR_PROC_NOT_FOUND),
        ("BAD_PATHNAME", win32::ERROR_BAD_PATHNAME),
        ("BUSY", win32::ERROR_BUSY),
        ("ALREADY_EXISTS", win32::ERROR_ALREADY_EXISTS),
        ("MORE_DATA", win32::ERROR_MORE_DATA),
        ("ARITHMETIC_OVERFLOW", win32::ERROR_ARITHMETIC_OVERFLOW),
        ("SYSTEM_PROCESS_TERMINATED", win32::ERROR_SYSTEM_PROCESS_TERMINATED),
        ("NOACCESS", win32::ERROR_NOACCESS),
        ("PROCESS_ABORTED", win32::ERROR_PROCESS_ABORTED),
        ("POSSIBLE_DEADLOCK", win32::ERROR_POSSIBLE_DEADLOCK),
        ("NOT_FOUND", win32::ERROR_NOT_FOUND),
        ("CANCELLED", win32::ERROR_CANCELLED),
        ("NOT_ALL_ASSIGNED", win32::ERROR_NOT_ALL_ASSIGNED),
        ("PRIVILEGE_NOT_HELD", win32::ERROR_PRIVILEGE_NOT_HELD),
        ("FILE_CORRUPT", win32::ERROR_FILE_CORRUPT),
        ("NO_SYSTEM_RESOURCES", win32::ERROR_NO_SYSTEM_RESOURCES),
        ("TIMEOUT", win32::ERROR_TIMEOUT),
        ("ACTIVE_CONNECTIONS", win32::ERROR_ACTIVE_CONNECTIONS),
        ("WMI_INSTANCE_NOT_FOUND", win32::ERROR_WMI_INSTANCE_NOT_FOUND),
        ("CTX_CLOSE_PENDING", win32::ERROR_CTX_CLOSE_PENDING),
    ];
    let explained = (0..16_000).filter_map(|code| Some((explain(Call::Query, Win32Error::from_int(code))?.name, code)));
    assert_eq!(explained.collect::<Vec<_>>(), NAMES, "all of them, and no other");
}

/// Codes that no function of session control documents.
#[test]
fn every_other_code_has_a_message_as_well() {
    let line = |code| Error::from_code(Call::Start, Win32Error::from_int(code)).to_string();
    for (code, name) in [
        (win32::ERROR_NO_TOKEN, "NO_TOKEN"),
        (win32::ERROR_WRITE_PROTECT, "WRITE_PROTECT"),
        (win32::ERROR_WMI_GUID_NOT_FOUND, "WMI_GUID_NOT_FOUND"),
        (win32::ERROR_EVT_INVALID_CHANNEL_PATH, "EVT_INVALID_CHANNEL_PATH"),
        (win32::ERROR_SXS_CANT_GEN_ACTCTX, "SXS_CANT_GEN_ACTCTX"),
    ] {
        assert_eq!(explain(Call::Start, Win32Error::from_int(code)), None, "no text of ours: {name}");
        let start = format!("StartTrace: {code} {name}");
        let line = line(code);
        assert!(line.starts_with(&start), "{line}");
        assert!(line.len() > start.len() + 10, "{line}");
    }
    if cfg!(not(windows)) {
        assert_eq!(line(1008), "StartTrace: 1008 NO_TOKEN; `net helpmsg 1008` prints its text on Windows");
        let nameless = "StartTrace: 4000000 not a documented Win32 error; a program may have defined it";
        assert_eq!(line(4_000_000), nameless);
    }
}

#[test]
fn one_code_has_different_causes_in_different_functions() {
    let cause = |call, code| explain(call, Win32Error::from_int(code)).expect("an explanation").cause;
    let class = TraceInfoClass::from_int(4);
    let information = [Call::Set(class), Call::QueryInformation(class), Call::Enumerate(class)];
    for code in [win32::ERROR_NOT_SUPPORTED, win32::ERROR_INVALID_PARAMETER] {
        let causes: std::collections::BTreeSet<&str> = information.iter().map(|call| cause(*call, code)).collect();
        assert_eq!(causes.len(), 3, "{code}");
    }
    let full = win32::ERROR_NO_SYSTEM_RESOURCES;
    assert_ne!(cause(Call::Start, full), cause(Call::Enable, full));
    let more = win32::ERROR_MORE_DATA;
    assert_eq!(cause(Call::Stop, more), "the session has stopped, and only its names did not fit");
    assert_eq!(explain(Call::Start, Win32Error::from_int(4_000_000)), None);
}
