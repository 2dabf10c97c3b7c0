//! The child process, as seen by its parent.

use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use nt_machine::{Config, DEBUG_OUTPUT, Findings, Guests, MAX_IMAGES, Printed, Record};

use super::server;
use crate::codec::Wire;
use crate::wire::spill::{self, Spill};
use crate::wire::{self, Answer, Control, Reply, Request};

/// The time without a reply and without any processor time after which the parent gives up on a child. A live child
/// always uses some processor time, because it checks its worker many times per second. On a busy machine it may only
/// reply late.
const PATIENCE: Duration = Duration::from_mins(1);

/// The maximum time that a child may take to exit by itself. Meanwhile, it finishes the files of its sessions, which
/// takes milliseconds, but more on a busy machine. Only a child whose own thread hangs takes this long.
const LAST: Duration = Duration::from_secs(10);

/// The limit of the file descriptors that are closed in a child: more than test programs have open.
const MAX_FILES: i32 = 1024;

/// A child process that runs a driver. Dropping this ends the process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: i32,
    stream: Mutex<UnixStream>,
    control: Mutex<UnixStream>,
    /// The file with the event records.
    trace: File,
    findings: Findings,
    /// Whether a debugger may stop the child for any time.
    is_debugged: bool,
}

impl Process {
    /// Forks a child for a driver. No code of the driver runs yet.
    pub(crate) fn start(guests: &Guests, config: &Config) -> io::Result<Self> {
        Self::fork(guests, config).map_err(|error| {
            let advice = match error.raw_os_error() {
                Some(libc::EMFILE) => "; raise the limit of open files (ulimit -n)",
                Some(libc::ENOMEM | libc::EAGAIN) => {
                    "; raise the limits of this process (ulimit -v, -u, the container's)"
                }
                _ => "",
            };
            io::Error::new(error.kind(), format!("cannot start: {error}{advice}"))
        })
    }

    fn fork(guests: &Guests, config: &Config) -> io::Result<Self> {
        let findings = Findings::new(config.debug_output.unwrap_or(DEBUG_OUTPUT))?;
        let trace = spill::create()?;
        let is_debugged = config.before_entry.is_some();
        let (ours, theirs) = UnixStream::pair()?;
        let (our_control, their_control) = UnixStream::pair()?;
        // SAFETY: the child runs code of this program, on its own thread only. It uses no lock that another thread of
        // the parent may hold, except the allocator's, which the C library makes usable in the child.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                keep_only(&[theirs.as_raw_fd(), their_control.as_raw_fd(), trace.as_raw_fd()]);
                // A signal for the whole group, such as an interrupt from the terminal, is for the parent; this process
                // exits in an orderly way after the parent does.
                for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                    // SAFETY: the call sets no handler.
                    unsafe { libc::signal(signal, libc::SIG_IGN) };
                }
                let run = || server::run(theirs, their_control, Spill::new(trace), guests, config, findings);
                let _ = catch_unwind(AssertUnwindSafe(run));
                // SAFETY: exits this process without running exit handlers that belong to the parent.
                unsafe { libc::_exit(0) }
            }
            _ => {
                drop((theirs, their_control));
                Ok(Self {
                    pid,
                    stream: Mutex::new(ours),
                    control: Mutex::new(our_control),
                    trace,
                    findings,
                    is_debugged,
                })
            }
        }
    }

    /// Returns the process ID of the child.
    pub(crate) const fn id(&self) -> u32 {
        self.pid.cast_unsigned()
    }

    /// Sends a request and waits for the reply.
    pub(crate) fn call(&self, request: &Request) -> io::Result<Reply> {
        self.exchange(&self.stream, request)
    }

    /// Makes a session control call. Must not be used for calls that may call the driver back.
    pub(crate) fn control(&self, call: &Control) -> io::Result<Answer> {
        self.exchange(&self.control, call)
    }

    /// Sends a request and waits for the reply.
    fn exchange<T: Wire>(&self, stream: &Mutex<UnixStream>, request: &impl Wire) -> io::Result<T> {
        let mut stream = stream.lock().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let sent = wire::send(&mut *stream, request).and_then(|()| self.wait(&stream));
        let reply = sent.and_then(|()| wire::receive(&mut *stream)).inspect_err(|_| {
            // Otherwise, a late reply could be mistaken for the reply to the next request.
            let _ = stream.shutdown(Shutdown::Both);
        })?;
        reply.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the process that runs the driver has ended"))
    }

    /// Waits for the beginning of a reply, as long as the child is alive.
    fn wait(&self, stream: &UnixStream) -> io::Result<()> {
        let mut before = self.processor_time();
        loop {
            let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: passes one structure, as the count says.
            let ready = unsafe { libc::poll(&raw mut poll, 1, PATIENCE.as_millis() as i32) };
            let now = self.processor_time();
            match ready {
                0 if now == before && !self.is_debugged => return Err(io::ErrorKind::TimedOut.into()),
                0 => before = now,
                1 => return Ok(()),
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }

    /// Returns the processor time of the child in nanoseconds, or `None` if it cannot be read.
    fn processor_time(&self) -> Option<i64> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `clock` has room for the ID of a clock.
        let known = unsafe { libc::clock_getcpuclockid(self.pid, &raw mut clock) } == 0;
        // SAFETY: `time` has room for a time.
        let read = known && unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
        read.then(|| time.tv_sec * 1_000_000_000 + time.tv_nsec)
    }

    /// Returns the file with the event records.
    pub(crate) const fn trace(&self) -> &File {
        &self.trace
    }

    /// Returns the number of findings for which there was no room.
    pub(crate) fn findings_cut(&self) -> u32 {
        self.findings.cut()
    }

    /// Returns the number of findings so far.
    pub(crate) fn finding_count(&self) -> u32 {
        self.findings.count()
    }

    /// Returns the findings so far.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.findings.read()
    }

    /// Returns the current or former addresses of the images, the driver under test first.
    pub(crate) fn image_bases(&self) -> [u64; MAX_IMAGES] {
        self.findings.bases()
    }

    /// Returns the debug output so far.
    pub(crate) fn output(&self) -> Vec<Printed> {
        self.findings.output()
    }

    /// Returns a piece of the debug output.
    pub(crate) fn printed(&self, start: u64, length: u64) -> String {
        self.findings.piece(start, length)
    }

    /// Returns the number of bytes of debug output for which there was no room.
    pub(crate) fn output_dropped(&self) -> u64 {
        self.findings.output_dropped()
    }
}

/// Closes all files of the parent except these and the standard ones: a child must not keep another child's connection
/// open.
fn keep_only(own: &[i32]) {
    for file in (3..MAX_FILES).filter(|file| !own.contains(file)) {
        // SAFETY: this runs in a child that has just been forked and whose only thread uses none of these files.
        unsafe { libc::close(file) };
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(stream) = self.stream.get_mut() {
            // The child sees that no more requests come and exits, which closes its end. If it does not exit, it is
            // killed.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.set_read_timeout(Some(LAST));
            while stream.read(&mut [0; 512]).is_ok_and(|length| length != 0) {}
        }
        // SAFETY: this child has not been waited for, so the process ID is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        let mut status = 0;
        // SAFETY: this is the same child, and there is room for its status.
        unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
        self.findings.release();
    }
}
