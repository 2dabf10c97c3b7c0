//! Counted strings: `RtlInitUnicodeString` and its relatives.

use std::cmp::Ordering;

use etw_types::{Guid, NtStatus};

use super::case::{downcase, upcase};
use crate::kernel::pool;
use crate::kernel::registry::keys::USER;
use crate::kernel::{kernel, lock};
use crate::layout::{GUID, STRING, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr, GuestSlice, Plain};
use crate::routine::{ANY, APC, Call, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};

/// The maximum size of a counted string in bytes.
const MOST: usize = 0xFFFE;

type Unicode = GuestPtr<UNICODE_STRING>;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn RtlInitUnicodeString(string: Unicode, source: Option<GuestPtr<u16>>) -> Result<(), Fault> {
        initialize_unicode(string, source)
    }

    #[irql(ANY)]
    fn RtlInitUnicodeStringEx(string: Unicode, source: Option<GuestPtr<u16>>) -> Outcome {
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
        store(call, target, &super::print::widen(&source.units()?), allocate)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlUnicodeStringToAnsiString(&call, target: GuestPtr<STRING>, source: Unicode, allocate: bool) -> Outcome {
        unicode_to_ansi(call, target, source, allocate)
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
    fn RtlDuplicateUnicodeString(&call, _flags: Ignored<u32>, source: Unicode, target: Unicode) -> Outcome {
        store(call, target, &source.units()?, true)
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
        let text = string.text()?;
        let (digits, radix) = match (text.trim(), base) {
            (text, 0) if text.starts_with("0x") => (text.trim_start_matches("0x"), 16),
            (text, 0) => (text, 10),
            (text, radix @ (2 | 8 | 10 | 16)) => (text, radix),
            _ => return fail(NtStatus::InvalidParameter),
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let number = u32::from_str_radix(digits.get(..end).unwrap_or_default(), radix).unwrap_or_default();
        value.set(number)?;
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
    fn RtlUTF8ToUnicodeN(target: GuestPtr<u16>, room: u32, length: Out<u32>, source: GuestSlice<u8>) -> Outcome {
        let wide: Vec<u16> = String::from_utf8_lossy(&source.read()?).encode_utf16().collect();
        fill(target, room, length, &wide)
    }

    #[irql(PASSIVE)]
    fn RtlUnicodeToUTF8N(
        target: GuestPtr<u8>,
        room: u32,
        length: Out<u32>,
        source: GuestPtr<u16>,
        size: u32,
    ) -> Outcome {
        let source = source.array(u64::from(size) / 2).read()?;
        fill(target, room, length, String::from_utf16_lossy(&source).as_bytes())
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
    fn RtlHashUnicodeString(string: Unicode, ignore_case: bool, _algorithm: Ignored<u32>, hash: Out<u32>) -> Outcome {
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

/// Stores values in `room` bytes at `target`, which may be NULL. The length is always stored.
fn fill<T: Plain>(target: GuestPtr<T>, room: u32, length: Out<u32>, values: &[T]) -> Outcome {
    let size = size_of_val(values) as u32;
    length.set_if_wanted(size)?;
    let Some(target) = target.non_null() else { return Ok(()) };
    if size > room {
        target.array(u64::from(room) / size_of::<T>() as u64).write(values)?;
        return fail(NtStatus::BufferTooSmall);
    }
    target.write_all(values)?;
    Ok(())
}

fn initialize_unicode(string: Unicode, source: Option<GuestPtr<u16>>) -> Result<(), Fault> {
    let Some(source) = source else { return string.set(0, 0, GuestPtr::NULL) };
    let length = (source.terminated()?.len() * 2).min(MOST - 2) as u16;
    string.set(length, length + 2, source)
}

fn initialize_ansi(string: GuestPtr<STRING>, source: Option<GuestPtr<u8>>) -> Result<(), Fault> {
    let Some(source) = source else { return string.set(0, 0, GuestPtr::NULL) };
    let length = source.terminated()?.len().min(MOST - 1) as u16;
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
        return fail(NtStatus::BufferTooSmall);
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
