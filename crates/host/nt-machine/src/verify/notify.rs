//! News from the threads that run the driver to the thread that communicates with the host. Each item is a single byte
//! in a pipe, which a signal handler can write.

use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A request was completed.
    Done,
    /// The driver crashed.
    Crashed,
    /// [`END_RUN`] was received, so the run must end.
    Interrupted,
    /// Nothing happened within the timeout.
    Nothing,
}

/// The signal that ends a run. It is not SIGINT, because a terminal sends that to every process of a command, and the
/// parent decides what to do about it.
pub const END_RUN: i32 = libc::SIGUSR1;

/// The pipe for news.
#[derive(Debug)]
pub(crate) struct Channel {
    listen: io::PipeReader,
    tell: io::PipeWriter,
}

impl Channel {
    pub(super) fn new() -> io::Result<Self> {
        io::pipe().map(|(listen, tell)| Self { listen, tell })
    }

    /// Sends news. Signal handlers may call this.
    pub(super) fn tell(&self, news: News) {
        let byte = news as u8;
        // SAFETY: writes one initialised byte to a descriptor that `self` owns.
        unsafe { libc::write(self.tell.as_raw_fd(), (&raw const byte).cast(), 1) };
    }

    /// Waits for news, for at most `time`.
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
    // SAFETY: passes one structure, as the count says.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds) == 1 }
}

/// Makes [`END_RUN`] end the run and not the process, so that the trace can still be read.
pub(super) fn catch_end_of_run() {
    // SAFETY: the handler only writes a byte to a pipe.
    unsafe { libc::signal(END_RUN, (on_end_run as *const ()).expose_provenance()) };
}

extern "C" fn on_end_run(_: i32) {
    super::tell(News::Interrupted);
}
