//! Counted strings: `RtlInitUnicodeString` and its relatives.

use std::cmp::Ordering;

use etw_types::{Guid, NtStatus};

use crate::kernel::pool;
use crate::kernel::{kernel, lock};
use crate::layout::{GUID, STRING, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};

/// The maximum size of a counted string in bytes.
const MOST: usize = 0xFFFE;

type Unicode = GuestPtr<UNICODE_STRING>;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("RtlInitUnicodeString", ANY, initialize_unicode),
    routine!("RtlInitUnicodeStringEx", ANY, initialize_unicode),
    routine!("RtlInitAnsiString", ANY, initialize_ansi),
    routine!("RtlInitString", ANY, initialize_ansi),
    routine!("RtlCopyUnicodeString", ANY, |call| set_units(call.ptr(0), &units(call, 1)?)),
    routine!("RtlAppendUnicodeStringToString", ANY, |call| append(call.ptr(0), &units(call, 1)?)),
    routine!("RtlAppendUnicodeToString", ANY, |call| {
        let tail = call.ptr::<u16>(1).non_null().map_or(Ok(Vec::new()), GuestPtr::<u16>::terminated)?;
        append(call.ptr(0), &tail)
    }),
    routine!("RtlCompareUnicodeString", PASSIVE, compare),
    routine!("RtlEqualUnicodeString", PASSIVE, |call| done(compare(call)? == Ordering::Equal)),
    routine!("RtlPrefixUnicodeString", PASSIVE, |call| {
        let (prefix, text) = (folded(call, 0)?, folded(call, 1)?);
        done(text.starts_with(&prefix))
    }),
    routine!("RtlUpcaseUnicodeString", PASSIVE, |call| {
        let units: Vec<u16> = units(call, 1)?.into_iter().map(upcase).collect();
        store(call, call.ptr(0), &units, call.is(2))
    })
    .fails(NO_RESOURCES),
    routine!("RtlDowncaseUnicodeString", PASSIVE, |call| {
        let text = call.ptr::<UNICODE_STRING>(1).text()?.to_lowercase();
        store_text(call, call.ptr(0), &text, call.is(2))
    })
    .fails(NO_RESOURCES),
    routine!("RtlUpcaseUnicodeChar", PASSIVE, |call| upcase(call.u16(0))),
    // Argument: pointer to the address of a character. The address is advanced to the next character.
    routine!("RtlAnsiCharToUnicodeChar", PASSIVE, |call| {
        let place = call.ptr::<GuestPtr<u8>>(0);
        let character = place.read()?;
        let unit = u16::from(character.read()?);
        place.write(character.at(1))?;
        done(unit)
    }),
    routine!("RtlAnsiStringToUnicodeString", PASSIVE, |call| {
        let bytes = call.ptr::<STRING>(1).units()?;
        store(call, call.ptr(0), &super::print::widen(&bytes), call.is(2))
    })
    .fails(NO_RESOURCES),
    routine!("RtlUnicodeStringToAnsiString", PASSIVE, unicode_to_ansi).fails(NO_RESOURCES),
    routine!("RtlFreeUnicodeString", PASSIVE, free_string),
    routine!("RtlFreeAnsiString", PASSIVE, free_string),
    routine!("RtlFreeUTF8String", PASSIVE, free_string),
    routine!("RtlDuplicateUnicodeString", PASSIVE, |call| store(call, call.ptr(2), &units(call, 1)?, true))
        .fails(NO_RESOURCES),
    routine!("RtlIntegerToUnicodeString", PASSIVE, |call| {
        let text = match call.u32(1) {
            0 | 10 => call.u32(0).to_string(),
            16 => format!("{:X}", call.u32(0)),
            8 => format!("{:o}", call.u32(0)),
            2 => format!("{:b}", call.u32(0)),
            _ => return fail(NtStatus::InvalidParameter),
        };
        store_text(call, call.ptr(2), &text, false)
    }),
    routine!("RtlUnicodeStringToInteger", PASSIVE, |call| {
        let text = call.ptr::<UNICODE_STRING>(0).text()?;
        let (digits, radix) = match (text.trim(), call.u32(1)) {
            (text, 0) if text.starts_with("0x") => (text.trim_start_matches("0x"), 16),
            (text, 0) => (text, 10),
            (text, radix @ (2 | 8 | 10 | 16)) => (text, radix),
            _ => return fail(NtStatus::InvalidParameter),
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let number = u32::from_str_radix(digits.get(..end).unwrap_or_default(), radix).unwrap_or_default();
        call.ptr(2).write(number)?;
        done(())
    }),
    routine!("RtlInt64ToUnicodeString", PASSIVE, |call| {
        let text = match call.u32(1) {
            0 | 10 => call.arg(0).to_string(),
            16 => format!("{:X}", call.arg(0)),
            8 => format!("{:o}", call.arg(0)),
            2 => format!("{:b}", call.arg(0)),
            _ => return fail(NtStatus::InvalidParameter),
        };
        store_text(call, call.ptr(2), &text, false)
    }),
    // Arguments: suffix, string, whether to ignore case.
    routine!("RtlSuffixUnicodeString", PASSIVE, |call| {
        let (suffix, text) = (folded(call, 0)?, folded(call, 1)?);
        done(text.ends_with(&suffix))
    }),
    routine!("RtlCompareString", PASSIVE, |call| done(ansi_folded(call, 0)?.cmp(&ansi_folded(call, 1)?))),
    routine!("RtlEqualString", PASSIVE, |call| done(ansi_folded(call, 0)? == ansi_folded(call, 1)?)),
    routine!("RtlUpperChar", PASSIVE, |call| call.u8(0).to_ascii_uppercase()),
    routine!("RtlCopyString", ANY, |call| {
        let (target, source) = (call.ptr::<STRING>(0), call.ptr::<STRING>(1).units()?);
        let room = usize::from(target.MaximumLength().read()?).min(source.len());
        target.Buffer().read()?.array(room as u64).write(&source)?;
        target.Length().write(room as u16)
    }),
    // The size in bytes, with a terminator, of the string in the other format.
    routine!("RtlxUnicodeStringToAnsiSize", PASSIVE, |call| done(units(call, 0)?.len() as u32 + 1)),
    routine!("RtlxAnsiStringToUnicodeSize", PASSIVE, |call| {
        done((u32::from(call.ptr::<STRING>(0).Length().read()?) + 1) * 2)
    }),
    // Arguments: destination, its size in bytes, pointer to the length, source, its size in bytes.
    routine!("RtlUnicodeToMultiByteN", PASSIVE, |call| {
        let source = call.ptr::<u16>(3).array(u64::from(call.u32(4)) / 2).read()?;
        let bytes: Vec<u8> = source.into_iter().map(|unit| u8::try_from(unit).unwrap_or(b'?')).collect();
        let count = bytes.len().min(call.u32(1) as usize);
        call.ptr(0).array(count as u64).write(&bytes)?;
        call.ptr(2).write_if(count as u32)?;
        done(())
    }),
    routine!("RtlMultiByteToUnicodeN", PASSIVE, |call| {
        let source = call.ptr::<u8>(3).array(call.u32(4).into()).read()?;
        let wide = super::print::widen(&source);
        let count = wide.len().min(call.u32(1) as usize / 2);
        call.ptr(0).array(count as u64).write(&wide)?;
        call.ptr(2).write_if(count as u32 * 2)?;
        done(())
    }),
    routine!("RtlUTF8ToUnicodeN", PASSIVE, |call| {
        let source = call.ptr::<u8>(3).array(call.u32(4).into()).read()?;
        let wide: Vec<u16> = String::from_utf8_lossy(&source).encode_utf16().collect();
        fill(call, &wide)
    }),
    routine!("RtlUnicodeToUTF8N", PASSIVE, |call| {
        let source = call.ptr::<u16>(3).array(u64::from(call.u32(4)) / 2).read()?;
        fill(call, String::from_utf16_lossy(&source).as_bytes())
    }),
    routine!("RtlStringFromGUID", PASSIVE, |call| {
        let text = format!("{{{}}}", call.ptr::<GUID>(0).id()?).to_uppercase();
        store_text(call, call.ptr(1), &text, true)
    })
    .fails(NO_RESOURCES),
    routine!("RtlGUIDFromString", PASSIVE, |call| {
        let text = call.ptr::<UNICODE_STRING>(0).text()?;
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        match Guid::parse(inner) {
            Ok(guid) => Ok(call.ptr::<GUID>(1).set_id(guid)?),
            Err(_) => fail(NtStatus::InvalidParameter),
        }
    }),
    routine!("RtlHashUnicodeString", PASSIVE, |call| {
        let hash = units(call, 0)?.into_iter().fold(0_u32, |hash, unit| {
            let unit = if call.is(1) { upcase(unit) } else { unit };
            hash.wrapping_mul(65_599).wrapping_add(unit.into())
        });
        call.ptr(3).write(hash)
    }),
];

