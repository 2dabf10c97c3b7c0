//! Integers: signs, bases, statuses, identifiers.

use std::net::Ipv4Addr;

use etw_types::{HResult, InType, NtStatus, OutType, Win32Error};

use super::scalar::Scalar;
use super::time;
use crate::digits;

/// Formats an integer of an integer encoding. `bits` is the value, sign-extended if the encoding is signed.
pub(super) fn show(in_type: InType, out_type: OutType, bits: u64) -> Scalar {
    let width = in_type.fixed_size().unwrap_or(8);
    let unsigned = bits & mask(width);
    match out_type {
        OutType::Hex | OutType::CodePointer => hexadecimal(unsigned),
        OutType::Boolean => boolean(signed(unsigned, width)),
        OutType::String | OutType::Utf8 | OutType::Xml | OutType::Json => {
            character(unsigned, width).unwrap_or_else(|| decimal(in_type, unsigned, width))
        }
        OutType::Signed => Scalar::Integer(signed(unsigned, width).into()),
        OutType::Unsigned => Scalar::Integer(unsigned.into()),
        OutType::Port if width == 2 => port(unsigned),
        OutType::DateTime | OutType::DateTimeCultureInsensitive | OutType::DateTimeUtc if width == 8 => {
            time::filetime(bits.cast_signed())
        }
        _ => match (out_type, u32::try_from(unsigned)) {
            (OutType::IPv4, Ok(address)) if width == 4 => ipv4(address),
            (OutType::Win32Error, Ok(code)) => Scalar::Word(Win32Error::from_int(code).to_string()),
            (OutType::NtStatus, Ok(code)) => Scalar::Word(NtStatus::from_int(code).to_string()),
            (OutType::HResult, Ok(code)) => Scalar::Word(HResult::from_int(code).to_string()),
            _ => decimal(in_type, unsigned, width),
        },
    }
}

/// Formats an integer of a hexadecimal encoding.
pub(super) fn show_hex(in_type: InType, out_type: OutType, bits: u64) -> Scalar {
    match out_type {
        OutType::Default | OutType::NoPrint => hexadecimal(bits),
        _ => match show(in_type, out_type, bits) {
            // An out type that does not select a base keeps the base of the encoding.
            Scalar::Integer(_) if !is_number(out_type) => hexadecimal(bits),
            shown => shown,
        },
    }
}

/// Formats 0 as false and 1 as true; any other value stays a number.
pub(super) fn boolean(number: i64) -> Scalar {
    match number {
        0 => Scalar::Bool(false),
        1 => Scalar::Bool(true),
        other => Scalar::Integer(other.into()),
    }
}

/// Formats an IPv4 address, whose four bytes are in network order in the payload.
pub(super) fn ipv4(address: u32) -> Scalar {
    Scalar::Word(Ipv4Addr::from(address.to_le_bytes()).to_string())
}

fn decimal(in_type: InType, bits: u64, width: usize) -> Scalar {
    Scalar::Integer(if is_signed(in_type) { signed(bits, width).into() } else { bits.into() })
}

fn hexadecimal(bits: u64) -> Scalar {
    let mut word = String::with_capacity(18);
    digits::hexadecimal(&mut word, bits);
    Scalar::Word(word)
}

fn port(bits: u64) -> Scalar {
    let [low, high, ..] = bits.to_le_bytes();
    Scalar::Integer(u16::from_be_bytes([low, high]).into())
}

/// Converts a code of an 8-bit or 16-bit encoding to a character. An 8-bit code beyond ASCII depends on a code page and stays a
/// number, as does half of a surrogate pair.
fn character(bits: u64, width: usize) -> Option<Scalar> {
    let code = u32::try_from(bits).ok().filter(|code| width == 2 || (width == 1 && *code < 0x80))?;
    char::from_u32(code).map(|character| Scalar::Text(character.into()))
}

const fn is_number(out_type: OutType) -> bool {
    matches!(out_type, OutType::Signed | OutType::Unsigned | OutType::Pid | OutType::Tid | OutType::Port)
}

const fn is_signed(in_type: InType) -> bool {
    matches!(in_type, InType::I8 | InType::I16 | InType::I32 | InType::I64)
}

const fn mask(width: usize) -> u64 {
    match width {
        1 => 0xFF,
        2 => 0xFFFF,
        4 => 0xFFFF_FFFF,
        _ => u64::MAX,
    }
}

/// Sign-extends a value of `width` bytes.
const fn signed(bits: u64, width: usize) -> i64 {
    let unused = match width {
        1 => 56,
        2 => 48,
        4 => 32,
        _ => 0,
    };
    (bits << unused).cast_signed() >> unused
}
