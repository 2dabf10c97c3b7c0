//! A progress bar on standard error: not within the first second, and not if it would mix with other output on the terminal.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time before the bar appears. Shorter work shows no bar.
const DELAY: Duration = Duration::from_secs(1);
/// A trace is read twice.
const PASSES: u64 = 2;

/// A bar that counts bytes.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    is_wanted: bool,
}

impl Progress {
    /// A bar on standard error, if that is a terminal and the command writes nothing else to the terminal meanwhile.
    pub(crate) fn new(writes_to_terminal: bool) -> Self {
        Self::with(io::stderr().is_terminal() && !writes_to_terminal && !command_line::is_quiet())
    }

    fn with(is_wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {percent}%, {bytes} of {total_bytes} read, {eta} left")
        {
            bar.set_style(style);
        }
        Self { bar, start: Instant::now(), is_wanted }
    }

    /// Adds a file of this size to the expected work.
    pub(crate) fn expect(&self, bytes: u64) {
        self.bar.inc_length(bytes.saturating_mul(PASSES));
    }

    /// Counts the bytes that are read from a stream of unknown length, in addition to the expected work.
    pub(crate) fn watch<R: Read>(&self, file: R) -> Copied<'_, R> {
        Copied { file, progress: self }
    }

    fn add(&self, bytes: usize) {
        self.bar.inc(u64::try_from(bytes).unwrap_or_default());
        if self.is_wanted && self.bar.is_hidden() && self.start.elapsed() >= DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A stream whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Copied<'a, R> {
    file: R,
    progress: &'a Progress,
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(bytes)?;
        self.progress.bar.inc_length(u64::try_from(count).unwrap_or_default());
        self.progress.add(count);
        Ok(count)
    }
}

/// A file whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Watched {
    file: File,
    progress: Progress,
}

impl Watched {
    pub(crate) fn new(file: File, progress: Progress) -> Self {
        Self { file, progress }
    }
}

impl Read for Watched {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(bytes)?;
        self.progress.add(count);
        Ok(count)
    }
}

impl Seek for Watched {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.file.seek(place)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use super::{DELAY, Progress};

    #[test]
    fn nothing_is_drawn_within_the_first_second_or_where_it_is_not_wanted() {
        let mut progress = Progress::with(true);
        progress.expect(100);
        progress.add(50);
        assert!(progress.bar.is_hidden());
        assert_eq!(progress.bar.position(), 50, "a trace is read twice");
        assert_eq!(progress.bar.length(), Some(200), "a trace is read twice");
        progress.start = progress.start.checked_sub(DELAY + Duration::from_millis(1)).expect("an earlier moment");
        let unwanted = Progress { is_wanted: false, ..progress.clone() };
        unwanted.add(1);
        assert!(progress.bar.is_hidden(), "the bar is shared");
        let mut bytes = Vec::new();
        progress.watch(&b"abc"[..]).read_to_end(&mut bytes).expect("bytes in memory");
        assert_eq!(progress.bar.position(), 54);
        assert_eq!(progress.bar.length(), Some(203));
    }
}
