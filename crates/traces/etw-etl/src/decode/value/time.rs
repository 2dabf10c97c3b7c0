//! Dates.

use super::scalar::Scalar;
use crate::time::{FileTime, weekday};

/// Formats 100 ns units since 1601, which are in UTC by definition. A time that RFC 3339 cannot express stays a number, and
/// so does 0, which says that there is no time: the file of a session that was not stopped has no end.
pub(super) fn filetime(time: i64) -> Scalar {
    FileTime(time).to_rfc3339().filter(|_| time != 0).map_or_else(|| Scalar::Integer(time.into()), Scalar::Word)
}

/// Formats year, month, day of week, day, hour, minute, second and millisecond as RFC 3339 if no information is lost, that is if
/// the date exists and has this day of week. The time is assumed to be in UTC: the payload does not say, and providers write it
/// that way.
pub(super) fn systemtime(parts: [u16; 8]) -> Scalar {
    let [year, month, day_of_week, day, hour, minute, second, millisecond] = parts;
    let in_day = hour < 24 && minute < 60 && second < 60 && millisecond < 1000;
    if year <= 9999 && in_day && weekday(year, month, day) == Some(day_of_week) {
        Scalar::Word(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"))
    } else {
        Scalar::Numbers(parts.to_vec())
    }
}
