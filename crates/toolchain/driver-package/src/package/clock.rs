//! The current time, and the time that reproducible builds use instead.

use std::error::Error;
use std::fmt;
use std::time::{Duration, SystemTime};

/// Why there is no time to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockError {
    /// The clock is before 1970.
    Clock,
    /// This value of `SOURCE_DATE_EPOCH` is no number of seconds, or is outside the years that certificates can express.
    Epoch(String),
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock => f.write_str("the clock is before 1970"),
            Self::Epoch(value) => {
                write!(f, "invalid value '{value}' for SOURCE_DATE_EPOCH: expected a number of seconds since 1970")
            }
        }
    }
}

impl Error for ClockError {}

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
    pub fn new(now: SystemTime, epoch: Option<&str>) -> Result<Self, ClockError> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| ClockError::Clock)?;
        let now = Duration::from_secs(now.as_secs());
        let Some(epoch) = epoch else {
            return Ok(Self { now, stamp: now });
        };
        let wrong = || ClockError::Epoch(epoch.to_owned());
        let stamp = Duration::from_secs(epoch.trim().parse().map_err(|_| wrong())?);
        der::DateTime::from_unix_duration(stamp).map_err(|_| wrong())?;
        Ok(Self { now, stamp })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Clock, ClockError};

    #[test]
    fn source_date_epoch_sets_the_stamp_but_not_the_current_time() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(5_500);
        let clock = Clock::new(now, Some("1700000000")).unwrap();
        assert_eq!(clock.now.as_millis(), 5_000);
        assert_eq!(clock.stamp.as_secs(), 1_700_000_000);
        assert_eq!(Clock::new(now, None).unwrap().stamp.as_secs(), 5);
        for wrong in ["", "yesterday", "-1", "99999999999999"] {
            assert!(
                Clock::new(now, Some(wrong)).is_err_and(|error| error == ClockError::Epoch(wrong.into())),
                "{wrong}"
            );
        }
    }
}
