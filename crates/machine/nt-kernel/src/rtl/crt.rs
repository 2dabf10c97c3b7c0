//! C runtime routines that ntoskrnl.exe exports: strings, characters and numbers.

use std::cmp::Ordering;

use nt_processor::memory::{Fault, GuestPtr, Plain};
use nt_verifier::routine::{ANY, routines};
use windows_constants::runtime_library::{_TRUNCATE, EINVAL, ERANGE, STRUNCATE};

use crate::case::{downcase, upcase};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn strlen(text: GuestPtr<u8>) -> Result<u64, Fault> {
        length(text, u64::MAX)
    }

    #[irql(ANY)]
    fn strnlen(text: GuestPtr<u8>, most: u64) -> Result<u64, Fault> {
        length(text, most)
    }

    #[irql(ANY)]
    fn wcslen(text: GuestPtr<u16>) -> Result<u64, Fault> {
        length(text, u64::MAX)
    }

    #[irql(ANY)]
    fn wcsnlen(text: GuestPtr<u16>, most: u64) -> Result<u64, Fault> {
        length(text, most)
    }

    #[irql(ANY)]
    fn strcmp(one: GuestPtr<u8>, other: GuestPtr<u8>) -> Result<Ordering, Fault> {
        compare(one, other, u64::MAX, |unit| unit)
    }

    #[irql(ANY)]
    fn strncmp(one: GuestPtr<u8>, other: GuestPtr<u8>, count: u64) -> Result<Ordering, Fault> {
        compare(one, other, count, |unit| unit)
    }

    #[irql(ANY)]
    fn _stricmp(one: GuestPtr<u8>, other: GuestPtr<u8>) -> Result<Ordering, Fault> {
        compare(one, other, u64::MAX, |unit| unit.to_ascii_lowercase())
    }

    #[irql(ANY)]
    fn _strnicmp(one: GuestPtr<u8>, other: GuestPtr<u8>, count: u64) -> Result<Ordering, Fault> {
        compare(one, other, count, |unit| unit.to_ascii_lowercase())
    }

    #[irql(ANY)]
    fn wcscmp(one: GuestPtr<u16>, other: GuestPtr<u16>) -> Result<Ordering, Fault> {
        compare(one, other, u64::MAX, |unit| unit)
    }

    #[irql(ANY)]
    fn wcsncmp(one: GuestPtr<u16>, other: GuestPtr<u16>, count: u64) -> Result<Ordering, Fault> {
        compare(one, other, count, |unit| unit)
    }

    #[irql(ANY)]
    fn _wcsicmp(one: GuestPtr<u16>, other: GuestPtr<u16>) -> Result<Ordering, Fault> {
        compare(one, other, u64::MAX, downcase)
    }

    #[irql(ANY)]
    fn _wcsnicmp(one: GuestPtr<u16>, other: GuestPtr<u16>, count: u64) -> Result<Ordering, Fault> {
        compare(one, other, count, downcase)
    }

    #[irql(ANY)]
    fn strcpy(target: GuestPtr<u8>, source: GuestPtr<u8>) -> Result<GuestPtr<u8>, Fault> {
        append(target, source, false)
    }

    #[irql(ANY)]
    fn wcscpy(target: GuestPtr<u16>, source: GuestPtr<u16>) -> Result<GuestPtr<u16>, Fault> {
        append(target, source, false)
    }

    #[irql(ANY)]
    fn strcat(target: GuestPtr<u8>, source: GuestPtr<u8>) -> Result<GuestPtr<u8>, Fault> {
        append(target, source, true)
    }

    #[irql(ANY)]
    fn wcscat(target: GuestPtr<u16>, source: GuestPtr<u16>) -> Result<GuestPtr<u16>, Fault> {
        append(target, source, true)
    }

    #[irql(ANY)]
    fn strchr(text: GuestPtr<u8>, wanted: i32) -> Result<Option<GuestPtr<u8>>, Fault> {
        find(text, byte(wanted), false)
    }

    #[irql(ANY)]
    fn strrchr(text: GuestPtr<u8>, wanted: i32) -> Result<Option<GuestPtr<u8>>, Fault> {
        find(text, byte(wanted), true)
    }

    #[irql(ANY)]
    fn wcschr(text: GuestPtr<u16>, wanted: u16) -> Result<Option<GuestPtr<u16>>, Fault> {
        find(text, wanted, false)
    }

    #[irql(ANY)]
    fn wcsrchr(text: GuestPtr<u16>, wanted: u16) -> Result<Option<GuestPtr<u16>>, Fault> {
        find(text, wanted, true)
    }

    #[irql(ANY)]
    fn strstr(text: GuestPtr<u8>, wanted: GuestPtr<u8>) -> Result<Option<GuestPtr<u8>>, Fault> {
        find_text(text, wanted)
    }

    #[irql(ANY)]
    fn wcsstr(text: GuestPtr<u16>, wanted: GuestPtr<u16>) -> Result<Option<GuestPtr<u16>>, Fault> {
        find_text(text, wanted)
    }

    #[irql(ANY)]
    fn toupper(character: i32) -> i32 {
        byte(character).to_ascii_uppercase().into()
    }

    #[irql(ANY)]
    fn tolower(character: i32) -> i32 {
        byte(character).to_ascii_lowercase().into()
    }

    #[irql(ANY)]
    fn towupper(unit: u16) -> u16 {
        upcase(unit)
    }

    #[irql(ANY)]
    fn strncpy(target: GuestPtr<u8>, source: GuestPtr<u8>, count: u64) -> Result<GuestPtr<u8>, Fault> {
        copy_some(target, source, count)
    }

    #[irql(ANY)]
    fn wcsncpy(target: GuestPtr<u16>, source: GuestPtr<u16>, count: u64) -> Result<GuestPtr<u16>, Fault> {
        copy_some(target, source, count)
    }

    #[irql(ANY)]
    fn strncat(target: GuestPtr<u8>, source: GuestPtr<u8>, count: u64) -> Result<GuestPtr<u8>, Fault> {
        append_some(target, source, count)
    }

    #[irql(ANY)]
    fn wcsncat(target: GuestPtr<u16>, source: GuestPtr<u16>, count: u64) -> Result<GuestPtr<u16>, Fault> {
        append_some(target, source, count)
    }

    #[irql(ANY)]
    fn strcpy_s(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>) -> Result<i32, Fault> {
        safely(target, room, source, None, false)
    }

    #[irql(ANY)]
    fn wcscpy_s(target: GuestPtr<u16>, room: u64, source: GuestPtr<u16>) -> Result<i32, Fault> {
        safely(target, room, source, None, false)
    }

    #[irql(ANY)]
    fn strcat_s(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>) -> Result<i32, Fault> {
        safely(target, room, source, None, true)
    }

    #[irql(ANY)]
    fn wcscat_s(target: GuestPtr<u16>, room: u64, source: GuestPtr<u16>) -> Result<i32, Fault> {
        safely(target, room, source, None, true)
    }

    #[irql(ANY)]
    fn strncpy_s(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>, count: u64) -> Result<i32, Fault> {
        safely(target, room, source, Some(count), false)
    }

    #[irql(ANY)]
    fn wcsncpy_s(target: GuestPtr<u16>, room: u64, source: GuestPtr<u16>, count: u64) -> Result<i32, Fault> {
        safely(target, room, source, Some(count), false)
    }

    #[irql(ANY)]
    fn strncat_s(target: GuestPtr<u8>, room: u64, source: GuestPtr<u8>, count: u64) -> Result<i32, Fault> {
        safely(target, room, source, Some(count), true)
    }

    #[irql(ANY)]
    fn wcsncat_s(target: GuestPtr<u16>, room: u64, source: GuestPtr<u16>, count: u64) -> Result<i32, Fault> {
        safely(target, room, source, Some(count), true)
    }

    #[irql(ANY)]
    fn _strlwr(text: GuestPtr<u8>) -> Result<GuestPtr<u8>, Fault> {
        fold(text, |unit| unit.to_ascii_lowercase())
    }

    #[irql(ANY)]
    fn _strupr(text: GuestPtr<u8>) -> Result<GuestPtr<u8>, Fault> {
        fold(text, |unit| unit.to_ascii_uppercase())
    }

    #[irql(ANY)]
    fn _wcslwr(text: GuestPtr<u16>) -> Result<GuestPtr<u16>, Fault> {
        fold(text, downcase)
    }

    #[irql(ANY)]
    fn _wcsupr(text: GuestPtr<u16>) -> Result<GuestPtr<u16>, Fault> {
        fold(text, upcase)
    }

    #[irql(ANY)]
    fn towlower(unit: u16) -> u16 {
        downcase(unit)
    }

    #[irql(ANY)]
    fn isdigit(character: i32) -> i32 {
        byte(character).is_ascii_digit().into()
    }

    #[irql(ANY)]
    fn isxdigit(character: i32) -> i32 {
        byte(character).is_ascii_hexdigit().into()
    }

    #[irql(ANY)]
    fn isalpha(character: i32) -> i32 {
        byte(character).is_ascii_alphabetic().into()
    }

    #[irql(ANY)]
    fn isalnum(character: i32) -> i32 {
        byte(character).is_ascii_alphanumeric().into()
    }

    #[irql(ANY)]
    fn isspace(character: i32) -> i32 {
        matches!(byte(character), b' ' | 9..=13).into()
    }

    #[irql(ANY)]
    fn isupper(character: i32) -> i32 {
        byte(character).is_ascii_uppercase().into()
    }

    #[irql(ANY)]
    fn islower(character: i32) -> i32 {
        byte(character).is_ascii_lowercase().into()
    }

    #[irql(ANY)]
    fn isprint(character: i32) -> i32 {
        matches!(byte(character), b' '..=b'~').into()
    }

    #[irql(ANY)]
    fn atoi(digits: GuestPtr<u8>) -> Result<i32, Fault> {
        Ok(number(&text(digits)?) as i32)
    }

    #[irql(ANY)]
    fn atol(digits: GuestPtr<u8>) -> Result<i32, Fault> {
        Ok(number(&text(digits)?) as i32)
    }

    #[irql(ANY)]
    fn _atoi64(digits: GuestPtr<u8>) -> Result<i64, Fault> {
        Ok(number(&text(digits)?))
    }

    #[irql(ANY)]
    fn _wtoi(digits: GuestPtr<u16>) -> Result<i32, Fault> {
        Ok(number(&text(digits)?) as i32)
    }

    #[irql(ANY)]
    fn _wtol(digits: GuestPtr<u16>) -> Result<i32, Fault> {
        Ok(number(&text(digits)?) as i32)
    }

    #[irql(ANY)]
    fn _itoa(value: i32, target: GuestPtr<u8>, radix: i32) -> Result<GuestPtr<u8>, Fault> {
        digits(value.into(), u32::MAX.into(), target, radix)
    }

    #[irql(ANY)]
    fn _itow(value: i32, target: GuestPtr<u16>, radix: i32) -> Result<GuestPtr<u16>, Fault> {
        digits(value.into(), u32::MAX.into(), target, radix)
    }

    #[irql(ANY)]
    fn _ultow(value: u32, target: GuestPtr<u16>, radix: i32) -> Result<GuestPtr<u16>, Fault> {
        digits(value.into(), u32::MAX.into(), target, radix)
    }

    #[irql(ANY)]
    fn _i64tow(value: i64, target: GuestPtr<u16>, radix: i32) -> Result<GuestPtr<u16>, Fault> {
        digits(value.into(), u64::MAX.into(), target, radix)
    }
}

