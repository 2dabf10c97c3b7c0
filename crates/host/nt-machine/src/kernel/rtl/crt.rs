//! C runtime routines that ntoskrnl.exe exports: strings, and printing into buffers.

use std::cmp::Ordering;

use Room::{Bare, Safe};

use super::print::{self, Arguments};
use super::string::upcase;
use crate::memory::{Fault, GuestPtr, Plain};
use crate::routine::{ANY, Call, Outcome, Routine, done, routine};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("strlen", ANY, |call| length::<u8>(call, u64::MAX)),
    routine!("wcslen", ANY, |call| length::<u16>(call, u64::MAX)),
    routine!("strnlen", ANY, |call| length::<u8>(call, call.arg(1))),
    routine!("wcsnlen", ANY, |call| length::<u16>(call, call.arg(1))),
    routine!("strcmp", ANY, |call| compare::<u8>(call, u64::MAX, |unit| unit)),
    routine!("strncmp", ANY, |call| compare::<u8>(call, call.arg(2), |unit| unit)),
    routine!("_stricmp", ANY, |call| compare::<u8>(call, u64::MAX, |unit| unit.to_ascii_lowercase())),
    routine!("_strnicmp", ANY, |call| compare::<u8>(call, call.arg(2), |unit| unit.to_ascii_lowercase())),
    routine!("wcscmp", ANY, |call| compare::<u16>(call, u64::MAX, |unit| unit)),
    routine!("wcsncmp", ANY, |call| compare::<u16>(call, call.arg(2), |unit| unit)),
    routine!("_wcsicmp", ANY, |call| compare::<u16>(call, u64::MAX, downcase)),
    routine!("_wcsnicmp", ANY, |call| compare::<u16>(call, call.arg(2), downcase)),
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
    routine!("sprintf", ANY, |call| narrow(call.ptr(0), Bare(u64::MAX), call.ptr(1), call.rest(2))),
    routine!("_snprintf", ANY, |call| narrow(call.ptr(0), Bare(call.arg(1)), call.ptr(2), call.rest(3))),
    routine!("_vsnprintf", ANY, |call| narrow(call.ptr(0), Bare(call.arg(1)), call.ptr(2), call.ptr(3))),
    routine!("vsprintf_s", ANY, |call| narrow(call.ptr(0), Safe(call.arg(1), call.arg(1)), call.ptr(2), call.ptr(3))),
    routine!("sprintf_s", ANY, |call| narrow(call.ptr(0), Safe(call.arg(1), call.arg(1)), call.ptr(2), call.rest(3))),
    routine!("swprintf", ANY, |call| wide(call.ptr(0), Bare(u64::MAX), call.ptr(1), call.rest(2))),
    routine!("_snwprintf", ANY, |call| wide(call.ptr(0), Bare(call.arg(1)), call.ptr(2), call.rest(3))),
    routine!("_vsnwprintf", ANY, |call| wide(call.ptr(0), Bare(call.arg(1)), call.ptr(2), call.ptr(3))),
    routine!("_snprintf_s", ANY, |call| narrow(call.ptr(0), Safe(call.arg(1), call.arg(2)), call.ptr(3), call.rest(4))),
    routine!("_vsnprintf_s", ANY, |call| narrow(call.ptr(0), Safe(call.arg(1), call.arg(2)), call.ptr(3), call.ptr(4))),
    routine!("_snwprintf_s", ANY, |call| wide(call.ptr(0), Safe(call.arg(1), call.arg(2)), call.ptr(3), call.rest(4))),
    routine!("_vsnwprintf_s", ANY, |call| wide(call.ptr(0), Safe(call.arg(1), call.arg(2)), call.ptr(3), call.ptr(4))),
    routine!("vswprintf_s", ANY, |call| wide(call.ptr(0), Safe(call.arg(1), call.arg(1)), call.ptr(2), call.ptr(3))),
    routine!("vsprintf", ANY, |call| narrow(call.ptr(0), Bare(u64::MAX), call.ptr(1), call.ptr(2))),
    routine!("strncpy", ANY, copy_some::<u8>),
    routine!("wcsncpy", ANY, copy_some::<u16>),
    routine!("strncat", ANY, append_some::<u8>),
    routine!("wcsncat", ANY, append_some::<u16>),
    // Arguments: destination, its size, source; routines with a count take it as the next argument.
    routine!("strcpy_s", ANY, |call| safely::<u8>(call, false, u64::MAX)),
    routine!("wcscpy_s", ANY, |call| safely::<u16>(call, false, u64::MAX)),
    routine!("strcat_s", ANY, |call| safely::<u8>(call, true, u64::MAX)),
    routine!("wcscat_s", ANY, |call| safely::<u16>(call, true, u64::MAX)),
    routine!("strncpy_s", ANY, |call| safely::<u8>(call, false, call.arg(3))),
    routine!("wcsncpy_s", ANY, |call| safely::<u16>(call, false, call.arg(3))),
    routine!("strncat_s", ANY, |call| safely::<u8>(call, true, call.arg(3))),
    routine!("wcsncat_s", ANY, |call| safely::<u16>(call, true, call.arg(3))),
    routine!("_strlwr", ANY, |call| fold::<u8>(call, |unit| unit.to_ascii_lowercase())),
    routine!("_strupr", ANY, |call| fold::<u8>(call, |unit| unit.to_ascii_uppercase())),
    routine!("_wcslwr", ANY, |call| fold::<u16>(call, downcase)),
    routine!("_wcsupr", ANY, |call| fold::<u16>(call, upcase)),
    routine!("towlower", ANY, |call| downcase(call.u16(0))),
    routine!("isdigit", ANY, |call| call.u8(0).is_ascii_digit()),
    routine!("isxdigit", ANY, |call| call.u8(0).is_ascii_hexdigit()),
    routine!("isalpha", ANY, |call| call.u8(0).is_ascii_alphabetic()),
    routine!("isalnum", ANY, |call| call.u8(0).is_ascii_alphanumeric()),
    routine!("isspace", ANY, |call| matches!(call.u8(0), b' ' | 9..=13)),
    routine!("isupper", ANY, |call| call.u8(0).is_ascii_uppercase()),
    routine!("islower", ANY, |call| call.u8(0).is_ascii_lowercase()),
    routine!("isprint", ANY, |call| matches!(call.u8(0), b' '..=b'~')),
    routine!("atoi", ANY, |call| done(number(&text::<u8>(call.ptr(0))?) as i32)),
    routine!("atol", ANY, |call| done(number(&text::<u8>(call.ptr(0))?) as i32)),
    routine!("_atoi64", ANY, |call| done(number(&text::<u8>(call.ptr(0))?).cast_unsigned())),
    routine!("_wtoi", ANY, |call| done(number(&text::<u16>(call.ptr(0))?) as i32)),
    routine!("_wtol", ANY, |call| done(number(&text::<u16>(call.ptr(0))?) as i32)),
    routine!("_itoa", ANY, |call| digits::<u8>(call, call.i32(0).into())),
    routine!("_itow", ANY, |call| digits::<u16>(call, call.i32(0).into())),
    routine!("_ultow", ANY, |call| digits::<u16>(call, call.u32(0).into())),
    routine!("_i64tow", ANY, |call| digits::<u16>(call, call.arg(0).cast_signed().into())),
    routine!("swprintf_s", ANY, |call| wide(call.ptr(0), Safe(call.arg(1), call.arg(1)), call.ptr(2), call.rest(3))),
];

