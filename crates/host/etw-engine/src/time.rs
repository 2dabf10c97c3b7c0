//! The engine's time: 100 ns units since it was created, or the clock of its host.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The clock of one engine and of its sessions.
pub(crate) struct Time {
    started: Instant,
    clock: OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl Time {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), clock: OnceLock::new() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.get().map_or_else(|| ticks(self.started.elapsed()), |clock| clock())
    }

    /// Whether the host provides the time. Waiting in real time is then useless.
    pub(crate) fn is_hosted(&self) -> bool {
        self.clock.get().is_some()
    }

    /// Sets the host's clock. Returns false if one is already set.
    pub(crate) fn set(&self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> bool {
        self.clock.set(Box::new(clock)).is_ok()
    }
}

/// Converts a duration to 100 ns units. Divides only 32 bits, because this runs for every event.
pub(crate) fn ticks(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(10_000_000).saturating_add(u64::from(duration.subsec_nanos() / 100))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ticks;

    #[test]
    fn a_tick_is_a_hundred_nanoseconds() {
        assert_eq!(ticks(Duration::new(2, 199)), 20_000_001);
        assert_eq!(ticks(Duration::MAX), u64::MAX);
    }
}
