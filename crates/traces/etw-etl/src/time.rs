//! Clocks and dates: converts the time stamps of a session to RFC 3339.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use etw_types::tracelogging::{filetime_from_duration_after_1970, filetime_from_duration_before_1970};

use crate::format::logfile::LogfileHeader;

/// Number of 100 ns units in a second.
const PER_SECOND: i64 = 10_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Days from 0000-03-01 to 1601-01-01 in the proleptic Gregorian calendar.
const DAYS_TO_1601: i64 = 584_694;
/// Number of days in 400 years.
const DAYS_PER_ERA: i64 = 146_097;

/// A point in time: 100 ns units since 1601-01-01, UTC.
///
/// ```
/// use etw_etl::FileTime;
///
/// let time = FileTime::parse("2024-02-29T12:00:00.5Z").ok_or("not a time")?;
/// assert_eq!(time.to_rfc3339().as_deref(), Some("2024-02-29T12:00:00.5000000Z"));
/// assert!(time < FileTime::now());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub i64);

impl FileTime {
    /// Returns the current time.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Formats the time as RFC 3339 with seven fractional digits. Returns `None` before 1601 and after the year 9999, which RFC
    /// 3339 does not cover.
    #[must_use]
    pub fn to_rfc3339(self) -> Option<String> {
        let [year, month, day, hour, minute, second, fraction] = self.parts()?;
        Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z"))
    }

    /// Parses an RFC 3339 time in UTC with up to seven fractional digits. Returns `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
        let numbers = |text: &str, between: char| {
            let parts = text.split(between).map(|part| part.parse().ok());
            <[u16; 3]>::try_from(parts.collect::<Option<Vec<u16>>>()?).ok()
        };
        let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
        let days = days_since_1601(year, month, day)?;
        let fraction = if fraction.len() > 7 { return None } else { format!("{fraction:0<7}").parse::<u32>().ok()? };
        (hour < 24 && minute < 60 && second < 60).then_some(())?;
        let seconds = days * SECONDS_PER_DAY + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Some(Self(seconds * PER_SECOND + i64::from(fraction)))
    }

    /// Returns year, month, day, hour, minute, second and 100 ns units, or `None` if RFC 3339 cannot express the time.
    pub(crate) fn parts(self) -> Option<[u64; 7]> {
        let seconds = self.0.div_euclid(PER_SECOND);
        let fraction = self.0.rem_euclid(PER_SECOND);
        let (year, month, day) = date(seconds.div_euclid(SECONDS_PER_DAY));
        let second = seconds.rem_euclid(SECONDS_PER_DAY);
        let parts = [year, month, day, second / 3600, second / 60 % 60, second % 60, fraction];
        (self.0 >= 0 && year <= 9999).then(|| parts.map(i64::unsigned_abs))
    }
}

impl From<SystemTime> for FileTime {
    fn from(time: SystemTime) -> Self {
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => filetime_from_duration_after_1970(after),
            Err(before) => filetime_from_duration_before_1970(before.duration()),
        })
    }
}

/// RFC 3339, or `filetime:` and the bare number if RFC 3339 cannot express the time.
impl fmt::Display for FileTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_rfc3339() {
            Some(text) => f.write_str(&text),
            None => write!(f, "filetime:{}", self.0),
        }
    }
}

/// Returns year, month and day for a number of days since 1601. Internally a year starts in March, so that the leap day is its
/// last day.
fn date(days_since_1601: i64) -> (i64, i64, i64) {
    let days = days_since_1601 + DAYS_TO_1601;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Returns the day of the week of a date (0 is Sunday), or `None` if the date does not exist or is not in the years 1601 to
/// 30827.
pub(crate) fn weekday(year: u16, month: u16, day: u16) -> Option<u16> {
    // 1601-01-01 was a Monday.
    days_since_1601(year, month, day).map(|days| u16::try_from((days + 1).rem_euclid(7)).unwrap_or_default())
}

/// Returns the days from 1601-01-01 to a date, or `None` if the date does not exist or is not in the years 1601 to 30827.
fn days_since_1601(year: u16, month: u16, day: u16) -> Option<i64> {
    if !(1601..=30827).contains(&year) {
        return None;
    }
    let (from_march, shifted) = if month > 2 { (i64::from(year), month - 3) } else { (i64::from(year) - 1, month + 9) };
    let days = 365 * from_march + from_march / 4 - from_march / 100
        + from_march / 400
        + (153 * i64::from(shifted) + 2) / 5
        + i64::from(day)
        - 1
        - DAYS_TO_1601;
    // A month that the year does not have, or a day that the month does not have, converts back to another date.
    let exists = date(days) == (i64::from(year), i64::from(month), i64::from(day));
    exists.then_some(days)
}

/// What the time stamps of a session count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockKind {
    /// Ticks of the performance counter.
    #[default]
    PerformanceCounter,
    /// 100 ns units since 1601.
    SystemTime,
    /// Processor cycles.
    Cycles,
}