/// A unit of text.
trait Unit: Plain + Ord + Default + From<u8> + Into<u32> {}
impl Unit for u8 {}
impl Unit for u16 {}

/// `EINVAL` and `ERANGE`, which routines whose names end with `_s` return.
const INVALID: u32 = 22;
const OUT_OF_RANGE: u32 = 34;
/// `STRUNCATE`, and the count that requests truncation.
const CUT: u32 = 80;
const TRUNCATE: u64 = u64::MAX;

fn text<T: Unit>(place: GuestPtr<T>) -> Result<Vec<T>, Fault> {
    place.until(T::default(), u64::MAX)
}

fn length<T: Unit>(call: &Call, limit: u64) -> Result<u64, Fault> {
    Ok(call.ptr::<T>(0).until(T::default(), limit)?.len() as u64)
}

/// Compares strings. Reads no further than the first difference.
fn compare<T: Unit>(call: &Call, limit: u64, fold: fn(T) -> T) -> Result<Ordering, Fault> {
    let (one, other): (GuestPtr<T>, GuestPtr<T>) = (call.ptr(0), call.ptr(1));
    for index in 0..limit {
        let (one, other) = (fold(one.at(index).read()?), fold(other.at(index).read()?));
        if one != other || one == T::default() {
            return Ok(one.cmp(&other));
        }
    }
    Ok(Ordering::Equal)
}

