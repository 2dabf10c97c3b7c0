//! The thread that answers.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use etw_engine::Session;

use super::notify::{self, News};
use super::worker::Worker;
use crate::config::Config;
use crate::cpu::signals;
use crate::kernel::{self, kernel};
use crate::loader::Layout;
use crate::verify::{self, Arena};
use crate::wire::{self, Reply, Request};

/// How long the driver may take for one request, unless the run says otherwise.
const LIMIT: Duration = Duration::from_secs(20);
/// How often the worker is looked after.
const INTERVAL: Duration = Duration::from_millis(25);

/// Runs the child until its parent is gone, on its two connections: for requests and for session control.
pub(super) fn run(mut stream: UnixStream, control: UnixStream, layout: &Layout, config: &Config, arena: Arena) {
    verify::record_in(arena);
    let ready = notify::open().and_then(|pipe| signals::install().map(|()| pipe));
    let Ok(pipe) = ready else { return };
    notify::catch_end_of_run();
    kernel::start(config.clone());
    let Some(worker) = Worker::start(layout) else { return };
    let serve = move || super::control::serve(control);
    if std::thread::Builder::new().name("control".into()).spawn(serve).is_err() {
        return;
    }
    let limit = config.patience.unwrap_or(LIMIT);
    let mut server = Server { pipe, worker, sessions: Arc::default(), stopped: false, limit };
    while let Ok(Some(request)) = wire::receive::<Request>(&mut stream) {
        let Some(reply) = server.answer(request, &stream) else { break };
        if wire::send(&mut stream, &reply).is_err() {
            break;
        }
    }
    super::control::end_sessions();
}

/// The sessions, by number; 0 is the one that takes everything.
pub(super) type Sessions = Arc<std::sync::Mutex<Vec<Session>>>;

struct Server {
    pipe: OwnedFd,
    worker: Worker,
    sessions: Sessions,
    stopped: bool,
    limit: Duration,
}

impl Server {
    /// The answer to a request; `None` where nobody waits for it any more.
    fn answer(&mut self, request: Request, parent: &UnixStream) -> Option<Reply> {
        Some(match request {
            Request::Session { name } => {
                let mut sessions = kernel::lock(&self.sessions);
                sessions.push(kernel().engine.start_session(&name));
                Reply::Number { number: sessions.len() as u64 }
            }
            Request::Events { session } => self.events(session),
            Request::Calls {} => Reply::Calls { calls: kernel().table.fallible_calls() },
            Request::Written {} => Reply::Number { number: kernel::etw::written() },
            _ if self.stopped => Reply::Stopped {},
            request => return self.run(request, parent),
        })
    }

    fn events(&self, session: u32) -> Reply {
        let session = match session {
            0 => kernel::lock(&kernel().etw).session(),
            number => kernel::lock(&self.sessions).get(number as usize - 1).cloned(),
        };
        let events = session.as_ref().map(Session::events).unwrap_or_default();
        let lost = session.map_or(0, |session| session.events_lost());
        let records: Vec<Vec<u8>> = events.iter().filter_map(wire::record).collect();
        let too_large = (events.len() - records.len()) as u64;
        Reply::Events { records, lost: lost + too_large }
    }

    /// Has the worker do it, and looks after the worker.
    fn run(&mut self, request: Request, parent: &UnixStream) -> Option<Reply> {
        let limit = self.limit.saturating_mul(request.rounds());
        self.worker.give(request, Arc::clone(&self.sessions));
        let started = Instant::now();
        let mut stuck = 0;
        loop {
            match notify::listen(&self.pipe, INTERVAL) {
                News::Done => return Some(self.worker.take()),
                News::Crashed | News::Interrupted => {
                    self.stopped = true;
                    super::control::end_sessions();
                    return Some(Reply::Stopped {});
                }
                News::Nothing if notify::is_closed(parent) => return None,
                News::Nothing => {
                    stuck = if kernel().scheduler.is_stuck() { stuck + 1 } else { 0 };
                    if stuck == 3 || started.elapsed() > limit {
                        // It says where it is, which ends the run.
                        self.worker.ask();
                        stuck = i32::MIN;
                    }
                }
            }
        }
    }
}
