//! C run-time routines that ntoskrnl.exe exports: strings and printing into buffers.

use super::print::{self, Arguments};
use super::routine::{ANY, Call, Routine, routine};
use crate::memory::{Plain, guest};

pub(super) const ROUTINES: &[Routine] = &[
    routine("strlen", ANY, |call| guest::terminated::<u8>(call.arg(0)).len() as u64),
    routine("wcslen", ANY, |call| guest::terminated::<u16>(call.arg(0)).len() as u64),
    routine("strnlen", ANY, |call| guest::terminated::<u8>(call.arg(0)).len() as u64),
    routine("wcsnlen", ANY, |call| guest::terminated::<u16>(call.arg(0)).len() as u64),
    routine("strcmp", ANY, |call| compare::<u8>(call, usize::MAX, |unit| unit)),
    routine("strncmp", ANY, |call| compare::<u8>(call, call.arg(2) as usize, |unit| unit)),
    routine("_stricmp", ANY, |call| compare::<u8>(call, usize::MAX, |unit| unit.to_ascii_lowercase())),
    routine("_strnicmp", ANY, |call| compare::<u8>(call, call.arg(2) as usize, |unit| unit.to_ascii_lowercase())),
    routine("wcscmp", ANY, |call| compare::<u16>(call, usize::MAX, |unit| unit)),
    routine("wcsncmp", ANY, |call| compare::<u16>(call, call.arg(2) as usize, |unit| unit)),
    routine("_wcsicmp", ANY, |call| compare::<u16>(call, usize::MAX, super::strings::upcase)),
    routine("_wcsnicmp", ANY, |call| compare::<u16>(call, call.arg(2) as usize, super::strings::upcase)),
    routine("strcpy", ANY, |call| append::<u8>(call.arg(0), call.arg(0), call.arg(1))),
    routine("wcscpy", ANY, |call| append::<u16>(call.arg(0), call.arg(0), call.arg(1))),
    routine("strcat", ANY, |call| {
        let end = call.arg(0) + guest::terminated::<u8>(call.arg(0)).len() as u64;
        append::<u8>(call.arg(0), end, call.arg(1))
    }),
    routine("wcscat", ANY, |call| {
        let end = call.arg(0) + guest::terminated::<u16>(call.arg(0)).len() as u64 * 2;
        append::<u16>(call.arg(0), end, call.arg(1))
    }),
    routine("strchr", ANY, |call| find::<u8>(call.arg(0), |unit| unit == call.u8(1), false)),
    routine("strrchr", ANY, |call| find::<u8>(call.arg(0), |unit| unit == call.u8(1), true)),
    routine("wcschr", ANY, |call| find::<u16>(call.arg(0), |unit| unit == call.u16(1), false)),
    routine("wcsrchr", ANY, |call| find::<u16>(call.arg(0), |unit| unit == call.u16(1), true)),
    routine("strstr", ANY, find_text::<u8>),
    routine("wcsstr", ANY, find_text::<u16>),
    routine("toupper", ANY, |call| call.u8(0).to_ascii_uppercase().into()),
    routine("tolower", ANY, |call| call.u8(0).to_ascii_lowercase().into()),
    routine("towupper", ANY, |call| super::strings::upcase(call.u16(0)).into()),
    routine("sprintf", ANY, |call| narrow(call.arg(0), u64::MAX, call.arg(1), call.rest(2))),
    routine("_snprintf", ANY, |call| narrow(call.arg(0), call.arg(1), call.arg(2), call.rest(3))),
    routine("_vsnprintf", ANY, |call| narrow(call.arg(0), call.arg(1), call.arg(2), call.arg(3))),
    routine("vsprintf_s", ANY, |call| narrow(call.arg(0), call.arg(1), call.arg(2), call.arg(3))),
    routine("sprintf_s", ANY, |call| narrow(call.arg(0), call.arg(1), call.arg(2), call.rest(3))),
    routine("swprintf", ANY, |call| wide(call.arg(0), u64::MAX, call.arg(1), call.rest(2))),
    routine("_snwprintf", ANY, |call| wide(call.arg(0), call.arg(1), call.arg(2), call.rest(3))),
    routine("_vsnwprintf", ANY, |call| wide(call.arg(0), call.arg(1), call.arg(2), call.arg(3))),
    routine("swprintf_s", ANY, |call| wide(call.arg(0), call.arg(1), call.arg(2), call.rest(3))),
];

fn compare<T: Plain + Ord + Default>(call: &Call, limit: usize, fold: fn(T) -> T) -> u64 {
    let units = |index| {
        let mut units = guest::terminated::<T>(call.arg(index));
        units.truncate(limit);
        units.into_iter().map(fold)
    };
    (units(0).cmp(units(1)) as i32).cast_unsigned().into()
}

/// Copies a string with its end to `place`; answers `result`.
fn append<T: Plain + Default + PartialEq>(result: u64, place: u64, from: u64) -> u64 {
    let units = guest::terminated::<T>(from);
    let width = size_of::<T>() as u64;
    for (index, unit) in (0..).zip(units.iter().copied().chain([T::default()])) {
        guest::write(place + index * width, unit);
    }
    result
}

fn find<T: Plain + Default + PartialEq>(text: u64, wanted: impl Fn(T) -> bool, last: bool) -> u64 {
    let units = guest::terminated::<T>(text);
    let position =
        if last { units.iter().rposition(|unit| wanted(*unit)) } else { units.iter().position(|u| wanted(*u)) };
    position.map_or(0, |position| text + (position * size_of::<T>()) as u64)
}

fn find_text<T: Plain + Default + PartialEq>(call: &Call) -> u64 {
    let (text, wanted) = (guest::terminated::<T>(call.arg(0)), guest::terminated::<T>(call.arg(1)));
    if wanted.is_empty() {
        return call.arg(0);
    }
    let position = text.windows(wanted.len()).position(|window| window == wanted);
    position.map_or(0, |position| call.arg(0) + (position * size_of::<T>()) as u64)
}

/// Prints narrow text; -1 where it does not fit, as the `_sn` routines do.
fn narrow(buffer: u64, size: u64, format: u64, arguments: u64) -> u64 {
    let format = print::widen(&guest::terminated::<u8>(format));
    let text = print::format(&format, false, &mut Arguments::new(arguments));
    let bytes: Vec<u8> = text.iter().map(|&unit| u8::try_from(unit).unwrap_or(b'?')).collect();
    store(buffer, size, &bytes)
}

fn wide(buffer: u64, size: u64, format: u64, arguments: u64) -> u64 {
    let text = print::format(&guest::terminated::<u16>(format), true, &mut Arguments::new(arguments));
    store(buffer, size, &text)
}

fn store<T: Plain + Default + PartialEq>(buffer: u64, size: u64, units: &[T]) -> u64 {
    let width = size_of::<T>() as u64;
    let fitting = units.len().min(usize::try_from(size).unwrap_or(usize::MAX));
    for (index, unit) in (0..).zip(units.iter().take(fitting)) {
        guest::write(buffer + index * width, *unit);
    }
    if (units.len() as u64) < size {
        guest::write(buffer + units.len() as u64 * width, T::default());
    }
    if fitting == units.len() { fitting as u64 } else { u64::from(u32::MAX) }
}
