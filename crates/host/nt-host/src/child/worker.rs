//! The thread that runs the driver.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread as std_thread;

use etw_engine::{Enable, Session, Target, property};
use etw_types::{Level, NtStatus};

use super::server::Sessions;
use super::{control, notify, storm};
use crate::cpu::{signals, thread};
use crate::kernel::plug;
use crate::kernel::{self, kernel, unload};
use crate::loader::Layout;
use crate::wdf::Asked;
use crate::wire::{Reply, Request};

/// The worker as the server sees it.
pub(super) struct Worker {
    requests: Sender<(Request, Sessions)>,
    reply: Arc<Mutex<Option<Reply>>>,
    thread: i32,
}

impl Worker {
    /// Starts the worker, and the thread for deferred calls.
    pub(super) fn start(layout: &Layout) -> Option<Self> {
        let (requests, receiver) = mpsc::channel();
        let (said, number) = mpsc::channel();
        let reply = Arc::<Mutex<Option<Reply>>>::default();
        let answers = Arc::clone(&reply);
        let layout = layout.clone();
        let run = move || {
            // SAFETY: answers a number.
            let _ = said.send(unsafe { libc::gettid() });
            serve(&layout, &receiver, &answers);
        };
        std_thread::Builder::new().name("driver".into()).spawn(run).ok()?;
        std_thread::Builder::new().name("deferred".into()).spawn(kernel::serve_deferred).ok()?;
        Some(Self { requests, reply, thread: number.recv().ok()? })
    }

    pub(super) fn give(&self, request: Request, sessions: Sessions) {
        if self.requests.send((request, sessions)).is_err() {
            notify::done();
        }
    }

    pub(super) fn take(&self) -> Reply {
        let reply = kernel::lock(&self.reply).take();
        reply.unwrap_or_else(|| Reply::Failed { reason: "the worker has ended".into() })
    }

    /// Has the worker say where it is.
    pub(super) fn ask(&self) {
        let process = std::process::id();
        // SAFETY: a signal to a thread of this process; a number that is no thread's is refused.
        unsafe { libc::syscall(libc::SYS_tgkill, process, self.thread, signals::ASK) };
    }
}

fn serve(layout: &Layout, requests: &Receiver<(Request, Sessions)>, replies: &Mutex<Option<Reply>>) {
    let Ok(_attached) = thread::attach() else { return };
    while let Ok((request, sessions)) = requests.recv() {
        kernel().scheduler.begin_request();
        let reply = execute(layout, request, &sessions);
        if !kernel().config.real_time {
            kernel().scheduler.settle();
        }
        kernel().scheduler.end_request();
        *kernel::lock(replies) = Some(reply);
        notify::done();
    }
}

fn execute(layout: &Layout, request: Request, sessions: &Sessions) -> Reply {
    match request {
        Request::Load {} => match unload::load(layout) {
            Ok(status) => match kernel::lock(&kernel().refusal).take() {
                Some(reason) if !status.is_success() => Reply::NotLoaded { status, reason },
                _ => Reply::Status { status },
            },
            Err(error) => Reply::Failed { reason: error.to_string() },
        },
        Request::Unload {} => {
            unload::unload();
            done()
        }
        Request::AddDevice {} => match plug::add_device() {
            Ok(number) => Reply::Number { number },
            Err(status) => Reply::Status { status },
        },
        Request::RemoveDevice { device } => result(plug::remove_device(device, false)),
        Request::SurpriseRemove { device } => result(plug::remove_device(device, true)),
        Request::SetPower { device, on } => result(plug::set_power(device, on)),
        Request::Ioctl { device, code, input, output } => completed(&plug::ioctl(device, code, &input, output)),
        Request::Read { device, length } => {
            completed(&plug::request(device, &Asked { kind: plug::READ, code: 0, input: Vec::new(), output: length }))
        }
        Request::Write { device, data } => {
            completed(&plug::request(device, &Asked { kind: plug::WRITE, code: 0, input: data, output: 0 }))
        }
        Request::Begin { device, kind, code, input, output } => {
            Reply::Number { number: plug::begin(device, &Asked { kind, code, input, output }) }
        }
        Request::Cancel { number } => {
            plug::cancel(number);
            done()
        }
        Request::Finish { number } => match plug::finish(number) {
            Some(outcome) => completed(&outcome),
            None => Reply::Failed { reason: format!("there is no request {number}") },
        },
        Request::Enable { session, provider, level, any, all, group } => with(sessions, session, |session| {
            let group = if group { property::PROVIDER_GROUP } else { 0 };
            let property = group | kernel().config.enable_property();
            let enable = Enable { level: Level::from_int(level), any, all, property, ..Enable::default() };
            session.enable(provider, enable)
        }),
        Request::Disable { session, provider } => with(sessions, session, |session| session.disable(provider)),
        Request::CaptureState { session, provider } => {
            with(sessions, session, |session| session.capture_state(Target::Provider(provider)))
        }
        Request::Advance { time } => {
            let deadline = kernel().scheduler.now().saturating_add(time);
            kernel().scheduler.wait(Some(deadline), |_| None::<()>);
            done()
        }
        Request::Storm { plan } => storm::run(layout, &plan),
        Request::Control { call } => Reply::Control { answer: control::answer(call) },
        Request::Session { .. } | Request::Events { .. } | Request::Calls {} | Request::Written {} => done(),
    }
}

fn result(result: Result<(), NtStatus>) -> Reply {
    Reply::Status { status: result.err().unwrap_or(NtStatus::Success) }
}

fn done() -> Reply {
    Reply::Status { status: NtStatus::Success }
}

fn completed(outcome: &plug::Outcome) -> Reply {
    let status = NtStatus::from_int(outcome.status);
    Reply::Completed { status, information: outcome.information, output: outcome.output.clone() }
}

fn with(sessions: &Sessions, number: u32, control: impl FnOnce(&Session) -> NtStatus) -> Reply {
    let session = kernel::lock(sessions).get((number as usize).wrapping_sub(1)).cloned();
    let session = if number == 0 { kernel::lock(&kernel().etw).session() } else { session };
    match session {
        Some(session) => Reply::Status { status: control(&session) },
        None => Reply::Failed { reason: format!("there is no session {number}") },
    }
}
