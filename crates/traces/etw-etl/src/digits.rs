//! Formats numbers and ids without `std::fmt`, for speed: an export or a message has a dozen of them in every event.

use etw_types::Guid;

use crate::time::FileTime;

/// Appends a number in decimal digits.
pub(crate) fn decimal(out: &mut String, mut number: u64) {
    if number < 10 {
        return out.push(char::from(digit(number)));
    }
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for place in digits.iter_mut().rev() {
        *place = digit(number % 10);
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    append(out, digits.get(digits.len() - used..).unwrap_or_default());
}

/// Appends a number with `width` decimal digits, padded with zeros.
fn padded(out: &mut String, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    for place in digits.iter_mut().rev().take(width) {
        *place = digit(number % 10);
        number /= 10;
    }
    append(out, digits.get(digits.len().saturating_sub(width)..).unwrap_or_default());
}

/// Appends a number in hexadecimal with a `0x` prefix.
pub(crate) fn hexadecimal(out: &mut String, number: u64) {
    let mut text = [b'0'; 16];
    let mut left = number;
    let start = 15 - (number | 1).ilog2() / 4;
    // Always all digits: a loop of constant length is faster.
    for place in text.iter_mut().rev() {
        let [low, ..] = left.to_le_bytes();
        *place = hex_digit(low);
        left >>= 4;
    }
    out.push_str("0x");
    append(out, text.get(usize::try_from(start).unwrap_or_default()..).unwrap_or_default());
}

/// Formats bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(bytes.iter().flat_map(|byte| hex_digits(*byte)));
    text
}

/// Appends a GUID in the format of its [`Guid`] `Display` implementation.
pub(crate) fn guid(out: &mut String, guid: &Guid) {
    for (index, byte) in guid.to_bytes_be().into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.extend(hex_digits(byte));
    }
}

/// Appends a time in the format of its [`FileTime`] `Display` implementation.
pub(crate) fn time(out: &mut String, time: FileTime) {
    let Some(parts) = time.parts() else {
        out.push_str(&time.to_string());
        return;
    };
    let [year, month, day, hour, minute, second, fraction] = parts;
    for (number, width, behind) in [
        (year, 4, '-'),
        (month, 2, '-'),
        (day, 2, 'T'),
        (hour, 2, ':'),
        (minute, 2, ':'),
        (second, 2, '.'),
        (fraction, 7, 'Z'),
    ] {
        padded(out, number, width);
        out.push(behind);
    }
}

fn digit(number: u64) -> u8 {
    b'0' + u8::try_from(number).unwrap_or_default()
}

/// Returns the digits of a byte.
fn hex_digits(byte: u8) -> [char; 2] {
    [byte >> 4, byte].map(|nibble| char::from(hex_digit(nibble)))
}

/// Returns the digit of the lower four bits.
fn hex_digit(nibble: u8) -> u8 {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    DIGITS.get(usize::from(nibble & 0xF)).copied().unwrap_or_default()
}

fn append(out: &mut String, digits: &[u8]) {
    // Digits are ASCII.
    out.push_str(str::from_utf8(digits).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use etw_types::Guid;

    use super::{decimal, guid, hex, hexadecimal, time};
    use crate::time::FileTime;

    fn shown(show: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        show(&mut out);
        out
    }

    #[test]
    fn everything_is_as_formatting_shows_it() {
        for number in [0, 1, 9, 10, 15, 16, 255, 256, 10_000_000, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            assert_eq!(shown(|out| decimal(out, number)), number.to_string());
            assert_eq!(shown(|out| hexadecimal(out, number)), format!("{number:#x}"));
            let id = Guid::from_u128(u128::from(number) << 57 | 0xABC);
            assert_eq!(shown(|out| guid(out, &id)), id.to_string());
        }
        for ticks in [0, -1, 134_105_812_840_355_567, 2_650_467_743_999_999_999, 2_650_467_744_000_000_000, i64::MAX] {
            assert_eq!(shown(|out| time(out, FileTime(ticks))), FileTime(ticks).to_string());
        }
        assert_eq!(hex(&[0, 0xAB]), "00ab");
    }
}