/// Copies a string with its terminator to the start or the end of another one, and returns the latter.
fn append<T: Unit>(call: &Call, to_end: bool) -> Outcome<GuestPtr<T>> {
    let target: GuestPtr<T> = call.ptr(0);
    let skip = if to_end { text(target)?.len() as u64 } else { 0 };
    let mut units = text::<T>(call.ptr(1))?;
    units.push(T::default());
    target.at(skip).write_all(&units)?;
    done(target)
}

/// Copies at most as many units as the third argument says, and fills the rest with zeros.
fn copy_some<T: Unit>(call: &Call) -> Outcome<GuestPtr<T>> {
    let target: GuestPtr<T> = call.ptr(0);
    let units = call.ptr::<T>(1).until(T::default(), call.arg(2))?;
    target.write_all(&units)?;
    for index in units.len() as u64..call.arg(2) {
        target.at(index).write(T::default())?;
    }
    done(target)
}

/// Appends at most as many units as the third argument says, and a terminator.
fn append_some<T: Unit>(call: &Call) -> Outcome<GuestPtr<T>> {
    let target: GuestPtr<T> = call.ptr(0);
    let mut units = call.ptr::<T>(1).until(T::default(), call.arg(2))?;
    units.push(T::default());
    target.at(text(target)?.len() as u64).write_all(&units)?;
    done(target)
}

/// Copies or appends at most `most` units into a buffer of limited size. If the text does not fit, stores an empty
/// string.
fn safely<T: Unit>(call: &Call, to_end: bool, most: u64) -> Outcome<u32> {
    let (target, room, source): (GuestPtr<T>, u64, GuestPtr<T>) = (call.ptr(0), call.arg(1), call.ptr(2));
    if target.is_null() || room == 0 {
        return done(INVALID);
    }
    if source.is_null() {
        target.write(T::default())?;
        return done(INVALID);
    }
    let mut units = if to_end { target.until(T::default(), room)? } else { Vec::new() };
    units.extend(source.until(T::default(), most.min(room))?);
    let fits = (units.len() as u64) < room;
    let cut = !fits && most == TRUNCATE && call.name().contains("ncpy") | call.name().contains("ncat");
    if cut {
        units.truncate(usize::try_from(room).unwrap_or(usize::MAX) - 1);
    } else if !fits {
        target.write(T::default())?;
        return done(OUT_OF_RANGE);
    }
    units.push(T::default());
    target.write_all(&units)?;
    done(if cut { CUT } else { 0 })
}

/// Changes each unit of a string.
fn fold<T: Unit>(call: &Call, change: fn(T) -> T) -> Outcome<GuestPtr<T>> {
    let target: GuestPtr<T> = call.ptr(0);
    let units: Vec<T> = text(target)?.into_iter().map(change).collect();
    target.write_all(&units)?;
    done(target)
}

