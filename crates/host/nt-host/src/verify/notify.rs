//! News from threads that run the driver to the thread that answers: single bytes in a pipe, which a signal handler can
//! write.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

static PIPE: AtomicI32 = AtomicI32::new(-1);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The worker has an answer.
    Done,
    /// The driver crashed.
    Crashed,
    /// Somebody wants the run to end.
    Interrupted,
    /// Nothing, for as long as was waited.
    Nothing,
}

/// Makes the pipe; answers the end to listen at.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    let result = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let [listen, write] = ends;
    PIPE.store(write, Ordering::SeqCst);
    // SAFETY: a descriptor that was just made and that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(listen) })
}

/// The driver crashed.
pub(crate) fn crashed() {
    tell(b'C');
}

/// The worker has an answer.
pub(crate) fn done() {
    tell(b'D');
}

/// Somebody wants the run to end: a signal says so.
pub(crate) extern "C" fn interrupted(_: i32) {
    tell(b'I');
}

/// The signal that ends a run: not an interrupt, which a terminal sends to every process of a command, and which is for the
/// parent to decide about.
pub(crate) const END_RUN: i32 = libc::SIGUSR1;

/// Has [`END_RUN`] end the run and not the process, so that what was traced can still be asked for.
pub(crate) fn catch_end_of_run() {
    // SAFETY: the handler only writes a byte to a pipe.
    unsafe { libc::signal(END_RUN, (interrupted as *const ()).expose_provenance()) };
}

fn tell(news: u8) {
    let pipe = PIPE.load(Ordering::SeqCst);
    // SAFETY: one byte that is there; the descriptor is the pipe's or invalid.
    unsafe { libc::write(pipe, (&raw const news).cast(), 1) };
}

/// Whether the other end of a connection is gone.
pub(crate) fn is_closed(stream: &UnixStream) -> bool {
    let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: one structure, as announced.
    let ready = unsafe { libc::poll(&raw mut poll, 1, 0) };
    ready == 1 && poll.revents & (libc::POLLRDHUP | libc::POLLHUP) != 0
}

/// Waits for news.
pub(crate) fn listen(pipe: &OwnedFd, time: Duration) -> News {
    let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one structure, as announced.
    let ready = unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
    if ready != 1 {
        return News::Nothing;
    }
    let mut byte = 0_u8;
    // SAFETY: room for one byte.
    let length = unsafe { libc::read(pipe.as_raw_fd(), (&raw mut byte).cast(), 1) };
    match (length, byte) {
        (1, b'C') => News::Crashed,
        (1, b'I') => News::Interrupted,
        (1, _) => News::Done,
        _ => News::Nothing,
    }
}
