//! The line that says how far a run is.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Writes a line every second on a terminal, over the last one; every ten seconds elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    terminal: bool,
    started: Instant,
    written: Option<Instant>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { terminal: stderr().is_terminal(), started: Instant::now(), written: None }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether a new line is due.
    pub(super) fn is_due(&self) -> bool {
        let pause = Duration::from_secs(if self.terminal { 1 } else { 10 });
        self.written.map_or(self.started, |written| written).elapsed() >= pause
    }

    /// Writes the line.
    pub(super) fn write(&mut self, text: &str) {
        self.written = Some(Instant::now());
        let mut stream = stderr().lock();
        // Nobody is there to read it when this fails.
        let _ = if self.terminal { write!(stream, "\r\x1b[K{text}") } else { writeln!(stream, "{text}") };
        let _ = stream.flush();
    }

    /// Takes the line away, for text that stays.
    pub(super) fn clear(&self) {
        if self.terminal && self.written.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// `1m 05s`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}m {:02}s", seconds / 60, seconds % 60)
}

/// Executions in a second, rounded down.
pub(super) fn rate(executions: u64, time: Duration) -> u64 {
    u128::from(executions)
        .saturating_mul(1000)
        .checked_div(time.as_millis())
        .map_or(0, |rate| rate.try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{clock, rate};
    use std::time::Duration;

    #[test]
    fn times_and_rates_are_short() {
        assert_eq!(clock(Duration::from_secs(65)), "1m 05s");
        assert_eq!(rate(3000, Duration::from_millis(1500)), 2000);
        assert_eq!(rate(3000, Duration::ZERO), 0);
    }
}
