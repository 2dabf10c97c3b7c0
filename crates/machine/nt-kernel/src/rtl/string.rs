//! Counted strings: `RtlInitUnicodeString` and its relatives.

use std::borrow::Cow;
use std::cmp::Ordering;

use etw_types::{Guid, NtStatus};
use nt_processor::layout::{GUID, STRING, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, Plain};
use nt_verifier::routine::{ANY, APC, Call, Failure, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::runtime_library::{
    HASH_STRING_ALGORITHM_DEFAULT, HASH_STRING_ALGORITHM_X65599, RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING,
    RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE,
};

use crate::case::{downcase, upcase};
use crate::pool;
use crate::registry::keys::USER;
use crate::{kernel, lock};

/// The maximum size of a counted string in bytes.
const MOST: usize = 0xFFFE;

/// The algorithms of `RtlHashUnicodeString`.
const HASH_ALGORITHMS: [u32; 2] = [HASH_STRING_ALGORITHM_DEFAULT, HASH_STRING_ALGORITHM_X65599];

type Unicode = GuestPtr<UNICODE_STRING>;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn RtlInitUnicodeString(string: Unicode, source: Option<GuestPtr<u16>>) -> Result<(), Fault> {
        initialize_unicode(string, source)
    }

    #[irql(ANY)]
    fn RtlInitUnicodeStringEx(string: Unicode, source: Option<GuestPtr<u16>>) -> Outcome {
        if source.map_or(Ok(Vec::new()), GuestPtr::<u16>::terminated)?.len() * 2 > MOST - 2 {
            return fail(NtStatus::NameTooLong);
        }
        done(initialize_unicode(string, source)?)
    }

    #[irql(ANY)]
    fn RtlInitAnsiString(string: GuestPtr<STRING>, source: Option<GuestPtr<u8>>) -> Result<(), Fault> {
        initialize_ansi(string, source)
    }

    #[irql(ANY)]
    fn RtlInitString(string: GuestPtr<STRING>, source: Option<GuestPtr<u8>>) -> Result<(), Fault> {
        initialize_ansi(string, source)
    }

    #[irql(ANY)]
    fn RtlCopyUnicodeString(target: Unicode, source: Option<Unicode>) -> Result<(), Fault> {
        set_units(target, &source.map_or(Ok(Vec::new()), GuestPtr::<UNICODE_STRING>::units)?)
    }

    #[irql(ANY)]
    fn RtlAppendUnicodeStringToString(string: Unicode, tail: Unicode) -> Outcome {
        append(string, &tail.units()?)
    }

    #[irql(ANY)]
    fn RtlAppendUnicodeToString(string: Unicode, tail: Option<GuestPtr<u16>>) -> Outcome {
        append(string, &tail.map_or(Ok(Vec::new()), GuestPtr::<u16>::terminated)?)
    }

    #[irql(PASSIVE)]
    fn RtlCompareUnicodeString(one: Unicode, other: Unicode, ignore_case: bool) -> Result<Ordering, Fault> {
        Ok(folded(one, ignore_case)?.cmp(&folded(other, ignore_case)?))
    }

    #[irql(PASSIVE)]
    fn RtlEqualUnicodeString(one: Unicode, other: Unicode, ignore_case: bool) -> Result<bool, Fault> {
        Ok(folded(one, ignore_case)? == folded(other, ignore_case)?)
    }

    #[irql(PASSIVE)]
    fn RtlPrefixUnicodeString(prefix: Unicode, string: Unicode, ignore_case: bool) -> Result<bool, Fault> {
        Ok(folded(string, ignore_case)?.starts_with(&folded(prefix, ignore_case)?))
    }

    #[irql(APC), fails(NO_RESOURCES)]
    fn RtlUpcaseUnicodeString(&call, target: Unicode, source: Unicode, allocate: bool) -> Outcome {
        let units: Vec<u16> = source.units()?.into_iter().map(upcase).collect();
        store(call, target, &units, allocate)
    }

    #[irql(APC), fails(NO_RESOURCES)]
    fn RtlDowncaseUnicodeString(&call, target: Unicode, source: Unicode, allocate: bool) -> Outcome {
        let units: Vec<u16> = source.units()?.into_iter().map(downcase).collect();
        store(call, target, &units, allocate)
    }

    #[irql(APC)]
    fn RtlUpcaseUnicodeChar(unit: u16) -> u16 {
        upcase(unit)
    }

    /// Advances the address at `place` to the next character.
    #[irql(PASSIVE)]
    fn RtlAnsiCharToUnicodeChar(place: GuestPtr<GuestPtr<u8>>) -> Result<u16, Fault> {
        let character = place.read()?;
        let unit = u16::from(character.read()?);
        place.write(character.at(1))?;
        Ok(unit)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlAnsiStringToUnicodeString(&call, target: Unicode, source: GuestPtr<STRING>, allocate: bool) -> Outcome {
        let units = super::print::widen(&source.units()?);
        // The buffer must have room for a terminator, too.
        if !allocate && units.len() * 2 + 2 > usize::from(target.MaximumLength().read()?) {
            return fail(NtStatus::BufferOverflow);
        }
        store(call, target, &units, allocate)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlUnicodeStringToAnsiString(&call, target: GuestPtr<STRING>, source: Unicode, allocate: bool) -> Outcome {
        unicode_to_ansi(call, target, source, allocate)
    }

    /// The caller frees the string.
    #[irql(PASSIVE), fails_with_zero]
    fn RtlCreateUnicodeString(&call, string: Unicode, source: GuestPtr<u16>) -> Result<bool, Fault> {
        match store(call, string, &source.terminated()?, true) {
            Err(Failure::Fault(fault)) => Err(fault),
            stored => Ok(stored.is_ok()),
        }
    }

    #[irql(APC)]
    fn RtlFreeUnicodeString(string: Unicode) -> Result<(), Fault> {
        free_string(string.cast())
    }

    #[irql(APC)]
    fn RtlFreeAnsiString(string: GuestPtr<STRING>) -> Result<(), Fault> {
        free_string(string)
    }

    #[irql(PASSIVE)]
    fn RtlFreeUTF8String(string: GuestPtr<STRING>) -> Result<(), Fault> {
        free_string(string)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlDuplicateUnicodeString(&call, flags: u32, source: Option<Unicode>, target: Option<Unicode>) -> Outcome {
        let (Some(source), Some(target)) = (source, target) else { return fail(NtStatus::InvalidParameter) };
        duplicate(call, flags, source, target)
    }

    #[irql(PASSIVE)]
    fn RtlIntegerToUnicodeString(&call, value: u32, base: u32, string: Unicode) -> Outcome {
        let text = match base {
            0 | 10 => value.to_string(),
            16 => format!("{value:X}"),
            8 => format!("{value:o}"),
            2 => format!("{value:b}"),
            _ => return fail(NtStatus::InvalidParameter),
        };
        store_text(call, string, &text, false)
    }

    #[irql(PASSIVE)]
    fn RtlUnicodeStringToInteger(string: Unicode, base: u32, value: Out<u32>) -> Outcome {
        value.set(integer(&string.units()?, base)?)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn RtlInt64ToUnicodeString(&call, value: u64, base: u32, string: Unicode) -> Outcome {
        let text = match base {
            0 | 10 => value.to_string(),
            16 => format!("{value:X}"),
            8 => format!("{value:o}"),
            2 => format!("{value:b}"),
            _ => return fail(NtStatus::InvalidParameter),
        };
        store_text(call, string, &text, false)
    }

    /// The key of the local system account. The caller frees the string.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlFormatCurrentUserKeyPath(&call, path: Unicode) -> Outcome {
        store_text(call, path, USER, true)
    }

    #[irql(PASSIVE)]
    fn RtlSuffixUnicodeString(suffix: Unicode, string: Unicode, ignore_case: bool) -> Result<bool, Fault> {
        Ok(folded(string, ignore_case)?.ends_with(&folded(suffix, ignore_case)?))
    }

    #[irql(PASSIVE)]
    fn RtlCompareString(one: GuestPtr<STRING>, other: GuestPtr<STRING>, ignore_case: bool) -> Result<Ordering, Fault> {
        Ok(ansi_folded(one, ignore_case)?.cmp(&ansi_folded(other, ignore_case)?))
    }

    #[irql(PASSIVE)]
    fn RtlEqualString(one: GuestPtr<STRING>, other: GuestPtr<STRING>, ignore_case: bool) -> Result<bool, Fault> {
        Ok(ansi_folded(one, ignore_case)? == ansi_folded(other, ignore_case)?)
    }

    #[irql(APC)]
    fn RtlUpperChar(character: i8) -> i8 {
        character.cast_unsigned().to_ascii_uppercase().cast_signed()
    }

    #[irql(ANY)]
    fn RtlCopyString(target: GuestPtr<STRING>, source: Option<GuestPtr<STRING>>) -> Result<(), Fault> {
        let source = source.map_or(Ok(Vec::new()), GuestPtr::<STRING>::units)?;
        let room = usize::from(target.MaximumLength().read()?).min(source.len());
        target.Buffer().read()?.array(room as u64).write(&source)?;
        target.Length().write(room as u16)
    }

    /// Returns the size in bytes, with a terminator, of the string in the other format.
    #[irql(PASSIVE)]
    fn RtlxUnicodeStringToAnsiSize(string: Unicode) -> Result<u32, Fault> {
        Ok(string.units()?.len() as u32 + 1)
    }

    /// Returns the size in bytes, with a terminator, of the string in the other format.
    #[irql(PASSIVE)]
    fn RtlxAnsiStringToUnicodeSize(string: GuestPtr<STRING>) -> Result<u32, Fault> {
        Ok((u32::from(string.Length().read()?) + 1) * 2)
    }

    #[irql(APC)]
    fn RtlUnicodeToMultiByteN(
        target: GuestPtr<u8>,
        room: u32,
        length: Out<u32>,
        source: GuestPtr<u16>,
        size: u32,
    ) -> Outcome {
        let source = source.array(u64::from(size) / 2).read()?;
        let bytes: Vec<u8> = source.into_iter().map(|unit| u8::try_from(unit).unwrap_or(b'?')).collect();
        let count = bytes.len().min(room as usize);
        target.array(count as u64).write(&bytes)?;
        length.set_if_wanted(count as u32)?;
        done(())
    }

    #[irql(APC)]
    fn RtlMultiByteToUnicodeN(target: GuestPtr<u16>, room: u32, length: Out<u32>, source: GuestSlice<u8>) -> Outcome {
        let wide = super::print::widen(&source.read()?);
        let count = wide.len().min(room as usize / 2);
        target.array(count as u64).write(&wide)?;
        length.set_if_wanted(count as u32 * 2)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn RtlUTF8ToUnicodeN(
        target: GuestPtr<u16>,
        room: u32,
        length: Out<u32>,
        source: GuestSlice<u8>,
    ) -> Outcome<NtStatus> {
        if source.start().is_null() {
            return fail(NtStatus::InvalidParameter4);
        }
        let bytes = source.read()?;
        let text = String::from_utf8_lossy(&bytes);
        let characters = text.chars().map(|c| c.encode_utf16(&mut [0; 2]).to_vec());
        fill(target, room, length, characters, matches!(text, Cow::Borrowed(_)))
    }

    #[irql(PASSIVE)]
    fn RtlUnicodeToUTF8N(
        target: GuestPtr<u8>,
        room: u32,
        length: Out<u32>,
        source: Option<GuestPtr<u16>>,
        size: u32,
    ) -> Outcome<NtStatus> {
        let Some(source) = source else { return fail(NtStatus::InvalidParameter4) };
        if !size.is_multiple_of(2) {
            return fail(NtStatus::InvalidParameter5);
        }
        let units = source.array(u64::from(size) / 2).read()?;
        let is_valid = char::decode_utf16(units.iter().copied()).all(|c| c.is_ok());
        let characters = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        let characters = characters.map(|c| c.encode_utf8(&mut [0; 4]).as_bytes().to_vec());
        fill(target, room, length, characters, is_valid)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlStringFromGUID(&call, guid: GuestPtr<GUID>, string: Unicode) -> Outcome {
        let text = format!("{{{}}}", guid.id()?).to_uppercase();
        store_text(call, string, &text, true)
    }

    #[irql(PASSIVE)]
    fn RtlGUIDFromString(string: Unicode, guid: GuestPtr<GUID>) -> Outcome {
        let text = string.text()?;
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        match Guid::parse(inner) {
            Ok(id) => done(guid.set_id(id)?),
            Err(_) => fail(NtStatus::InvalidParameter),
        }
    }

    #[irql(APC)]
    fn RtlHashUnicodeString(
        string: Option<Unicode>,
        ignore_case: bool,
        algorithm: u32,
        hash: Out<u32>,
    ) -> Outcome {
        let Some(string) = string.filter(|_| hash.is_wanted() && HASH_ALGORITHMS.contains(&algorithm)) else {
            return fail(NtStatus::InvalidParameter);
        };
        let units = folded(string, ignore_case)?.into_iter();
        hash.set(units.fold(0_u32, |hash, unit| hash.wrapping_mul(65_599).wrapping_add(unit.into())))?;
        done(())
    }
}

/// Returns the units of a string, in upper case if case is ignored.
fn folded(string: Unicode, ignore_case: bool) -> Result<Vec<u16>, Fault> {
    let units = string.units()?;
    Ok(if ignore_case { units.into_iter().map(upcase).collect() } else { units })
}

/// Returns the bytes of a narrow string, in upper case if case is ignored.
fn ansi_folded(string: GuestPtr<STRING>, ignore_case: bool) -> Result<Vec<u8>, Fault> {
    let bytes = string.units()?;
    Ok(if ignore_case { bytes.to_ascii_uppercase() } else { bytes })
}

/// Stores as many characters as fit in `room` bytes at `target`, and the number of bytes. If `target` is NULL, only stores the
/// number of bytes that are needed.
fn fill<T: Plain>(
    target: GuestPtr<T>,
    room: u32,
    length: Out<u32>,
    characters: impl Iterator<Item = Vec<T>>,
    is_valid: bool,
) -> Outcome<NtStatus> {
    if target.is_null() && !length.is_wanted() {
        return fail(NtStatus::InvalidParameter);
    }
    let most = if target.is_null() { usize::MAX } else { room as usize / size_of::<T>() };
    let mut values = Vec::new();
    let mut is_whole = true;
    for character in characters {
        if values.len() + character.len() > most {
            is_whole = false;
            break;
        }
        values.extend(character);
    }
    length.set_if_wanted(size_of_val(values.as_slice()) as u32)?;
    if !target.is_null() {
        target.write_all(&values)?;
    }
    done(match (is_whole, is_valid) {
        (false, _) => NtStatus::BufferTooSmall,
        (true, false) => NtStatus::SomeNotMapped,
        (true, true) => NtStatus::Success,
    })
}

/// Duplicates a string into a new buffer of exactly its size, or with a terminator. An empty string has a buffer only if the
/// flags ask for one.
fn duplicate(call: &Call, flags: u32, source: Unicode, target: Unicode) -> Outcome {
    let UNICODE_STRING { Length, MaximumLength, Buffer, .. } = source.read()?;
    let has_no_buffer = Buffer.is_null() && MaximumLength != 0;
    if flags & RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING != 0
        && flags & RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE == 0
        || flags > RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE | RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING
        || Length > MaximumLength
        || has_no_buffer
    {
        return fail(NtStatus::InvalidParameter);
    }
    if Length == 0 && flags & RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING == 0 {
        return done(target.set(0, 0, GuestPtr::NULL)?);
    }
    let terminator = if flags & RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE != 0 { 2 } else { 0 };
    let Some(size) = Length.checked_add(terminator) else { return fail(NtStatus::NameTooLong) };
    let units = source.units()?;
    let memory = lock(&kernel().pool).allocate(size.into(), *b"Strg", true, call.from);
    let Some(buffer) = memory else { return fail(NtStatus::NoMemory) };
    target.set(0, size, GuestPtr::new(buffer))?;
    done(set_units(target, &units)?)
}

/// Converts the number at the beginning of a string, behind white space and a sign. What does not fit is lost.
fn integer(units: &[u16], base: u32) -> Result<u32, NtStatus> {
    let is_base = matches!(base, 0 | 2 | 8 | 10 | 16);
    if units.is_empty() || !is_base {
        return Err(NtStatus::InvalidParameter);
    }
    let text = String::from_utf16_lossy(units);
    let text = text.trim_start_matches(|c| c <= ' ');
    let (text, is_negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    let prefixed = [("0b", 2), ("0o", 8), ("0x", 16)].into_iter().filter(|_| base == 0);
    let mut prefixed = prefixed.filter_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, radix)));
    let (digits, radix) = prefixed.next_back().unwrap_or((text, if base == 0 { 10 } else { base }));
    let digits = digits.chars().map_while(|c| c.to_digit(radix));
    let number = digits.fold(0_u32, |number, digit| number.wrapping_mul(radix).wrapping_add(digit));
    Ok(if is_negative { number.wrapping_neg() } else { number })
}

fn initialize_unicode(string: Unicode, source: Option<GuestPtr<u16>>) -> Result<(), Fault> {
    let Some(source) = source else { return string.set(0, 0, GuestPtr::NULL) };
    let length = (source.terminated()?.len() * 2).min(MOST - 2) as u16;
    string.set(length, length + 2, source)
}

fn initialize_ansi(string: GuestPtr<STRING>, source: Option<GuestPtr<u8>>) -> Result<(), Fault> {
    let Some(source) = source else { return string.set(0, 0, GuestPtr::NULL) };
    let length = source.until(0, MOST as u64)?.len() as u16;
    string.set(length, length + 1, source)
}

/// Copies as many units as fit.
fn set_units(string: Unicode, units: &[u16]) -> Result<(), Fault> {
    let room = usize::from(string.MaximumLength().read()? / 2);
    let units = units.get(..room.min(units.len())).unwrap_or_default();
    let buffer = string.Buffer().read()?;
    buffer.write_all(units)?;
    if units.len() < room {
        buffer.at(units.len() as u64).write(0)?;
    }
    string.Length().write(units.len() as u16 * 2)
}

fn append(string: Unicode, tail: &[u16]) -> Outcome {
    let mut units = string.units()?;
    units.extend_from_slice(tail);
    if units.len() * 2 > usize::from(string.MaximumLength().read()?) {
        return fail(NtStatus::BufferTooSmall);
    }
    set_units(string, &units)?;
    done(())
}

/// Stores text in a string. Allocates its buffer if `allocate` is set.
pub(super) fn store(call: &Call, string: Unicode, units: &[u16], allocate: bool) -> Outcome {
    let size = units.len() * 2;
    if size + 2 > MOST {
        return fail(NtStatus::InvalidParameter);
    }
    if allocate {
        let memory = lock(&kernel().pool).allocate(size as u64 + 2, *b"Strg", true, call.from);
        let Some(buffer) = memory else { return fail(NtStatus::NoMemory) };
        string.set(0, size as u16 + 2, GuestPtr::new(buffer))?;
    } else if size > usize::from(string.MaximumLength().read()?) {
        return fail(NtStatus::BufferOverflow);
    }
    set_units(string, units)?;
    done(())
}

pub(super) fn store_text(call: &Call, string: Unicode, text: &str, allocate: bool) -> Outcome {
    store(call, string, &text.encode_utf16().collect::<Vec<u16>>(), allocate)
}

fn unicode_to_ansi(call: &Call, string: GuestPtr<STRING>, source: Unicode, allocate: bool) -> Outcome {
    let bytes = source.units()?.into_iter().map(|unit| u8::try_from(unit).unwrap_or(b'?'));
    let bytes: Vec<u8> = bytes.chain([0]).collect();
    if allocate {
        let memory = lock(&kernel().pool).allocate(bytes.len() as u64, *b"Strg", true, call.from);
        let Some(buffer) = memory else { return fail(NtStatus::NoMemory) };
        string.set(0, bytes.len() as u16, GuestPtr::new(buffer))?;
    } else if bytes.len() > usize::from(string.MaximumLength().read()?) {
        return fail(NtStatus::BufferOverflow);
    }
    string.Buffer().read()?.write_all(&bytes)?;
    string.Length().write(bytes.len() as u16 - 1)?;
    done(())
}

fn free_string(string: GuestPtr<STRING>) -> Result<(), Fault> {
    if let Some(buffer) = string.Buffer().read()?.non_null() {
        pool::free(buffer.address(), None);
        string.set(0, 0, GuestPtr::NULL)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use etw_types::NtStatus;

    use super::integer;

    fn number(text: &str, base: u32) -> Result<i32, NtStatus> {
        integer(&text.encode_utf16().collect::<Vec<u16>>(), base).map(u32::cast_signed)
    }

    /// The table on the routine's page.
    #[test]
    fn numbers_are_converted_as_on_the_page_of_the_routine() {
        let rows = [
            ("123", 10, 123),
            ("-345", 10, -345),
            ("xyz", 10, 0),
            ("+678abc", 10, 678),
            ("+678abc", 16, 6_785_724),
            ("007", 10, 7),
            ("789", 8, 7),
            ("FGH", 16, 15),
            (" ", 10, 0),
        ];
        for (text, base, expected) in rows {
            assert_eq!(number(text, base), Ok(expected), "{text} {base}");
        }
        assert_eq!(number("", 10), Err(NtStatus::InvalidParameter));
        assert_eq!(number("1", 3), Err(NtStatus::InvalidParameter));
    }

    /// What Windows does, as recorded by the tests of Wine (`dlls/ntdll/tests/rtlstr.c`).
    #[test]
    fn base_zero_takes_the_base_from_a_prefix_and_wraps_around() {
        let rows = [
            ("0b101", 5),
            ("-0b10123456789", -5),
            ("0o17", 15),
            ("0x12345", 0x12345),
            ("0d10", 0),
            ("00x12345", 0),
            ("--214", 0),
            ("\u{1}\u{2} \n214", 214),
            ("9999999999", 1_410_065_407),
            ("4294967296", 0),
        ];
        for (text, expected) in rows {
            assert_eq!(number(text, 0), Ok(expected), "{text}");
        }
    }
}
