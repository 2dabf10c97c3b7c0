//! What a file encodes: the bytes themselves, text without the zeros of UTF-16, decoded base64 and hexadecimal digits,
//! and unpacked gzip and zip. Each view is searched for the others in turn, to a limit.

use memchr::memmem;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// How often a view is searched for further ones.
const DEPTH: usize = 3;
/// The most bytes that are unpacked from one stream, and the most streams in one view.
const LIMIT: usize = 1 << 24;
const STREAMS: usize = 64;
/// The shortest encoded text that can contain a key.
const SHORTEST: usize = 60;

/// Passes the bytes and what they encode to `check` until it finds something.
pub(super) fn find<T>(bytes: &[u8], check: &mut impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
    search(bytes, DEPTH, check)
}

fn search<T>(bytes: &[u8], depth: usize, check: &mut dyn FnMut(&[u8]) -> Option<T>) -> Option<T> {
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
    inside.extend(unpacked(bytes));
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
    let (mut runs, mut run) = (Vec::new(), Vec::new());
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
        let (mut value, mut count, mut bytes) = (0_u32, 0, Vec::new());
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

/// Unpacks the streams of gzip, and the members of zip.
fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    let gzip = memmem::find_iter(bytes, &[0x1f, 0x8b, 0x08]).filter_map(|place| gzip_data(bytes.get(place..)?));
    let zip = memmem::find_iter(bytes, b"PK\x03\x04").filter_map(|place| zip_data(bytes.get(place..)?));
    let streams = gzip.take(STREAMS).chain(zip.take(STREAMS));
    // A stream that is cut or damaged may have the key before that.
    streams.map(|data| decompress_to_vec_with_limit(data, LIMIT).unwrap_or_else(|error| error.output)).collect()
}

/// Returns the data after a header of gzip (RFC 1952, 2.3).
fn gzip_data(bytes: &[u8]) -> Option<&[u8]> {
    let flags = *bytes.get(3)?;
    let mut rest = bytes.get(10..)?;
    if flags & 4 != 0 {
        let length = usize::from(u16::from_le_bytes(*rest.first_chunk()?));
        rest = rest.get(2 + length..)?;
    }
    for text in [8, 16] {
        if flags & text != 0 {
            rest = rest.get(memchr::memchr(0, rest)? + 1..)?;
        }
    }
    rest.get(usize::from(flags & 2)..)
}

/// Returns the data of a member of a zip file that is packed.
fn zip_data(bytes: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| bytes.get(at..at + 2)?.first_chunk().map(|pair| usize::from(u16::from_le_bytes(*pair)));
    let (method, name, extra) = (number(8)?, number(26)?, number(28)?);
    bytes.get(30 + name + extra..).filter(|_| method == 8)
}
