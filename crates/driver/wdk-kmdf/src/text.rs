//! Names for the framework.

use wdk_etw::NtStatus;
use wdk_sys::UNICODE_STRING;

/// Returns a counted string that refers to `text`.
pub(crate) fn unicode(text: &[u16]) -> Result<UNICODE_STRING, NtStatus> {
    let length = u16::try_from(size_of_val(text)).map_err(|_| NtStatus::InvalidParameter)?;
    Ok(UNICODE_STRING { Length: length, MaximumLength: length, Buffer: text.as_ptr().cast_mut() })
}

/// Converts ASCII to UTF-16 in constants: `const INTERVAL: [u16; 8] = wide(b"Interval");`.
///
/// # IRQL
///
/// Any.
#[must_use]
pub const fn wide<const N: usize>(text: &[u8; N]) -> [u16; N] {
    let mut units = [0; N];
    let mut rest = text.as_slice();
    let mut left = N;
    let mut free = units.as_mut_slice();
    while left > 0 {
        if let ([unit, behind @ ..], [byte, tail @ ..]) = (free, rest) {
            *unit = *byte as u16;
            free = behind;
            rest = tail;
        } else {
            break;
        }
        left -= 1;
    }
    units
}
