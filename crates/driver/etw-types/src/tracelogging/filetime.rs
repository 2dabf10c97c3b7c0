//! Conversion of Unix times to `FILETIME`: 100 ns since 1601.
//!
//! Values outside the range that Windows can turn into a date (1601 to 30827) become the nearest end of it.

use core::time::Duration;

/// 1970 in 100 ns since 1601.
const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
const PER_SECOND: i64 = 10_000_000;
const NANOSECONDS: i128 = 100;
/// The last moment of the year 30827.
const MAX: i64 = 0x7FFF_35F4_F06C_7FFF;

/// From seconds since 1970.
#[must_use]
pub const fn filetime_from_time32(seconds: i32) -> i64 {
    UNIX_EPOCH + seconds as i64 * PER_SECOND
}

/// From seconds since 1970, clamped.
#[must_use]
pub const fn filetime_from_time64(seconds: i64) -> i64 {
    clamp(UNIX_EPOCH as i128 + seconds as i128 * PER_SECOND as i128)
}

/// From the time that passed since 1970, clamped.
#[must_use]
pub const fn filetime_from_duration_after_1970(duration: Duration) -> i64 {
    clamp(UNIX_EPOCH as i128 + ticks(duration, 0))
}

/// From the time that was left until 1970, clamped. Parts of 100 ns are rounded towards the past, as in the other
/// direction.
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