/// A unit of text.
pub(super) trait Unit: Plain + Ord + Default + From<u8> + Into<u32> {}
impl Unit for u8 {}
impl Unit for u16 {}

/// Returns the character in an `int`.
const fn byte(character: i32) -> u8 {
    character.cast_unsigned() as u8
}

fn text<T: Unit>(place: GuestPtr<T>) -> Result<Vec<T>, Fault> {
    place.until(T::default(), u64::MAX)
}

fn length<T: Unit>(text: GuestPtr<T>, limit: u64) -> Result<u64, Fault> {
    Ok(text.until(T::default(), limit)?.len() as u64)
}

/// Compares strings. Reads no further than the first difference.
fn compare<T: Unit>(one: GuestPtr<T>, other: GuestPtr<T>, limit: u64, fold: fn(T) -> T) -> Result<Ordering, Fault> {
    for index in 0..limit {
        let one = fold(one.at(index).read()?);
        let other = fold(other.at(index).read()?);
        if one != other || one == T::default() {
            return Ok(one.cmp(&other));
        }
    }
    Ok(Ordering::Equal)
}

/// Copies a string with its terminator to the start or the end of another one, and returns the latter.
fn append<T: Unit>(target: GuestPtr<T>, source: GuestPtr<T>, to_end: bool) -> Result<GuestPtr<T>, Fault> {
    let skip = if to_end { text(target)?.len() as u64 } else { 0 };
    let mut units = text(source)?;
    units.push(T::default());
    target.at(skip).write_all(&units)?;
    Ok(target)
}

