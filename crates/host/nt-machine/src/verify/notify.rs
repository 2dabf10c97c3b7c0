//! News from threads that run the driver to the thread that talks to the host: single bytes in a pipe, which a signal handler can
//! write.

use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A request was served.
    Done,
    /// The driver crashed.
    Crashed,
    /// Somebody wants the run to end.
    Interrupted,
    /// Nothing, for as long as was waited.
    Nothing,
}

/// The signal that ends a run: not an interrupt, which a terminal sends to every process of a command, and which is for the
/// parent to decide about.
pub const END_RUN: i32 = libc::SIGUSR1;

/// The pipe that news take.
#[derive(Debug)]
pub(crate) struct Channel {
    listen: io::PipeReader,
    tell: io::PipeWriter,
}

impl Channel {
    pub(super) fn new() -> io::Result<Self> {
        io::pipe().map(|(listen, tell)| Self { listen, tell })
    }

    /// Tells something. Signal handlers may.
    pub(super) fn tell(&self, news: News) {
        let byte = news as u8;
        // SAFETY: one byte that is there, to a descriptor that this owns.
        unsafe { libc::write(self.tell.as_raw_fd(), (&raw const byte).cast(), 1) };
    }

    /// Waits for news.
    pub(super) fn listen(&self, time: Duration) -> News {
        if !is_readable(self.listen.as_raw_fd(), time) {
            return News::Nothing;
        }
        let mut byte = [0];
        let length = (&self.listen).read(&mut byte).unwrap_or_default();
        let all = [News::Done, News::Crashed, News::Interrupted];
        all.into_iter().find(|news| length == 1 && byte == [*news as u8]).unwrap_or(News::Nothing)
    }
}

fn is_readable(file: RawFd, time: Duration) -> bool {
    let mut poll = libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one structure, as announced.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds) == 1 }
}

/// Has [`END_RUN`] end the run and not the process, so that what was traced can still be asked for.
pub(super) fn catch_end_of_run() {
    // SAFETY: the handler only writes a byte to a pipe.
    unsafe { libc::signal(END_RUN, (on_end_run as *const ()).expose_provenance()) };
}

extern "C" fn on_end_run(_: i32) {
    super::tell(News::Interrupted);
}