impl ClockKind {
    /// Returns the value of the clock type in a logfile header.
    #[must_use]
    pub const fn as_int(self) -> u32 {
        match self {
            Self::PerformanceCounter => 1,
            Self::SystemTime => 2,
            Self::Cycles => 3,
        }
    }
}

/// How to convert time stamps to points in time: a reference time, the time stamp at that time, and the frequency.
///
/// ```
/// use etw_etl::{Clock, ClockKind, FileTime};
///
/// let kind = ClockKind::PerformanceCounter;
/// assert_eq!(kind.as_int(), 1);
/// let clock = Clock { kind, frequency: 1_000_000, start: FileTime(5_000), start_stamp: 70 };
/// // Three microseconds later, in units of 100 ns.
/// assert_eq!(clock.time(73), FileTime(5_030));
/// assert_eq!([5_030, 5_031].map(|time| clock.stamp(FileTime(time))), [73, 74]);
/// // Another session of the machine: its time stamps are of the same counter.
/// assert!(clock.counts_as(&Clock { start: FileTime(9_000), start_stamp: 470, ..clock }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What time stamps count.
    pub kind: ClockKind,
    /// Time stamp units per second.
    pub frequency: u64,
    /// When the session started.
    pub start: FileTime,
    /// The time stamp when the session started.
    pub start_stamp: u64,
}

impl Default for Clock {
    /// Ticks of 100 ns that start at zero, now.
    fn default() -> Self {
        Self { kind: ClockKind::PerformanceCounter, frequency: 10_000_000, start: FileTime::now(), start_stamp: 0 }
    }
}

impl Clock {
    /// Returns the clock that a logfile header describes; `start_stamp` is the time stamp of the header's record.
    #[must_use]
    pub fn from_header(header: &LogfileHeader, start_stamp: u64) -> Self {
        let start = FileTime(header.start_time);
        match header.clock_type {
            2 => Self { kind: ClockKind::SystemTime, frequency: 10_000_000, start, start_stamp },
            3 => {
                let frequency = u64::from(header.cpu_mhz) * 1_000_000;
                Self { kind: ClockKind::Cycles, frequency, start, start_stamp }
            }
            _ => Self { kind: ClockKind::PerformanceCounter, frequency: header.perf_freq, start, start_stamp },
        }
    }

    /// Converts a time stamp to a point in time. A system time stamp is a point in time already. Returns the start if the
    /// frequency is zero.
    #[must_use]
    #[inline]
    pub fn time(&self, stamp: u64) -> FileTime {
        if self.kind == ClockKind::SystemTime {
            return FileTime(i64::try_from(stamp).unwrap_or(i64::MAX));
        }
        if self.frequency == PER_SECOND.unsigned_abs()
            && let (Ok(stamp), Ok(start)) = (i64::try_from(stamp), i64::try_from(self.start_stamp))
        {
            // The common case, which does not need 128-bit division.
            return FileTime(self.start.0.saturating_add(stamp - start));
        }
        self.time_in_words(stamp).unwrap_or_else(|| self.time_in_long_words(stamp))
    }

    /// Converts a point in time to a time stamp: the first one at or after it. Returns the start if the frequency is zero.
    #[must_use]
    pub fn stamp(&self, time: FileTime) -> u64 {
        if self.kind == ClockKind::SystemTime {
            return u64::try_from(time.0).unwrap_or_default();
        }
        let passed = i128::from(time.0) - i128::from(self.start.0);
        let ticks = -(-passed * i128::from(self.frequency)).div_euclid(i128::from(PER_SECOND));
        let stamp = i128::from(self.start_stamp) + ticks;
        u64::try_from(stamp).unwrap_or(if stamp < 0 { 0 } else { u64::MAX })
    }