/// Converts to upper case like the kernel: one unit becomes one unit.
pub(super) fn upcase(unit: u16) -> u16 {
    let Some(c) = char::from_u32(unit.into()) else { return unit };
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => u16::try_from(u32::from(upper)).unwrap_or(unit),
        _ => unit,
    }
}

fn units(call: &Call, index: u64) -> Result<Vec<u16>, Fault> {
    call.ptr::<UNICODE_STRING>(index).units()
}

/// Returns the units of a string, in upper case if the third argument is set.
fn folded(call: &Call, index: u64) -> Result<Vec<u16>, Fault> {
    let units = units(call, index)?;
    Ok(if call.is(2) { units.into_iter().map(upcase).collect() } else { units })
}

/// Returns the bytes of a narrow string, in upper case if the third argument is set.
fn ansi_folded(call: &Call, index: u64) -> Result<Vec<u8>, Fault> {
    let bytes = call.ptr::<STRING>(index).units()?;
    Ok(if call.is(2) { bytes.to_ascii_uppercase() } else { bytes })
}

/// Arguments: destination or NULL, its size in bytes, pointer to the length. The length is always stored.
fn fill<T: crate::memory::Plain>(call: &Call, values: &[T]) -> Outcome {
    let size = size_of_val(values) as u32;
    call.ptr(2).write_if(size)?;
    let Some(target) = call.ptr::<T>(0).non_null() else { return Ok(()) };
    if size > call.u32(1) {
        target.array(u64::from(call.u32(1)) / size_of::<T>() as u64).write(values)?;
        return fail(NtStatus::BufferTooSmall);
    }
    target.write_all(values)?;
    Ok(())
}

