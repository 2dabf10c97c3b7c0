//! The current time, and the time that reproducible builds use instead.

use std::time::{Duration, SystemTime};

/// Both times, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The current time, which determines whether certificates are valid.
    pub now: Duration,
    /// The time to write: the current time or `SOURCE_DATE_EPOCH`.
    pub stamp: Duration,
}

impl Clock {
    /// Takes the current time. `epoch` is the value of `SOURCE_DATE_EPOCH` if it is set.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a number of seconds, or is outside the years that certificates can express.
    pub fn new(now: SystemTime, epoch: Option<&str>) -> Result<Self, String> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| String::from("the clock is before 1970"))?;
        let now = Duration::from_secs(now.as_secs());
        let Some(epoch) = epoch else {
            return Ok(Self { now, stamp: now });
        };
        let wrong =
            || format!("invalid value '{epoch}' for SOURCE_DATE_EPOCH: expected a number of seconds since 1970");
        let stamp = Duration::from_secs(epoch.trim().parse().map_err(|_| wrong())?);
        der::DateTime::from_unix_duration(stamp).map_err(|_| wrong())?;
        Ok(Self { now, stamp })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::Clock;

    #[test]
    fn source_date_epoch_sets_the_stamp_but_not_the_current_time() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(5_500);
        let clock = Clock::new(now, Some("1700000000")).unwrap();
        assert_eq!((clock.now.as_millis(), clock.stamp.as_secs()), (5_000, 1_700_000_000));
        assert_eq!(Clock::new(now, None).unwrap().stamp.as_secs(), 5);
        for wrong in ["", "yesterday", "-1", "99999999999999"] {
            assert!(Clock::new(now, Some(wrong)).unwrap_err().contains("SOURCE_DATE_EPOCH"), "{wrong}");
        }
    }
}
