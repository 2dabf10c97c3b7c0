//! Counted strings: `RtlInitUnicodeString` and its relatives.

use std::cmp::Ordering;

use super::routine::{ANY, Call, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{kernel, lock, pool};
use crate::memory::guest;

const BUFFER_TOO_SMALL: u64 = 0xC000_0023;
const INVALID_PARAMETER: u64 = 0xC000_000D;
const NO_MEMORY: u64 = 0xC000_0017;
/// The most bytes that a counted string can have.
const MOST: usize = 0xFFFE;

pub(super) const ROUTINES: &[Routine] = &[
    routine("RtlInitUnicodeString", ANY, |call| {
        initialize(call.arg(0), call.arg(1), 2);
        0
    }),
    routine("RtlInitUnicodeStringEx", ANY, |call| {
        initialize(call.arg(0), call.arg(1), 2);
        0
    }),
    routine("RtlInitAnsiString", ANY, |call| {
        initialize(call.arg(0), call.arg(1), 1);
        0
    }),
    routine("RtlInitString", ANY, |call| {
        initialize(call.arg(0), call.arg(1), 1);
        0
    }),
    routine("RtlCopyUnicodeString", ANY, |call| {
        let units = guest::unicode(call.arg(1));
        set_units(call.arg(0), &units);
        0
    }),
    routine("RtlAppendUnicodeStringToString", ANY, |call| append(call.arg(0), &guest::unicode(call.arg(1)))),
    routine("RtlAppendUnicodeToString", ANY, |call| {
        let tail = if call.arg(1) == 0 { Vec::new() } else { guest::terminated::<u16>(call.arg(1)) };
        append(call.arg(0), &tail)
    }),
    routine("RtlCompareUnicodeString", PASSIVE, |call| {
        (compare(call.arg(0), call.arg(1), call.is(2)) as i32).cast_unsigned().into()
    }),
    routine("RtlEqualUnicodeString", PASSIVE, |call| {
        u64::from(compare(call.arg(0), call.arg(1), call.is(2)) == Ordering::Equal)
    }),
    routine("RtlPrefixUnicodeString", PASSIVE, |call| {
        let fold =
            |units: Vec<u16>| -> Vec<u16> { if call.is(2) { units.into_iter().map(upcase).collect() } else { units } };
        let (prefix, text) = (fold(guest::unicode(call.arg(0))), fold(guest::unicode(call.arg(1))));
        u64::from(text.starts_with(&prefix))
    }),
    routine("RtlUpcaseUnicodeString", PASSIVE, |call| {
        let units: Vec<u16> = guest::unicode(call.arg(1)).into_iter().map(upcase).collect();
        store(call, call.arg(0), &units, call.is(2))
    })
    .fails(NO_RESOURCES),
    routine("RtlDowncaseUnicodeString", PASSIVE, |call| {
        let text = guest::text(call.arg(1)).to_lowercase();
        store(call, call.arg(0), &text.encode_utf16().collect::<Vec<_>>(), call.is(2))
    })
    .fails(NO_RESOURCES),
    routine("RtlUpcaseUnicodeChar", PASSIVE, |call| upcase(call.u16(0)).into()),
    routine("RtlAnsiStringToUnicodeString", PASSIVE, |call| {
        let units: Vec<u16> = guest::ansi(call.arg(1)).iter().map(|&byte| byte.into()).collect();
        store(call, call.arg(0), &units, call.is(2))
    })
    .fails(NO_RESOURCES),
    routine("RtlUnicodeStringToAnsiString", PASSIVE, unicode_to_ansi).fails(NO_RESOURCES),
    routine("RtlFreeUnicodeString", PASSIVE, free_string),
    routine("RtlFreeAnsiString", PASSIVE, free_string),
    routine("RtlFreeUTF8String", PASSIVE, free_string),
    routine("RtlDuplicateUnicodeString", PASSIVE, |call| store(call, call.arg(2), &guest::unicode(call.arg(1)), true))
        .fails(NO_RESOURCES),
    routine("RtlIntegerToUnicodeString", PASSIVE, |call| {
        let text = match call.u32(1) {
            0 | 10 => call.u32(0).to_string(),
            16 => format!("{:X}", call.u32(0)),
            8 => format!("{:o}", call.u32(0)),
            2 => format!("{:b}", call.u32(0)),
            _ => return INVALID_PARAMETER,
        };
        store(call, call.arg(2), &text.encode_utf16().collect::<Vec<_>>(), false)
    }),
    routine("RtlUnicodeStringToInteger", PASSIVE, |call| {
        let text = guest::text(call.arg(0));
        let (digits, radix) = match (text.trim(), call.u32(1)) {
            (text, 0) if text.starts_with("0x") => (text.trim_start_matches("0x"), 16),
            (text, 0) => (text, 10),
            (text, radix @ (2 | 8 | 10 | 16)) => (text, radix),
            _ => return INVALID_PARAMETER,
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let number = u32::from_str_radix(digits.get(..end).unwrap_or_default(), radix).unwrap_or_default();
        guest::write(call.arg(2), number);
        0
    }),
    routine("RtlStringFromGUID", PASSIVE, |call| {
        let bytes = guest::read::<u64>(call.arg(0)).to_le_bytes().into_iter();
        let bytes: Vec<u8> = bytes.chain(guest::read::<u64>(call.arg(0) + 8).to_le_bytes()).collect();
        let guid = etw_types::Guid::from_bytes_le(bytes.try_into().unwrap_or_default());
        let text = format!("{{{guid}}}").to_uppercase();
        store(call, call.arg(1), &text.encode_utf16().collect::<Vec<_>>(), true)
    })
    .fails(NO_RESOURCES),
    routine("RtlGUIDFromString", PASSIVE, |call| {
        let text = guest::text(call.arg(0));
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        match etw_types::Guid::parse(inner) {
            Ok(guid) => {
                guest::put(call.arg(1), &guid.to_bytes_le());
                0
            }
            Err(_) => INVALID_PARAMETER,
        }
    }),
    routine("RtlHashUnicodeString", PASSIVE, |call| {
        let units = guest::unicode(call.arg(0)).into_iter();
        let hash = units.fold(0_u32, |hash, unit| {
            let unit = if call.is(1) { upcase(unit) } else { unit };
            hash.wrapping_mul(65_599).wrapping_add(unit.into())
        });
        guest::write(call.arg(3), hash);
        0
    }),
];

/// Upper case as the kernel has it: one unit becomes one unit.
pub(super) fn upcase(unit: u16) -> u16 {
    let Some(c) = char::from_u32(unit.into()) else { return unit };
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => u16::try_from(u32::from(upper)).unwrap_or(unit),
        _ => unit,
    }
}

fn initialize(string: u64, source: u64, width: usize) {
    if source == 0 {
        return guest::set_string(string, 0, 0, 0);
    }
    let length = match width {
        2 => guest::terminated::<u16>(source).len() * 2,
        _ => guest::terminated::<u8>(source).len(),
    };
    let length = length.min(MOST - width) as u16;
    guest::set_string(string, length, length + width as u16, source);
}

/// Copies as much as fits.
fn set_units(string: u64, units: &[u16]) {
    let room = usize::from(guest::read::<u16>(string + 2) / 2);
    let units = units.get(..room.min(units.len())).unwrap_or_default();
    let buffer: u64 = guest::read(string + 8);
    guest::put_units(buffer, units);
    if units.len() < room {
        guest::write(buffer + units.len() as u64 * 2, 0_u16);
    }
    guest::write(string, units.len() as u16 * 2);
}

fn append(string: u64, tail: &[u16]) -> u64 {
    let mut units = guest::unicode(string);
    units.extend_from_slice(tail);
    if units.len() * 2 > usize::from(guest::read::<u16>(string + 2)) {
        return BUFFER_TOO_SMALL;
    }
    set_units(string, &units);
    0
}

fn compare(a: u64, b: u64, ignore_case: bool) -> Ordering {
    let (a, b) = (guest::unicode(a), guest::unicode(b));
    if ignore_case { a.into_iter().map(upcase).cmp(b.into_iter().map(upcase)) } else { a.cmp(&b) }
}

/// Stores text in a string, whose buffer is allocated on demand.
fn store(call: &Call, string: u64, units: &[u16], allocate: bool) -> u64 {
    let size = units.len() * 2;
    if size + 2 > MOST {
        return INVALID_PARAMETER;
    }
    if !allocate {
        if size > usize::from(guest::read::<u16>(string + 2)) {
            return BUFFER_TOO_SMALL;
        }
        set_units(string, units);
        return 0;
    }
    let memory = lock(&kernel().pool).allocate(size as u64 + 2, *b"Strg", true, call.from);
    let Some(buffer) = memory else { return NO_MEMORY };
    guest::set_string(string, 0, size as u16 + 2, buffer);
    set_units(string, units);
    0
}

fn unicode_to_ansi(call: &Call) -> u64 {
    let text = guest::unicode(call.arg(1));
    let bytes: Vec<u8> = text.iter().map(|&unit| u8::try_from(unit).unwrap_or(b'?')).chain([0]).collect();
    let string = call.arg(0);
    if call.is(2) {
        let memory = lock(&kernel().pool).allocate(bytes.len() as u64, *b"Strg", true, call.from);
        let Some(buffer) = memory else { return NO_MEMORY };
        guest::set_string(string, 0, bytes.len() as u16, buffer);
    } else if bytes.len() > usize::from(guest::read::<u16>(string + 2)) {
        return 0x8000_0005;
    }
    guest::put(guest::read(string + 8), &bytes);
    guest::write(string, bytes.len() as u16 - 1);
    0
}

fn free_string(call: &Call) -> u64 {
    let buffer: u64 = guest::read(call.arg(0) + 8);
    if buffer != 0 {
        pool::free(buffer, None);
        guest::set_string(call.arg(0), 0, 0, 0);
    }
    0
}
