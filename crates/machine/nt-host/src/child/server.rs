//! The thread that handles requests.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use etw_engine::Session;
use nt_machine::{Config, Findings, Gap, GapKind, Guests, Machine, RunEvent, Time};

use super::patience::{INTERVAL, Patience};
use super::shared::{Sessions, lock};
use super::worker::Worker;
use crate::wire::spill::Spill;
use crate::wire::{self, Reply, Request};

/// The maximum time that a thread may take to report where it is. It counts like the time for a request.
const LAST_WORD: Duration = Duration::from_secs(2);

/// How much time the driver takes before it is looked for an endless loop that can be recognised, and between two such looks.
const PEEK: Duration = Duration::from_millis(250);

/// Runs the child until its parent is gone. It has two connections: for requests and for session control.
pub(super) fn run(
    mut stream: UnixStream,
    control: UnixStream,
    spill: Spill,
    guests: &Guests,
    config: &Config,
    findings: Findings,
) {
    if config.one_processor {
        stay_here();
    }
    let Ok(machine) = Machine::start(config.clone(), findings) else { return };
    let Some(worker) = Worker::start(machine, guests) else { return };
    let serve = move || super::control::serve(machine, control);
    if std::thread::Builder::new().name("control".into()).spawn(serve).is_err() {
        return;
    }
    let limit = config.limit();
    let mut server =
        Server { machine, worker, sessions: Arc::default(), spill, unkept: BTreeMap::new(), stopped: false, limit };
    while let Ok(Some(request)) = wire::receive::<Request>(&mut stream) {
        let Some(reply) = server.answer(request, &stream) else { break };
        if wire::send(&mut stream, &reply).is_err() {
            break;
        }
    }
    super::control::end_sessions(machine);
}

struct Server {
    machine: Machine,
    worker: Worker,
    sessions: Sessions,
    spill: Spill,
    /// By session: the number of events that are larger than a record can be, or that could not be written to the file.
    unkept: BTreeMap<u32, u64>,
    stopped: bool,
    limit: Duration,
}

impl Server {
    /// Handles a request. Returns `None` if the parent no longer waits for the reply.
    fn answer(&mut self, request: Request, parent: &UnixStream) -> Option<Reply> {
        Some(match request {
            Request::Session { name } => {
                let mut sessions = lock(&self.sessions);
                sessions.push(self.machine.engine().start_session(&name));
                Reply::Number { number: sessions.len() as u64 }
            }
            Request::Events { session } => self.events(session),
            Request::Calls {} => Reply::Calls { calls: self.machine.fallible_calls() },
            Request::Written {} => Reply::Number { number: self.machine.events_written() },
            Request::Gaps {} => Reply::Gaps { gaps: self.gaps() },
            Request::Hardware {} => {
                let (accesses, dropped) = self.machine.take_hardware_accesses();
                Reply::Hardware { accesses, dropped }
            }
            Request::Progress {} => Reply::Batch { batch: self.worker.progress().batch() },
            _ if self.stopped => Reply::Stopped {},
            request => return self.run(request, parent),
        })
    }

    /// Returns what the run did not exercise. If the machine has stopped, that includes the rest of the run.
    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.machine.gaps();
        if self.stopped {
            let detail = "the run stopped before the driver unloaded".to_owned();
            gaps.push(Gap { kind: GapKind::NotFinished, detail, advice: Vec::new() });
        }
        gaps
    }

    fn events(&mut self, session: u32) -> Reply {
        self.spill_all();
        let lost = self.session(session).map_or(0, |session| session.events_lost());
        let unkept = self.unkept.get(&session).copied().unwrap_or_default();
        Reply::Events { end: self.spill.end(), lost: lost + unkept }
    }

    fn session(&self, number: u32) -> Option<Session> {
        match number {
            0 => self.machine.trace(),
            number => lock(&self.sessions).get(number as usize - 1).cloned(),
        }
    }

    /// Moves the events of all sessions to the file, so that the memory for a trace is bounded.
    fn spill_all(&mut self) {
        let count = lock(&self.sessions).len() as u32;
        for number in 0..=count {
            let events = self.session(number).map(|session| session.take_events()).unwrap_or_default();
            for event in events {
                let kept = wire::record(&event).is_some_and(|record| self.spill.append(number, &record).is_ok());
                if !kept {
                    *self.unkept.entry(number).or_default() += 1;
                }
            }
        }
    }

    /// Lets the worker handle a request, and watches the worker.
    fn run(&mut self, request: Request, parent: &UnixStream) -> Option<Reply> {
        let mut limit = self.limit.saturating_mul(request.rounds());
        if self.machine.config().time == Time::Real {
            limit = limit.saturating_add(request.waits());
        }
        self.worker.give(request, Arc::clone(&self.sessions));
        let times = self.machine.processor_times();
        let mut patience = Patience::new(&times, self.limit);
        // The thread that was interrogated where it is, and the time at which that took too long.
        let mut stuck = 0;
        let mut interrogated = None;
        let mut progress = 0;
        let mut peek = PEEK;
        loop {
            match self.machine.listen(INTERVAL) {
                RunEvent::Done => return Some(self.worker.take()),
                RunEvent::Crashed | RunEvent::Interrupted => {
                    self.stopped = true;
                    super::control::end_sessions(self.machine);
                    return Some(Reply::Stopped {});
                }
                RunEvent::Nothing if is_closed(parent) => return None,
                RunEvent::Nothing => {
                    self.spill_all();
                    stuck = if self.machine.is_stuck() { stuck + 1 } else { 0 };
                    // The limit is for each step of a batch.
                    if std::mem::replace(&mut progress, self.worker.progress().steps()) != progress {
                        patience = Patience::new(&self.machine.processor_times(), self.limit);
                        peek = PEEK;
                    }
                    let spent = patience.spent(self.machine);
                    // A debugger would stop at the signal, and sets no limit.
                    if spent >= peek && limit < Duration::MAX && interrogated.is_none() {
                        self.worker.peek_busiest(&times);
                        peek = spent + PEEK;
                    }
                    // The interrogated thread reports where it is, which ends the run.
                    match interrogated {
                        None if stuck >= 3 => interrogated = Some((self.worker.interrogate(), spent + LAST_WORD)),
                        None if spent > limit => {
                            interrogated = Some((self.worker.interrogate_busiest(&times), spent + LAST_WORD));
                        }
                        Some((thread, end)) if spent > end => {
                            self.machine.report_hang(thread);
                            interrogated = Some((thread, Duration::MAX));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Keeps this thread, and those that it starts, on the processor on which it runs now. If that is not possible, they only run
/// slower.
fn stay_here() {
    // SAFETY: the call only returns a number.
    let here = usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or_default();
    // SAFETY: all bytes zero is a set without processors.
    let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the function checks the number against the size of the set.
    unsafe { libc::CPU_SET(here, &mut only) };
    // SAFETY: the set has the size that is passed, and 0 is this thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const only) };
}

/// Returns whether the other end of a connection is closed.
fn is_closed(stream: &UnixStream) -> bool {
    let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: passes one structure, as the count says.
    let ready = unsafe { libc::poll(&raw mut poll, 1, 0) };
    ready == 1 && poll.revents & (libc::POLLRDHUP | libc::POLLHUP) != 0
}
