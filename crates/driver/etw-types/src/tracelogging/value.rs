//! One value of a payload.

use core::fmt;

use super::InType;
use crate::Guid;
use crate::bytes::{split_nul, split_u16};
use crate::guid::split_guid;

/// A value of a payload, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// An integer shown in hexadecimal.
    Hex(u64),
    /// 32-bit floating point.
    F32(f32),
    /// 64-bit floating point.
    F64(f64),
    /// A 32-bit boolean, as its raw value.
    Bool32(i32),
    /// UTF-16LE text without its NUL or count. The length is even.
    Utf16(&'a [u8]),
    /// Bytes of text without their NUL or count.
    Text(&'a [u8]),
    /// Bytes.
    Binary(&'a [u8]),
    /// A GUID.
    Guid(Guid),
    /// Units of 100 ns since 1601.
    FileTime(i64),
    /// Year, month, day of week, day, hour, minute, second, millisecond.
    SystemTime([u16; 8]),
    /// A security identifier.
    Sid(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Splits a value of the given encoding off the front of a payload. Returns `None` if the payload is too short or
    /// the encoding is unknown.
    // Otherwise every value passes through memory on its way to the caller.
    #[must_use]
    #[inline(always)]
    pub fn split(in_type: InType, payload: &'a [u8]) -> Option<(Self, &'a [u8])> {
        Self::split_number(in_type, payload).or_else(|| Self::split_other(in_type, payload))
    }

    /// Does the same as [`Self::split`] for integers, floating point, booleans and dates. Returns `None` for every other encoding.
    ///
    /// These values stay in registers if the caller handles all others elsewhere.
    #[must_use]
    #[inline(always)]
    pub fn split_number(in_type: InType, payload: &'a [u8]) -> Option<(Self, &'a [u8])> {
        Some(match in_type {
            InType::I8 => fixed(payload, |raw| Self::Signed(i8::from_le_bytes(raw).into()))?,
            InType::I16 => fixed(payload, |raw| Self::Signed(i16::from_le_bytes(raw).into()))?,
            InType::I32 => fixed(payload, |raw| Self::Signed(i32::from_le_bytes(raw).into()))?,
            InType::I64 => fixed(payload, |raw| Self::Signed(i64::from_le_bytes(raw)))?,
            InType::U8 => fixed(payload, |raw| Self::Unsigned(u8::from_le_bytes(raw).into()))?,
            InType::U16 => fixed(payload, |raw| Self::Unsigned(u16::from_le_bytes(raw).into()))?,
            InType::U32 => fixed(payload, |raw| Self::Unsigned(u32::from_le_bytes(raw).into()))?,
            InType::U64 => fixed(payload, |raw| Self::Unsigned(u64::from_le_bytes(raw)))?,
            InType::Hex32 => fixed(payload, |raw| Self::Hex(u32::from_le_bytes(raw).into()))?,
            InType::Hex64 => fixed(payload, |raw| Self::Hex(u64::from_le_bytes(raw)))?,
            InType::F32 => fixed(payload, |raw| Self::F32(f32::from_le_bytes(raw)))?,
            InType::F64 => fixed(payload, |raw| Self::F64(f64::from_le_bytes(raw)))?,
            InType::Bool32 => fixed(payload, |raw| Self::Bool32(i32::from_le_bytes(raw)))?,
            InType::FileTime => fixed(payload, |raw| Self::FileTime(i64::from_le_bytes(raw)))?,
            _ => return None,
        })
    }

    /// Does the same as [`Self::split`] for encodings that are rare or have no fixed size.
    fn split_other(in_type: InType, payload: &'a [u8]) -> Option<(Self, &'a [u8])> {
        match in_type {
            InType::CStr16 => {
                let end = payload.chunks_exact(2).position(|unit| unit == [0, 0])? * 2;
                Some((Self::Utf16(payload.get(..end)?), payload.get(end + 2..)?))
            }
            InType::CStr8 => split_nul(payload).map(|(text, rest)| (Self::Text(text), rest)),
            InType::Str16 => {
                let (text, rest) = split_counted(payload)?;
                text.len().is_multiple_of(2).then_some((Self::Utf16(text), rest))
            }
            InType::Str8 => split_counted(payload).map(|(text, rest)| (Self::Text(text), rest)),
            InType::Binary | InType::BinaryC => split_counted(payload).map(|(bytes, rest)| (Self::Binary(bytes), rest)),
            InType::Guid => split_guid(payload).map(|(guid, rest)| (Self::Guid(guid), rest)),
            InType::Sid => {
                let authorities = usize::from(*payload.get(1)?);
                let (sid, rest) = payload.split_at_checked(8 + 4 * authorities)?;
                Some((Self::Sid(sid), rest))
            }
            InType::SystemTime => {
                let (raw, rest) = payload.split_first_chunk::<16>()?;
                let mut parts = [0; 8];
                for (part, bytes) in parts.iter_mut().zip(raw.chunks_exact(2)) {
                    *part = u16::from_le_bytes(bytes.try_into().ok()?);
                }
                Some((Self::SystemTime(parts), rest))
            }
            _ => None,
        }
    }
}

/// Splits off a value of fixed size.
#[inline]
fn fixed<'a, const N: usize>(
    payload: &'a [u8],
    value: impl FnOnce([u8; N]) -> Value<'a>,
) -> Option<(Value<'a>, &'a [u8])> {
    let (raw, rest) = payload.split_first_chunk()?;
    Some((value(*raw), rest))
}

fn split_counted(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, rest) = split_u16(payload)?;
    rest.split_at_checked(usize::from(size))
}

/// Formats the value by its encoding only. Invalid text shows replacement characters.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(value) | Self::FileTime(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Hex(value) => write!(f, "{value:#x}"),
            Self::F32(value) => write!(f, "{value}"),
            Self::F64(value) => write!(f, "{value}"),
            Self::Bool32(value) => write!(f, "{}", *value != 0),
            Self::Utf16(text) => {
                let units = text.chunks_exact(2).map(|unit| match unit {
                    [low, high] => u16::from_le_bytes([*low, *high]),
                    _ => 0,
                });
                char::decode_utf16(units)
                    .try_for_each(|unit| write!(f, "{}", unit.unwrap_or(char::REPLACEMENT_CHARACTER)))
            }
            Self::Text(text) => text.utf8_chunks().try_for_each(|chunk| {
                f.write_str(chunk.valid())?;
                if chunk.invalid().is_empty() { Ok(()) } else { write!(f, "{}", char::REPLACEMENT_CHARACTER) }
            }),
            Self::Binary(bytes) | Self::Sid(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Guid(guid) => write!(f, "{guid}"),
            Self::SystemTime([year, month, _, day, hour, minute, second, millisecond]) => {
                write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}")
            }
        }
    }
}
