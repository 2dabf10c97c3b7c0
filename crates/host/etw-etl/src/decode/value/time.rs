//! Dates.

use super::Scalar;
use crate::time::{FileTime, weekday};

/// 100 ns since 1601, in UTC by definition. Moments that RFC 3339 does not have keep their number.
pub(super) fn filetime(time: i64) -> Scalar {
    FileTime(time).to_rfc3339().map_or_else(|| Scalar::Integer(time.into()), Scalar::Word)
}

/// Year, month, day of week, day, hour, minute, second, millisecond: RFC 3339 where that says all of it, that is where the
/// date exists and has this day of week. The time is taken for UTC: a payload does not say, and providers write it so.
pub(super) fn systemtime(parts: [u16; 8]) -> Scalar {
    let [year, month, day_of_week, day, hour, minute, second, millisecond] = parts;
    let in_day = hour < 24 && minute < 60 && second < 60 && millisecond < 1000;
    if year <= 9999 && in_day && weekday(year, month, day) == Some(day_of_week) {
        Scalar::Word(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"))
    } else {
        Scalar::Numbers(parts.to_vec())
    }
}
