//! Parses durations and sizes. They need a unit: `2s`, `20ms`, `64KiB`. Only `0` has none.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// A value without a valid unit.
#[derive(Clone, Debug, PartialEq)]
pub enum UnitError {
    /// Not a duration, for this reason.
    Duration(humantime::DurationError),
    /// This text is not a size.
    Size(String),
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration(error) => {
                write!(f, "{error}; expected a number with a unit, for example 2s, 20ms or 1m30s")
            }
            Self::Size(text) => write!(
                f,
                "'{text}' is not a size: expected a whole number with a unit, for example 512B, 64KiB, 16MiB or 2GiB"
            ),
        }
    }
}

impl Error for UnitError {}

/// Parses a duration: `2s`, `20ms`, `1m30s`, `2.5s` or `0`.
///
/// # Errors
///
/// If the text is not a duration.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    humantime::parse_duration(text).map_err(UnitError::Duration)
}

const SIZES: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];

/// Parses a size and returns it in bytes: `512B`, `64KiB`, `16MiB`, `2GiB` or `0`.
///
/// # Errors
///
/// If the text is not a size, or the number of bytes does not fit a `u64`.
pub fn size(text: &str) -> Result<u64, UnitError> {
    let bad = || UnitError::Size(text.to_owned());
    if text == "0" {
        return Ok(0);
    }
    let (digits, scale) =
        SIZES.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?.trim_end(), *scale))).ok_or_else(bad)?;
    let count: Option<u64> = if digits.starts_with('+') { None } else { digits.parse().ok() };
    count.and_then(|count| count.checked_mul(scale)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{duration, size};

    #[test]
    fn a_duration_has_a_unit() {
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2.5s"), Ok(Duration::from_millis(2500)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for text in ["", "2", "s", "-1s", "1 parsec", "nan", "99999999999999999999s"] {
            assert!(duration(text).is_err_and(|reason| reason.to_string().ends_with("1m30s")), "{text}");
        }
    }

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("512B"), Ok(512));
        assert_eq!(size("64KiB"), Ok(64 << 10));
        assert_eq!(size("16 MiB"), Ok(16 << 20));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        for text in ["", "64", "64K", "64KB", "KiB", "-1B", "+1B", "1.5MiB", "18446744073709551615KiB"] {
            assert!(size(text).is_err_and(|reason| reason.to_string().ends_with("or 2GiB")), "{text}");
        }
    }
}
