//! Events from the threads that run the driver to the thread that communicates with the host. Each item is a single byte
//! in a pipe, which a signal handler can write.

use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEvent {
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

/// The pipe for events.
#[derive(Debug)]
pub(super) struct Channel {
    reader: io::PipeReader,
    writer: io::PipeWriter,
}

impl Channel {
    pub(super) fn new() -> io::Result<Self> {
        io::pipe().map(|(reader, writer)| Self { reader, writer })
    }

    /// Sends an event. Signal handlers may call this.
    pub(super) fn signal(&self, event: RunEvent) {
        let byte = event as u8;
        // SAFETY: writes one initialised byte to a descriptor that `self` owns.
        unsafe { libc::write(self.writer.as_raw_fd(), (&raw const byte).cast(), 1) };
    }

    /// Waits for an event, for at most `time`.
    pub(super) fn listen(&self, time: Duration) -> RunEvent {
        if !is_readable(self.reader.as_raw_fd(), time) {
            return RunEvent::Nothing;
        }
        let mut byte = [0];
        let length = (&self.reader).read(&mut byte).unwrap_or_default();
        let all = [RunEvent::Done, RunEvent::Crashed, RunEvent::Interrupted];
        all.into_iter().find(|event| length == 1 && byte == [*event as u8]).unwrap_or(RunEvent::Nothing)
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
    super::signal(RunEvent::Interrupted);
}