    /// Returns whether the time stamps of two sessions that ran since the same start of one machine count the same.
    #[must_use]
    pub fn counts_as(&self, other: &Self) -> bool {
        self.kind == other.kind && self.frequency == other.frequency
    }

    fn time_in_long_words(&self, stamp: u64) -> FileTime {
        let ticks = (i128::from(stamp) - i128::from(self.start_stamp)) * i128::from(PER_SECOND);
        let passed = ticks.checked_div_euclid(i128::from(self.frequency)).unwrap_or_default();
        let time = i128::from(self.start.0) + passed;
        FileTime(i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Computes the time without 128-bit numbers, unless that overflows.
    fn time_in_words(&self, stamp: u64) -> Option<FileTime> {
        let frequency =
            i64::try_from(self.frequency).ok().filter(|frequency| (1..=i64::MAX / PER_SECOND).contains(frequency))?;
        let passed = i64::try_from(stamp).ok()?.checked_sub(i64::try_from(self.start_stamp).ok()?)?;
        // The remainder is smaller than the frequency, so its product does not overflow.
        let seconds = passed.div_euclid(frequency);
        let rest = passed.rem_euclid(frequency);
        let ticks = seconds.checked_mul(PER_SECOND)?.checked_add(rest * PER_SECOND / frequency)?;
        self.start.0.checked_add(ticks).map(FileTime)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{Clock, ClockKind, FileTime, date, days_since_1601, weekday};
    use crate::format::logfile::LogfileHeader;

    #[test]
    fn moments_are_read_back_as_they_are_shown() {
        for ticks in [0, 1, 133_594_528_890_000_007, 2_650_467_743_999_999_999] {
            let text = FileTime(ticks).to_rfc3339().unwrap();
            assert_eq!(FileTime::parse(&text), Some(FileTime(ticks)), "{text}");
        }
        for (text, ticks) in [
            ("1601-01-01T00:00:01Z", 10_000_000),
            ("1601-01-01T23:59:59.1234567Z", 863_991_234_567),
            ("1601-01-02T01:02:03.5Z", 901_235_000_000),
        ] {
            assert_eq!(FileTime::parse(text), Some(FileTime(ticks)), "{text}");
        }
        for bad in [
            "",
            "2024-02-30T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.12345678Z",
        ] {
            assert_eq!(FileTime::parse(bad), None, "{bad}");
        }
    }

    /// Counts the days of the calendar from 1601 on, and compares each date.
    #[test]
    fn every_day_of_eight_hundred_years_follows_the_day_before() {
        let mut days = 0;
        for year in 1601..2401_u16 {
            let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
            let february = if is_leap { 29 } else { 28 };
            for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                for day in 1..=length {
                    assert_eq!(date(days), (year.into(), month.into(), day.into()), "day {days}");
                    assert_eq!(days_since_1601(year, month, day), Some(days), "{year}-{month}-{day}");
                    days += 1;
                }
                assert_eq!(days_since_1601(year, month, length + 1), None, "{year}-{month}");
            }
        }
    }

    #[test]
    fn moments_are_rfc_3339_as_far_as_that_reaches() {
        for (ticks, text) in [
            (0, "1601-01-01T00:00:00.0000000Z"),
            (116_444_736_000_000_000, "1970-01-01T00:00:00.0000000Z"),
            (134_105_812_840_355_567, "2025-12-19T01:28:04.0355567Z"),
            (125_963_423_999_999_999, "2000-02-29T23:59:59.9999999Z"),
            (2_650_467_743_999_999_999, "9999-12-31T23:59:59.9999999Z"),
            (2_650_467_744_000_000_000, "filetime:2650467744000000000"),
            (-1, "filetime:-1"),
            (i64::MAX, "filetime:9223372036854775807"),
            (i64::MIN, "filetime:-9223372036854775808"),
        ] {
            assert_eq!(FileTime(ticks).to_string(), text);
        }
    }

    #[test]
    fn dates_that_do_not_exist_have_no_weekday() {
        assert_eq!(weekday(2024, 2, 29), Some(4));
        assert_eq!(weekday(1601, 1, 1), Some(1));
        assert_eq!(weekday(2023, 2, 29), None);
        assert_eq!(weekday(2023, 4, 31), None);
        for (year, month, day) in [
            (0, 0, 0),
            (1600, 12, 31),
            (30828, 1, 1),
            (2024, 0, 1),
            (2024, 13, 1),
            (2024, 1, 0),
            (2024, u16::MAX, u16::MAX),
        ] {
            assert_eq!(weekday(year, month, day), None, "{year}-{month}-{day}");
        }
        assert_eq!(weekday(30827, 12, 31), Some(5));
        assert_eq!(weekday(2024, 12, 31), Some(2));
    }

    #[test]
    fn stamps_become_moments_by_their_clock() {
        let clock = Clock { frequency: 2_500_000, start: FileTime(1000), start_stamp: 50, ..Clock::default() };
        assert_eq!(clock.time(50), FileTime(1000));
        assert_eq!(clock.time(2_500_050), FileTime(10_001_000));
        assert_eq!(clock.time(0), FileTime(800), "an event may be older than the file");
        assert_eq!(Clock { frequency: 0, ..clock }.time(99), FileTime(1000));
        assert_eq!(Clock { kind: ClockKind::SystemTime, ..clock }.time(77), FileTime(77));
        assert_eq!(Clock { frequency: 1, ..clock }.time(u64::MAX), FileTime(i64::MAX));
        let late = Clock { frequency: 1, start_stamp: u64::MAX, start: FileTime(-1000), ..clock };
        assert_eq!(late.time(u64::MAX), FileTime(-1000));
        assert_eq!(late.time(0), FileTime(i64::MIN));
        // Ticks of 100 ns, whose times are not divided.
        let ticks = Clock { frequency: 10_000_000, ..clock };
        assert_eq!([0, 50, 57].map(|stamp| ticks.time(stamp)), [950, 1000, 1007].map(FileTime));
        assert_eq!(ticks.time(u64::MAX), FileTime(i64::MAX));
        let stamp = 1 << 63;
        assert_eq!(Clock { start_stamp: stamp, ..ticks }.time(stamp + 7), FileTime(1007), "beyond a signed number");
    }

    #[test]
    fn both_ways_to_compute_a_time_agree() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> (state % 64)
        };
        for _ in 0..10_000 {
            let frequency = random();
            let start_stamp = random();
            let stamp = random();
            let clock = Clock { frequency, start: FileTime(1000), start_stamp, ..Clock::default() };
            let Some(time) = clock.time_in_words(stamp) else { continue };
            let ticks = (i128::from(stamp) - i128::from(start_stamp)) * 10_000_000;
            assert_eq!(i128::from(time.0), 1000 + ticks.div_euclid(i128::from(frequency)), "{clock:?} {stamp}");
        }
    }

    #[test]
    fn a_header_gives_the_clock_of_its_type() {
        let header = LogfileHeader { start_time: 9, perf_freq: 3, cpu_mhz: 2, ..LogfileHeader::default() };
        for (clock_type, kind, frequency) in [
            (1, ClockKind::PerformanceCounter, 3),
            (2, ClockKind::SystemTime, 10_000_000),
            (3, ClockKind::Cycles, 2_000_000),
            (0, ClockKind::PerformanceCounter, 3),
        ] {
            let clock = Clock::from_header(&LogfileHeader { clock_type, ..header.clone() }, 5);
            assert_eq!(clock, Clock { kind, frequency, start: FileTime(9), start_stamp: 5 });
        }
    }

    #[test]
    fn times_of_the_system_are_converted() {
        assert!(Some(FileTime::now()) > FileTime::parse("2024-01-01T00:00:00Z"));
        assert_eq!(FileTime::from(UNIX_EPOCH).to_string(), "1970-01-01T00:00:00.0000000Z");
        assert_eq!(FileTime::from(UNIX_EPOCH - Duration::from_secs(1)).to_string(), "1969-12-31T23:59:59.0000000Z");
    }
}
