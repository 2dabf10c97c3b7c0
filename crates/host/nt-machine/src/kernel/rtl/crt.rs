//! C run-time routines that ntoskrnl.exe exports: strings and printing into buffers.

use std::cmp::Ordering;

use super::print::{self, Arguments};
use super::string::upcase;
use crate::memory::{Fault, GuestPtr, Plain};
use crate::routine::{ANY, Call, Outcome, Routine, done, routine};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("strlen", ANY, length::<u8>),
    routine!("wcslen", ANY, length::<u16>),
    routine!("strnlen", ANY, length::<u8>),
    routine!("wcsnlen", ANY, length::<u16>),
    routine!("strcmp", ANY, |call| compare::<u8>(call, u64::MAX, |unit| unit)),
    routine!("strncmp", ANY, |call| compare::<u8>(call, call.arg(2), |unit| unit)),
    routine!("_stricmp", ANY, |call| compare::<u8>(call, u64::MAX, |unit| unit.to_ascii_lowercase())),
    routine!("_strnicmp", ANY, |call| compare::<u8>(call, call.arg(2), |unit| unit.to_ascii_lowercase())),
    routine!("wcscmp", ANY, |call| compare::<u16>(call, u64::MAX, |unit| unit)),
    routine!("wcsncmp", ANY, |call| compare::<u16>(call, call.arg(2), |unit| unit)),
    routine!("_wcsicmp", ANY, |call| compare::<u16>(call, u64::MAX, upcase)),
    routine!("_wcsnicmp", ANY, |call| compare::<u16>(call, call.arg(2), upcase)),
    routine!("strcpy", ANY, |call| append::<u8>(call, false)),
    routine!("wcscpy", ANY, |call| append::<u16>(call, false)),
    routine!("strcat", ANY, |call| append::<u8>(call, true)),
    routine!("wcscat", ANY, |call| append::<u16>(call, true)),
    routine!("strchr", ANY, |call| find::<u8>(call, call.u8(1), false)),
    routine!("strrchr", ANY, |call| find::<u8>(call, call.u8(1), true)),
    routine!("wcschr", ANY, |call| find::<u16>(call, call.u16(1), false)),
    routine!("wcsrchr", ANY, |call| find::<u16>(call, call.u16(1), true)),
    routine!("strstr", ANY, find_text::<u8>),
    routine!("wcsstr", ANY, find_text::<u16>),
    routine!("toupper", ANY, |call| call.u8(0).to_ascii_uppercase()),
    routine!("tolower", ANY, |call| call.u8(0).to_ascii_lowercase()),
    routine!("towupper", ANY, |call| upcase(call.u16(0))),
    routine!("sprintf", ANY, |call| narrow(call.ptr(0), u64::MAX, call.ptr(1), call.rest(2))),
    routine!("_snprintf", ANY, |call| narrow(call.ptr(0), call.arg(1), call.ptr(2), call.rest(3))),
    routine!("_vsnprintf", ANY, |call| narrow(call.ptr(0), call.arg(1), call.ptr(2), call.ptr(3))),
    routine!("vsprintf_s", ANY, |call| narrow(call.ptr(0), call.arg(1), call.ptr(2), call.ptr(3))),
    routine!("sprintf_s", ANY, |call| narrow(call.ptr(0), call.arg(1), call.ptr(2), call.rest(3))),
    routine!("swprintf", ANY, |call| wide(call.ptr(0), u64::MAX, call.ptr(1), call.rest(2))),
    routine!("_snwprintf", ANY, |call| wide(call.ptr(0), call.arg(1), call.ptr(2), call.rest(3))),
    routine!("_vsnwprintf", ANY, |call| wide(call.ptr(0), call.arg(1), call.ptr(2), call.ptr(3))),
    routine!("swprintf_s", ANY, |call| wide(call.ptr(0), call.arg(1), call.ptr(2), call.rest(3))),
];

/// What a string without an end is cut after.
const LONGEST: u64 = 0x8000;

/// A unit of text.
trait Unit: Plain + Ord + Default {}
impl Unit for u8 {}
impl Unit for u16 {}

fn text<T: Unit>(place: GuestPtr<T>) -> Result<Vec<T>, Fault> {
    place.until(T::default(), LONGEST)
}

fn length<T: Unit>(call: &Call) -> Result<u64, Fault> {
    Ok(text::<T>(call.ptr(0))?.len() as u64)
}

fn compare<T: Unit>(call: &Call, limit: u64, fold: fn(T) -> T) -> Result<Ordering, Fault> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let units = |index| Ok::<_, Fault>(text::<T>(call.ptr(index))?.into_iter().take(limit).map(fold));
    Ok(units(0)?.cmp(units(1)?))
}

/// Copies a string with its end to the start or the end of another, and returns that.
fn append<T: Unit>(call: &Call, to_end: bool) -> Outcome<GuestPtr<T>> {
    let target: GuestPtr<T> = call.ptr(0);
    let skip = if to_end { text(target)?.len() as u64 } else { 0 };
    let mut units = text::<T>(call.ptr(1))?;
    units.push(T::default());
    target.at(skip).write_all(&units)?;
    done(target)
}

fn find<T: Unit>(call: &Call, wanted: T, last: bool) -> Result<Option<GuestPtr<T>>, Fault> {
    let start: GuestPtr<T> = call.ptr(0);
    let units = text(start)?;
    let is_wanted = |unit: &T| *unit == wanted;
    let position = if last { units.iter().rposition(is_wanted) } else { units.iter().position(is_wanted) };
    Ok(position.map(|position| start.at(position as u64)))
}

fn find_text<T: Unit>(call: &Call) -> Result<Option<GuestPtr<T>>, Fault> {
    let start: GuestPtr<T> = call.ptr(0);
    let (units, wanted) = (text(start)?, text::<T>(call.ptr(1))?);
    if wanted.is_empty() {
        return Ok(Some(start));
    }
    let position = units.windows(wanted.len()).position(|window| window == wanted);
    Ok(position.map(|position| start.at(position as u64)))
}

/// Prints narrow text; -1 if it does not fit, as the `_sn` routines do.
fn narrow(buffer: GuestPtr<u8>, size: u64, format: GuestPtr<u8>, arguments: GuestPtr<u64>) -> Result<u32, Fault> {
    let format = print::widen(&format.terminated()?);
    let text = print::format(&format, false, &mut Arguments::new(arguments))?;
    let bytes: Vec<u8> = text.iter().map(|&unit| u8::try_from(unit).unwrap_or(b'?')).collect();
    store(buffer, size, &bytes)
}

fn wide(buffer: GuestPtr<u16>, size: u64, format: GuestPtr<u16>, arguments: GuestPtr<u64>) -> Result<u32, Fault> {
    let text = print::format(&format.terminated()?, true, &mut Arguments::new(arguments))?;
    store(buffer, size, &text)
}

fn store<T: Unit>(buffer: GuestPtr<T>, size: u64, units: &[T]) -> Result<u32, Fault> {
    buffer.array(size).write(units)?;
    if (units.len() as u64) < size {
        buffer.at(units.len() as u64).write(T::default())?;
    }
    Ok(if units.len() as u64 <= size { units.len() as u32 } else { u32::MAX })
}
