//! Converts Unix times to `FILETIME`, which counts units of 100 ns since 1601.
//!
//! Values outside the range of Windows dates (1601 to 30827) become the nearest value within it.

use core::time::Duration;

/// The start of 1970, in units of 100 ns since 1601.
const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
const PER_SECOND: i64 = 10_000_000;
const NANOSECONDS: i128 = 100;
/// The last moment of the year 30827.
const MAX: i64 = 0x7FFF_35F4_F06C_7FFF;

/// Converts seconds since 1970.
#[must_use]
pub const fn filetime_from_time32(seconds: i32) -> i64 {
    UNIX_EPOCH + seconds as i64 * PER_SECOND
}

/// Converts seconds since 1970. The result is clamped.
#[must_use]
pub const fn filetime_from_time64(seconds: i64) -> i64 {
    clamp(UNIX_EPOCH as i128 + seconds as i128 * PER_SECOND as i128)
}

/// Converts the time after the start of 1970. The result is clamped.
#[must_use]
pub const fn filetime_from_duration_after_1970(duration: Duration) -> i64 {
    clamp(UNIX_EPOCH as i128 + ticks(duration, 0))
}

/// Converts the time before the start of 1970. The result is clamped. Fractions of 100 ns are rounded towards the past,
/// as they are for times after 1970.
#[must_use]
pub const fn filetime_from_duration_before_1970(duration: Duration) -> i64 {
    clamp(UNIX_EPOCH as i128 - ticks(duration, NANOSECONDS - 1))
}

const fn ticks(duration: Duration, round_up: i128) -> i128 {
    let nanoseconds = duration.subsec_nanos() as i128 + round_up;
    duration.as_secs() as i128 * PER_SECOND as i128 + nanoseconds / NANOSECONDS
}

#[expect(clippy::cast_possible_truncation, reason = "between 0 and MAX, which is an i64")]
const fn clamp(filetime: i128) -> i64 {
    if filetime < 0 {
        0
    } else if filetime > MAX as i128 {
        MAX
    } else {
        filetime as i64
    }
}