fn compare(call: &Call) -> Result<Ordering, Fault> {
    Ok(folded(call, 0)?.cmp(&folded(call, 1)?))
}

/// Arguments: string, source.
fn initialize_unicode(call: &Call) -> Outcome {
    let (string, source) = (call.ptr::<UNICODE_STRING>(0), call.ptr::<u16>(1));
    let Some(source) = source.non_null() else { return done(string.set(0, 0, source)?) };
    let length = (source.terminated()?.len() * 2).min(MOST - 2) as u16;
    string.set(length, length + 2, source)?;
    done(())
}

/// Arguments: string, source.
fn initialize_ansi(call: &Call) -> Outcome {
    let (string, source) = (call.ptr::<STRING>(0), call.ptr::<u8>(1));
    let Some(source) = source.non_null() else { return done(string.set(0, 0, source)?) };
    let length = source.terminated()?.len().min(MOST - 1) as u16;
    string.set(length, length + 1, source)?;
    done(())
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

/// Arguments: destination, source, whether to allocate.
fn unicode_to_ansi(call: &Call) -> Outcome {
    let bytes = units(call, 1)?.into_iter().map(|unit| u8::try_from(unit).unwrap_or(b'?'));
    let bytes: Vec<u8> = bytes.chain([0]).collect();
    let string = call.ptr::<STRING>(0);
    if call.is(2) {
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

fn free_string(call: &Call) -> Outcome {
    let string = call.ptr::<STRING>(0);
    if let Some(buffer) = string.Buffer().read()?.non_null() {
        pool::free(buffer.address(), None);
        string.set(0, 0, GuestPtr::NULL)?;
    }
    Ok(())
}
