//! The values of options, parsed with errors that say what is expected.

use etw_types::NtStatus;
use nt_host::text::{TextError, number, suggestion};
use nt_host::{Failure, GapKind, Resource};

pub(super) fn gap(text: &str) -> Result<GapKind, TextError> {
    // The exit code of a driver that is not loaded, or of a run that ends early, does not depend on gaps.
    let kinds = || GapKind::ALL.iter().filter(|kind| !matches!(kind, GapKind::NotLoaded | GapKind::NotFinished));
    kinds().find(|kind| kind.id() == text).copied().ok_or_else(|| {
        let names: Vec<&str> = kinds().map(|kind| kind.id()).collect();
        let expected = format!("expected {}{}", names.join(", "), suggestion(text, &names));
        TextError::malformed(text, "is not a gap", expected)
    })
}

pub(super) fn failure(text: &str) -> Result<Failure, TextError> {
    let (rest, call) = match text.split_once('@') {
        Some((rest, call)) => (rest, Some(number(call)?)),
        None => (text, None),
    };
    let (routine, status) = match rest.split_once('=') {
        Some((routine, status)) => (routine, Some(failure_status(status)?)),
        None => (rest, None),
    };
    if routine.is_empty() || call == Some(0) {
        let expected = "expected a routine and a call from 1 on, for example EtwRegister@2";
        return Err(TextError::malformed(text, "does not select a call", expected));
    }
    Ok(Failure { routine: routine.to_owned(), status, call })
}

fn failure_status(text: &str) -> Result<NtStatus, TextError> {
    let number = u32::from_str_radix(text.trim_start_matches("0x"), 16)
        .map_err(|_| TextError::malformed(text, "is not a status", "expected for example C000009A"))?;
    if number < 0x8000_0000 {
        let expected = "expected 80000000 or higher, for example C000009A";
        return Err(TextError::malformed(text, "is not a failure status", expected));
    }
    Ok(NtStatus::from_int(number))
}

pub(super) fn resource(text: &str) -> Result<Resource, TextError> {
    let bad = || {
        let kind = text.split(':').next().unwrap_or_default();
        let near = suggestion(kind, &["line", "messages", "memory", "port"]);
        let expected = format!("expected line, messages:4, memory:0xFE000000:0x1000 or port:0x3F8:8{near}");
        TextError::malformed(text, "is not a resource", expected)
    };
    let size = |text: &str| number(text).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(bad);
    match *text.split(':').collect::<Vec<_>>() {
        ["line"] => Ok(Resource::LineInterrupt),
        ["messages", count] => Ok(Resource::MessageInterrupts(size(count)?)),
        ["memory", start, length] => Ok(Resource::Memory { start: number(start)?, length: size(length)? }),
        ["port", start, length] => Ok(Resource::Port { start: number(start)?, length: size(length)? }),
        _ => Err(bad()),
    }
}
