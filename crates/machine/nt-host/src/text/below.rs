//! How devices of other drivers complete requests.

use etw_types::NtStatus;
use nt_machine::{Below, RequestKind};

use super::{TextError, bytes, hexadecimal, suggestion, time};

/// The kinds of requests that can be scripted.
const KINDS: [&str; 5] = ["any", "ioctl", "internal-ioctl", "read", "write"];

/// Reads `KIND[:CODE]=STATUS[:HEX][@TIME]`.
///
/// ```
/// use nt_host::text::below;
///
/// let script = below::read("read=0:0102@5ms").expect("a script");
/// assert_eq!(script.output, [1, 2]);
/// assert_eq!(below::written(&script), "read=0:0102@5000us");
/// ```
///
/// # Errors
///
/// Fails if the text is something else.
pub fn read(text: &str) -> Result<Below, TextError> {
    let expected = "expected for example ioctl:222000=0:0102@10ms";
    let bad = || TextError::malformed(text, "does not describe how requests complete", expected);
    let (wanted, response) = text.split_once('=').ok_or_else(bad)?;
    let (kind, code) = wanted.split_once(':').map_or((wanted, None), |(kind, code)| (kind, Some(code)));
    let kind = match kind {
        "any" => None,
        "ioctl" => Some(RequestKind::DEVICE_CONTROL),
        "internal-ioctl" => Some(RequestKind::INTERNAL_DEVICE_CONTROL),
        "read" => Some(RequestKind::READ),
        "write" => Some(RequestKind::WRITE),
        _ => {
            let expected = format!("expected {}{}", KINDS.join(", "), suggestion(kind, &KINDS));
            return Err(TextError::malformed(kind, "is not a kind of request", expected));
        }
    };
    let hexadecimal = |digits: &str| u32::from_str_radix(digits.trim_start_matches("0x"), 16).map_err(|_| bad());
    let (response, delay) = response.split_once('@').map_or((response, "0"), |(response, delay)| (response, delay));
    let (status, output) = response.split_once(':').unwrap_or((response, ""));
    Ok(Below {
        device: None,
        kind,
        code: code.map(hexadecimal).transpose()?,
        status: NtStatus::from_int(hexadecimal(status)?),
        output: bytes(output)?,
        delay: time(delay)?,
    })
}

/// Reads `NAME,` followed by the text that [`read`] takes: the device of another driver.
///
/// ```
/// let script = nt_host::text::below::read_remote(r"\Device\Name,any=C00000BB").expect("a script");
/// assert_eq!(script.device.as_deref(), Some(r"\Device\Name"));
/// ```
///
/// # Errors
///
/// Fails if the text is something else.
pub fn read_remote(text: &str) -> Result<Below, TextError> {
    let expected = r"expected for example \Device\Name,ioctl:222000=0:0102";
    let split = text.split_once(',').filter(|(name, _)| name.starts_with('\\'));
    let (name, script) =
        split.ok_or_else(|| TextError::malformed(text, "does not begin with a device name", expected))?;
    Ok(Below { device: Some(name.to_owned()), ..read(script)? })
}

/// Returns how requests complete, as it is read.
#[must_use]
pub fn written(below: &Below) -> String {
    let kind = match below.kind {
        None => "any",
        Some(RequestKind::INTERNAL_DEVICE_CONTROL) => "internal-ioctl",
        Some(RequestKind::READ) => "read",
        Some(RequestKind::WRITE) => "write",
        Some(_) => "ioctl",
    };
    let code = below.code.map(|code| format!(":{code:X}")).unwrap_or_default();
    let output = if below.output.is_empty() { String::new() } else { format!(":{}", hexadecimal(&below.output)) };
    let delay = if below.delay.is_zero() { String::new() } else { format!("@{}us", below.delay.as_micros()) };
    let device = below.device.as_ref().map(|name| format!("{name},")).unwrap_or_default();
    format!("{device}{kind}{code}={:X}{output}{delay}", below.status.as_int())
}