/// Copies at most `count` units, and fills the rest with zeros.
fn copy_some<T: Unit>(target: GuestPtr<T>, source: GuestPtr<T>, count: u64) -> Result<GuestPtr<T>, Fault> {
    let units = source.until(T::default(), count)?;
    target.write_all(&units)?;
    for index in units.len() as u64..count {
        target.at(index).write(T::default())?;
    }
    Ok(target)
}

/// Appends at most `count` units, and a terminator.
fn append_some<T: Unit>(target: GuestPtr<T>, source: GuestPtr<T>, count: u64) -> Result<GuestPtr<T>, Fault> {
    let mut units = source.until(T::default(), count)?;
    units.push(T::default());
    target.at(text(target)?.len() as u64).write_all(&units)?;
    Ok(target)
}

/// Copies or appends all or at most `count` units into a buffer of limited size. If the text does not fit, stores an empty
/// string.
fn safely<T: Unit>(
    target: GuestPtr<T>,
    room: u64,
    source: GuestPtr<T>,
    count: Option<u64>,
    to_end: bool,
) -> Result<i32, Fault> {
    if target.is_null() || room == 0 {
        return Ok(EINVAL);
    }
    if source.is_null() {
        target.write(T::default())?;
        return Ok(EINVAL);
    }
    let mut units = if to_end { target.until(T::default(), room)? } else { Vec::new() };
    units.extend(source.until(T::default(), count.unwrap_or(room).min(room))?);
    let fits = (units.len() as u64) < room;
    let cut = !fits && count == Some(_TRUNCATE);
    if cut {
        units.truncate(usize::try_from(room).unwrap_or(usize::MAX) - 1);
    } else if !fits {
        target.write(T::default())?;
        return Ok(ERANGE);
    }
    units.push(T::default());
    target.write_all(&units)?;
    Ok(if cut { STRUNCATE } else { 0 })
}

