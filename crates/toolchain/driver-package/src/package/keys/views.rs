//! What a file encodes: the bytes themselves, text without the zeros of UTF-16, decoded base64 and hexadecimal digits,
//! and unpacked streams. Each view is searched for the others in turn, to a limit.

use super::streams::{SHORTEST, unpacked};

/// How often a view is searched for further ones.
const DEPTH: usize = 3;

/// Looks for something in a view, and returns what it found.
type Check<'a> = dyn FnMut(&[u8]) -> Option<&'static str> + 'a;

/// Passes the bytes and what they encode to `check` until it finds something. Also finds data that could not be unpacked.
pub(super) fn find(bytes: &[u8], check: &mut Check<'_>) -> Option<&'static str> {
    search(bytes, DEPTH, check)
}

fn search(bytes: &[u8], depth: usize, check: &mut Check<'_>) -> Option<&'static str> {
    if let Some(found) = check(bytes) {
        return Some(found);
    }
    if depth == 0 {
        return None;
    }
    let mut inside = Vec::new();
    if memchr::memchr(0, bytes).is_some() {
        // UTF-16 and UTF-32 of ASCII, in both byte orders.
        inside.push(bytes.iter().copied().filter(|byte| *byte != 0).collect());
    }
    inside.extend(runs(bytes, base64_digit).iter().flat_map(|digits| decoded(digits, 6)));
    inside.extend(runs(bytes, hex_digit).iter().flat_map(|digits| decoded(digits, 4)));
    match unpacked(bytes) {
        Ok(views) => inside.extend(views),
        Err(unknown) => return Some(unknown),
    }
    inside.iter().find_map(|view| search(view, depth - 1, check))
}

fn base64_digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Returns the values of digits that only separators interrupt: white space, and the marks between numbers of two digits.
fn runs(bytes: &[u8], digit: fn(u8) -> Option<u8>) -> Vec<Vec<u8>> {
    let mut runs = Vec::new();
    let mut run = Vec::new();
    for byte in bytes {
        match (digit(*byte), byte) {
            (Some(value), _) => run.push(value),
            (None, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') => {}
            // The prefix of a number in C.
            (None, b'x' | b'X') if run.last() == Some(&0) => drop(run.pop()),
            (None, _) => {
                if run.len() >= SHORTEST {
                    runs.push(std::mem::take(&mut run));
                }
                run.clear();
            }
        }
    }
    runs.extend((run.len() >= SHORTEST).then_some(run));
    runs
}

/// Decodes digits of `bits` each. Text before the encoded bytes may have the same digits, so each alignment is tried.
fn decoded(digits: &[u8], bits: u32) -> Vec<Vec<u8>> {
    let alignments = if bits == 6 { 4 } else { 2 };
    let decode = |from: usize| {
        let mut value = 0_u32;
        let mut count = 0;
        let mut bytes = Vec::new();
        for digit in digits.iter().skip(from) {
            value = value << bits & 0xffff | u32::from(*digit);
            count += bits;
            if count >= 8 {
                count -= 8;
                bytes.extend(u8::try_from(value >> count & 0xff));
            }
        }
        bytes
    };
    (0..alignments).map(decode).collect()
}
