//! A control request and its reply.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use etw_types::NtStatus;
use serde::{Deserialize, Serialize};

use crate::Device;

/// The length of the output buffer of a request that does not name one.
const OUTPUT: u32 = 4096;
/// The longest input. Longer ones do not fit a test's purpose, and a mistyped count must not take all memory.
const MAX_INPUT: usize = 1 << 20;

/// A control request: `CODE[:INPUT[:LENGTH]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Request {
    /// The control code.
    pub code: u32,
    /// The bytes of the input buffer.
    pub input: Vec<u8>,
    /// The length of the output buffer.
    pub output: u32,
}

impl FromStr for Request {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let code = parts.next().unwrap_or_default();
        let digits = code.strip_prefix("0x").unwrap_or(code);
        let code = u32::from_str_radix(digits, 16)
            .map_err(|_| format!("'{code}' is not a hexadecimal control code: expected for example 22E000"))?;
        let input = bytes(parts.next().unwrap_or_default())?;
        let output = parts.next().map_or(Ok(OUTPUT), |length| {
            let expected = "expected the number of bytes of the output buffer, for example 64";
            length.parse().map_err(|_| format!("'{length}' is not a length: {expected}"))
        })?;
        match parts.next() {
            None => Ok(Self { code, input, output }),
            Some(more) => Err(format!("'{more}' is too much: expected CODE:INPUT:LENGTH")),
        }
    }
}

/// The bytes of an input: hexadecimal digits, or a byte and how often it is repeated.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let bad = || format!("'{text}' is not an input: expected two digits per byte, for example 0AFF, or 5A*2048");
    let (digits, count) = match text.split_once('*') {
        Some((digits, count)) => (digits, count.parse::<usize>().map_err(|_| bad())?),
        None => (text, 1),
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(bad());
    }
    let pair = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let once: Vec<u8> = pairs.iter().map(pair).collect::<Option<_>>().ok_or_else(bad)?;
    match once.len().checked_mul(count) {
        Some(0..=MAX_INPUT) => Ok(once.repeat(count)),
        _ => Err(format!("'{text}' is too long: an input has at most {MAX_INPUT} bytes")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}:", self.code)?;
        match self.input.as_slice() {
            [first, rest @ ..] if rest.len() > 32 && rest.iter().all(|byte| byte == first) => {
                write!(f, "{first:02x}*{}", self.input.len())?;
            }
            input => f.write_str(&hex(input))?,
        }
        write!(f, ":{}", self.output)
    }
}

impl TryFrom<String> for Request {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Request> for String {
    fn from(request: Request) -> Self {
        request.to_string()
    }
}

/// The requests for one device: the content of the file that `driver-client --file` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// The device.
    pub device: Device,
    /// The requests in their order.
    pub requests: Vec<Request>,
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The request.
    pub request: Request,
    /// The driver's status, as `0x00000000 STATUS_SUCCESS`.
    pub status: String,
    /// The number of bytes that the driver returned.
    pub information: u64,
    /// The returned bytes in hexadecimal.
    pub output: String,
}

impl Reply {
    /// Creates a reply. `output` is the whole buffer; the driver wrote `information` bytes of it.
    #[must_use]
    pub fn new(request: Request, status: NtStatus, information: u64, output: &[u8]) -> Self {
        let written = usize::try_from(information).unwrap_or(usize::MAX).min(output.len());
        let output = hex(output.get(..written).unwrap_or(output));
        Self { request, status: status.to_string(), information, output }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reply, Request};
    use etw_types::NtStatus;

    #[test]
    fn a_request_is_a_code_an_input_and_a_length() {
        for (text, code, input, output, shown) in [
            ("22E000", 0x22_E000, &b""[..], 4096, "0022E000::4096"),
            ("0x22E000:68656C", 0x22_E000, b"hel", 4096, "0022E000:68656c:4096"),
            ("226004::23", 0x22_6004, b"", 23, "00226004::23"),
            ("22E000:5a*40:8", 0x22_E000, &[0x5A; 40], 8, "0022E000:5a*40:8"),
        ] {
            let request: Request = text.parse().unwrap();
            assert_eq!(request, Request { code, input: input.to_vec(), output });
            assert_eq!(request.to_string(), shown);
            assert_eq!(shown.parse(), Ok(request));
        }
    }

    #[test]
    fn a_mistake_is_named_with_an_example() {
        for (text, message) in [
            ("", "'' is not a hexadecimal control code"),
            ("xyz", "expected for example 22E000"),
            ("1:abc", "'abc' is not an input"),
            ("1:zz", "for example 0AFF"),
            ("1:+1", "'+1' is not an input"),
            ("1:5A*x", "5A*2048"),
            ("1:5A*99999999", "at most 1048576 bytes"),
            ("1::x", "'x' is not a length"),
            ("1::2:3", "'3' is too much"),
        ] {
            let error = text.parse::<Request>().unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_reply_has_the_bytes_that_the_driver_wrote() {
        let request: Request = "22E000:0102:4".parse().unwrap();
        let reply = Reply::new(request.clone(), NtStatus::Success, 2, &[1, 2, 0, 0]);
        let text = serde_json::to_string(&reply).unwrap();
        assert_eq!(
            text,
            r#"{"request":"0022E000:0102:4","status":"0x00000000 STATUS_SUCCESS","information":2,"output":"0102"}"#
        );
        assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply);
        // A driver that claims more than the buffer holds.
        assert_eq!(Reply::new(request, NtStatus::Success, 9, &[1]).output, "01");
    }
}