fn downcase(unit: u16) -> u16 {
    let lower = char::from_u32(unit.into()).and_then(|c| c.to_lowercase().next());
    lower.and_then(|lower| u16::try_from(u32::from(lower)).ok()).unwrap_or(unit)
}

/// Returns the number at the beginning of a text, after white space and a sign; 0 if there is none.
fn number<T: Unit>(units: &[T]) -> i64 {
    let text: String = units.iter().map_while(|unit| char::from_u32((*unit).into())).collect();
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    let value = digits.fold(0_i64, |value, digit| value.wrapping_mul(10).wrapping_add((digit - b'0').into()));
    value.wrapping_mul(sign)
}

/// Formats a number. Arguments: the number, buffer, radix. Only decimal numbers can be negative.
fn digits<T: Unit>(call: &Call, value: i128) -> Outcome<GuestPtr<T>> {
    let (target, radix): (GuestPtr<T>, u128) = (call.ptr(1), call.u32(2).clamp(2, 36).into());
    let width = if call.name() == "_i64tow" { u128::from(u64::MAX) } else { u32::MAX.into() };
    let negative = radix == 10 && value < 0;
    let mut rest = if negative { value.unsigned_abs() } else { value.cast_unsigned() & width };
    let mut units = vec![T::default()];
    loop {
        let digit = (rest % radix) as u8;
        units.push(T::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }));
        rest /= radix;
        if rest == 0 {
            break;
        }
    }
    if negative {
        units.push(T::from(b'-'));
    }
    units.reverse();
    target.write_all(&units)?;
    done(target)
}

/// Returns the address of the first or last unit that is wanted, which may be the terminator.
fn find<T: Unit>(call: &Call, wanted: T, last: bool) -> Result<Option<GuestPtr<T>>, Fault> {
    let (mut place, mut found): (GuestPtr<T>, _) = (call.ptr(0), None);
    loop {
        let unit = place.read()?;
        if unit == wanted {
            found = Some(place);
        }
        if unit == T::default() || (found.is_some() && !last) {
            return Ok(found);
        }
        place = place.at(1);
    }
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

/// The room for text that is printed.
#[derive(Clone, Copy)]
enum Room {
    /// The size of the buffer. There is no terminator if the text fills the buffer.
    Bare(u64),
    /// The size of the buffer, and the maximum number of units before the terminator: as in routines whose names end
    /// with `_s`. A maximum below the size, or `_TRUNCATE`, lets the text be cut.
    Safe(u64, u64),
}

/// Prints narrow text. Returns -1 if it does not fit.
fn narrow(buffer: GuestPtr<u8>, room: Room, format: GuestPtr<u8>, arguments: GuestPtr<u64>) -> Result<u32, Fault> {
    let format = print::widen(&format.terminated()?);
    let text = print::format(&format, false, &mut Arguments::new(arguments))?;
    let bytes: Vec<u8> = text.iter().map(|&unit| u8::try_from(unit).unwrap_or(b'?')).collect();
    store(buffer, room, &bytes)
}

fn wide(buffer: GuestPtr<u16>, room: Room, format: GuestPtr<u16>, arguments: GuestPtr<u64>) -> Result<u32, Fault> {
    let text = print::format(&format.terminated()?, true, &mut Arguments::new(arguments))?;
    store(buffer, room, &text)
}

fn store<T: Unit>(buffer: GuestPtr<T>, room: Room, units: &[T]) -> Result<u32, Fault> {
    let length = units.len() as u64;
    let (kept, terminated) = match room {
        Bare(size) => (length.min(size), length < size),
        Safe(size, count) if buffer.is_null() || size == 0 || count == 0 => return Ok(u32::MAX),
        Safe(size, count) if length < size || count < size || count == TRUNCATE => {
            (length.min(count).min(size - 1), true)
        }
        Safe(..) => (0, true),
    };
    buffer.array(kept).write(units)?;
    if terminated {
        buffer.at(kept).write(T::default())?;
    }
    Ok(if kept == length { length as u32 } else { u32::MAX })
}
