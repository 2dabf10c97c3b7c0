//! The engine's time: 100 ns units since it was created, or the clock of its host.

use std::sync::OnceLock;

/// The clock of one engine and of its sessions.
pub(crate) struct Time {
    started: u64,
    clock: OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl Time {
    pub(crate) fn new() -> Self {
        Self { started: monotonic(), clock: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.clock.get().map_or_else(|| monotonic().saturating_sub(self.started), |clock| clock())
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

/// Returns the time of a clock that never goes back, in 100 ns units.
///
/// This runs for every event. `Instant` would take more than twice as many instructions, because its only way to a number
/// is through the difference to another `Instant`.
#[cfg(unix)]
#[inline]
fn monotonic() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // The clock counts from the start of the system, so neither part is negative and the sum does not overflow.
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    part(time.tv_sec).wrapping_mul(10_000_000).wrapping_add(part(time.tv_nsec) / 100)
}

#[cfg(not(unix))]
use portable_monotonic as monotonic;

/// The same for other hosts. It has its own name so that `.cargo/mutants.toml` can exclude it.
#[cfg(not(unix))]
fn portable_monotonic() -> u64 {
    static FIRST: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    u64::try_from(FIRST.elapsed().as_nanos() / 100).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Time;

    #[test]
    fn a_tick_is_a_hundred_nanoseconds() {
        let ticks = |since: Instant| u64::try_from(since.elapsed().as_nanos() / 100).unwrap();
        let before = Instant::now();
        let time = Time::new();
        let after = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        let least = ticks(after);
        let now = time.now();
        let most = ticks(before);
        // Each of the numbers is rounded.
        assert!((least.saturating_sub(1)..=most + 1).contains(&now), "{least} {now} {most}");
    }
}