/// Changes each unit of a string.
fn fold<T: Unit>(target: GuestPtr<T>, change: fn(T) -> T) -> Result<GuestPtr<T>, Fault> {
    let units: Vec<T> = text(target)?.into_iter().map(change).collect();
    target.write_all(&units)?;
    Ok(target)
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

/// Formats a number whose type has the bits in `width`. Only decimal numbers can be negative.
fn digits<T: Unit>(value: i128, width: u128, target: GuestPtr<T>, radix: i32) -> Result<GuestPtr<T>, Fault> {
    let radix = u128::from(radix.cast_unsigned().clamp(2, 36));
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
    Ok(target)
}

/// Returns the address of the first or last unit that is wanted, which may be the terminator.
fn find<T: Unit>(text: GuestPtr<T>, wanted: T, last: bool) -> Result<Option<GuestPtr<T>>, Fault> {
    let mut place = text;
    let mut found = None;
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

fn find_text<T: Unit>(start: GuestPtr<T>, wanted: GuestPtr<T>) -> Result<Option<GuestPtr<T>>, Fault> {
    let units = text(start)?;
    let wanted = text(wanted)?;
    if wanted.is_empty() {
        return Ok(Some(start));
    }
    let position = units.windows(wanted.len()).position(|window| window == wanted);
    Ok(position.map(|position| start.at(position as u64)))
}
