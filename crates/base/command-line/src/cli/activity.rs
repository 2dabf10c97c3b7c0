//! A spinner on standard error for work of unknown length. It appears after one second, and only on a terminal.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::ProgressBar;

use super::is_quiet;

/// The time before the spinner appears. Shorter work shows none.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two drawings.
const TICK: Duration = Duration::from_millis(100);

/// Shows a spinner until it is dropped. Print nothing to the terminal before that.
#[derive(Debug)]
pub struct Activity {
    spinner: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Activity {
    /// Begins the work that `what` describes, such as `making the package`.
    #[must_use = "the spinner disappears when this is dropped"]
    pub fn begin(what: &'static str) -> Self {
        let is_wanted = io::stderr().is_terminal() && !is_quiet();
        let spinner = is_wanted.then(|| {
            let (sender, receiver) = mpsc::channel();
            (sender, thread::spawn(move || spin(what, &receiver)))
        });
        Self { spinner }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.spinner.take() {
            drop(sender);
            // A panic in the thread has no effect on the work.
            let _ = thread.join();
        }
    }
}

fn spin(what: &'static str, end: &Receiver<()>) {
    if lasts(end, DELAY) {
        let bar = ProgressBar::new_spinner().with_message(what);
        bar.tick();
        while lasts(end, TICK) {
            bar.tick();
        }
        bar.finish_and_clear();
    }
}

/// Waits for the end of the work, at most for `time`. Returns whether the work has not ended by then.
fn lasts(end: &Receiver<()>, time: Duration) -> bool {
    end.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::lasts;

    #[test]
    fn the_spinner_appears_after_the_delay_unless_the_work_has_ended() {
        let (sender, receiver) = mpsc::channel();
        assert!(lasts(&receiver, Duration::ZERO));
        drop(sender);
        assert!(!lasts(&receiver, Duration::from_hours(1)));
    }
}
