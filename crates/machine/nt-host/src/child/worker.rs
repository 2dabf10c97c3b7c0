//! The thread that runs the driver.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread as std_thread;

use etw_engine::{Enable, Session, Target, property};
use etw_types::{Level, NtStatus};

use nt_machine::{Answer, DeviceId, FileId, Guests, Loaded, Machine, Notified, Passage};

use super::batch::{self, Novelty, Progress};
use super::shared::{Sessions, lock};
use super::{control, files, storm};
use crate::wire::{Reply, Request};

/// The worker thread, as seen by the server.
pub(super) struct Worker {
    machine: Machine,
    requests: Sender<(Request, Sessions)>,
    reply: Arc<Mutex<Option<Reply>>>,
    progress: Arc<Progress>,
    thread: i32,
}

impl Worker {
    /// Starts the worker and the thread that runs DPCs.
    pub(super) fn start(machine: Machine, guests: &Guests) -> Option<Self> {
        let (requests, receiver) = mpsc::channel();
        let (sender, number) = mpsc::channel();
        let reply = Arc::<Mutex<Option<Reply>>>::default();
        let answers = Arc::clone(&reply);
        let progress = Arc::<Progress>::default();
        let counted = Arc::clone(&progress);
        let guests = guests.clone();
        let run = move || {
            // SAFETY: the call only returns a number.
            let _ = sender.send(unsafe { libc::gettid() });
            serve(machine, &guests, &receiver, &answers, &counted);
        };
        std_thread::Builder::new().name("driver".into()).spawn(run).ok()?;
        std_thread::Builder::new().name("deferred".into()).spawn(move || machine.run_deferred()).ok()?;
        Some(Self { machine, requests, reply, progress, thread: number.recv().ok()? })
    }

    pub(super) fn give(&self, request: Request, sessions: Sessions) {
        if self.requests.send((request, sessions)).is_err() {
            self.machine.give_up();
        }
    }

    pub(super) fn take(&self) -> Reply {
        let reply = lock(&self.reply).take();
        reply.unwrap_or_else(|| Reply::Failed { reason: "the worker has ended".into() })
    }

    /// Returns how far batches have come.
    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Makes the worker report where it is, and returns its ID. Used when all threads wait, and the worker waits for the
    /// others.
    pub(super) fn interrogate(&self) -> i32 {
        self.machine.interrogate(self.thread);
        self.thread
    }

    /// Makes the thread that keeps the others waiting report where it is, if it will never do anything else.
    pub(super) fn peek_busiest(&self, before: &BTreeMap<i32, u64>) {
        self.machine.peek_busiest(before, self.thread);
    }

    /// Makes the thread that keeps the others waiting report where it is, and returns its ID.
    pub(super) fn interrogate_busiest(&self, before: &BTreeMap<i32, u64>) -> i32 {
        self.machine.interrogate_busiest(before, self.thread)
    }
}

fn serve(
    machine: Machine,
    guests: &Guests,
    requests: &Receiver<(Request, Sessions)>,
    replies: &Mutex<Option<Reply>>,
    progress: &Progress,
) {
    let mut novelty = Novelty::default();
    let _ = machine.serve(|serve_one| {
        while let Ok((request, sessions)) = requests.recv() {
            let mut request = Some(request);
            serve_one(&mut || {
                let reply = request.take().map(|request| match request {
                    Request::Batch { device, sequences } => {
                        Reply::Batch { batch: batch::run(machine, device, &sequences, &mut novelty, progress) }
                    }
                    request => execute(machine, guests, request, &sessions),
                });
                *lock(replies) = reply;
            });
        }
    });
}

fn execute(machine: Machine, guests: &Guests, request: Request, sessions: &Sessions) -> Reply {
    match request {
        Request::Load {} => match machine.load(guests) {
            Ok(Loaded::Entered(status)) => Reply::Status { status },
            Ok(Loaded::Refused(status, reason)) => Reply::NotLoaded { status, reason },
            Err(error) => Reply::Failed { reason: error.to_string() },
        },
        Request::Unload {} => Reply::Status { status: machine.unload() },
        Request::AddDevice {} => match machine.add_device() {
            Ok(device) => Reply::Number { number: device.as_int() },
            Err(status) => Reply::Status { status },
        },
        Request::RemoveDevice { device } => result(machine.remove_device(DeviceId::from_int(device), false)),
        Request::SurpriseRemove { device } => result(machine.remove_device(DeviceId::from_int(device), true)),
        Request::Rebalance { device } => result(machine.rebalance(DeviceId::from_int(device))),
        Request::SetPower { device, on } => result(machine.set_power(DeviceId::from_int(device), on)),
        Request::Io { device, request } => completed(machine.request(DeviceId::from_int(device), &request)),
        Request::Begin { device, request } => {
            Reply::Number { number: machine.begin(DeviceId::from_int(device), &request) }
        }
        Request::Open { device } => file(machine.open(DeviceId::from_int(device))),
        Request::OpenAs { device, program } => file(machine.open_as(DeviceId::from_int(device), program)),
        Request::OpenName { name } => file(machine.open_name(&name)),
        Request::Close { file } if machine.close(FileId::from_int(file)) => done(),
        Request::Close { .. } => NOT_OPEN,
        Request::BeginOn { file, request } => match machine.begin_on(FileId::from_int(file), &request) {
            Some(number) => Reply::Number { number },
            None => NOT_OPEN,
        },
        Request::Cancel { number } => {
            machine.cancel(number);
            done()
        }
        Request::Finish { number } => match machine.finish(number) {
            Some(ended) => completed(ended),
            None => Reply::Failed { reason: format!("there is no request {number}") },
        },
        Request::Enable { session, provider, level, any, all, group } => with(machine, sessions, session, |session| {
            let group = if group { property::PROVIDER_GROUP } else { 0 };
            let property = group | machine.config().enable_property();
            let enable = Enable { level: Level::from_int(level), any, all, property, ..Enable::default() };
            session.enable(provider, enable)
        }),
        Request::Disable { session, provider } => with(machine, sessions, session, |session| session.disable(provider)),
        Request::CaptureState { session, provider } => {
            with(machine, sessions, session, |session| session.capture_state(Target::Provider(provider)))
        }
        Request::Advance { time } => {
            machine.advance(time);
            done()
        }
        Request::Interrupt { device, number } => {
            Reply::Interrupted { claimed: machine.interrupt(DeviceId::from_int(device), number) }
        }
        Request::Wmi { device, request } => completed(machine.wmi(DeviceId::from_int(device), &request)),
        Request::Notify { notification } => {
            let Notified { called, status, access } = machine.notify(&notification);
            Reply::Notified { called, status, access }
        }
        Request::Connect { connection } => Reply::Passage { passage: machine.connect(&connection) },
        Request::SendPacket { packet } => passage(machine.send_packet(&packet)),
        Request::Transfer { connection, inbound, data } => passage(machine.transfer(connection, inbound, &data)),
        Request::Disconnect { connection } => {
            let existed = machine.disconnect(connection);
            Reply::Status { status: if existed { NtStatus::Success } else { NtStatus::InvalidParameter } }
        }
        Request::Passage { id } => passage(machine.passage(id)),
        Request::Storm { plan } => storm::run(machine, guests, &plan),
        Request::Control { call } => Reply::Control { answer: control::answer(machine, call) },
        Request::Together { requests, schedule } => {
            Reply::Together { answers: batch::together(machine, &requests, schedule) }
        }
        Request::FailNext { .. } | Request::ChangeNext { .. } | Request::AnswerNext { .. } => change(machine, request),
        Request::MemoryWrite { .. } | Request::MemoryRead { .. } | Request::MemoryFree { .. } => {
            memory(machine, request)
        }
        Request::Names {} => names(machine),
        Request::FileOpen { .. }
        | Request::FileBegin { .. }
        | Request::FileFinish { .. }
        | Request::FileCancel { .. }
        | Request::FileClose { .. }
        | Request::FilterAttach { .. }
        | Request::PortConnect { .. }
        | Request::PortSend { .. }
        | Request::PortReply { .. }
        | Request::PortMessages { .. }
        | Request::PortClose { .. } => files::execute(machine, request),
        Request::Session { .. }
        | Request::Batch { .. }
        | Request::Progress {}
        | Request::Events { .. }
        | Request::Calls {}
        | Request::Written {}
        | Request::Hardware {}
        | Request::Gaps {} => done(),
    }
}

/// Returns what a driver has that requests name.
fn names(machine: Machine) -> Reply {
    Reply::Names {
        devices: machine.device_names(),
        values: machine.missing_values(),
        ports: machine.minifilter(),
        callouts: machine.has_callouts(),
    }
}

/// Changes what the next call, access or request meets.
fn change(machine: Machine, request: Request) -> Reply {
    match request {
        Request::FailNext { call } => machine.fail_next(call),
        Request::ChangeNext { offset, value } => machine.change_next(offset, value),
        Request::AnswerNext { answer } => machine.answer_next(answer),
        _ => {}
    }
    done()
}

/// Writes, reads or frees memory of the client.
fn memory(machine: Machine, request: Request) -> Reply {
    match request {
        Request::MemoryWrite { address, data } => result(machine.write_client_memory(address, &data)),
        Request::MemoryFree { address, length } => result(machine.free_client_memory(address, length)),
        Request::MemoryRead { address, length } => match machine.read_client_memory(address, length) {
            Ok(data) => Reply::Memory { data },
            Err(status) => Reply::Status { status },
        },
        _ => done(),
    }
}

fn result(result: Result<(), NtStatus>) -> Reply {
    Reply::Status { status: result.err().unwrap_or(NtStatus::Success) }
}

fn file(opened: Result<FileId, NtStatus>) -> Reply {
    match opened {
        Ok(file) => Reply::Number { number: file.as_int() },
        Err(status) => Reply::Status { status },
    }
}

/// Returns the reply for traffic, or for traffic that cannot be: no IP datagram, or no such connection.
fn passage(passage: Option<Passage>) -> Reply {
    passage.map_or(Reply::Status { status: NtStatus::InvalidParameter }, |passage| Reply::Passage { passage })
}

/// The reply if the device was removed or the file was closed.
const NOT_OPEN: Reply = Reply::Status { status: NtStatus::InvalidHandle };

fn done() -> Reply {
    Reply::Status { status: NtStatus::Success }
}

const fn completed(answer: Answer) -> Reply {
    Reply::Completed { answer }
}

fn with(machine: Machine, sessions: &Sessions, number: u32, control: impl FnOnce(&Session) -> NtStatus) -> Reply {
    let session = lock(sessions).get((number as usize).wrapping_sub(1)).cloned();
    let session = if number == 0 { machine.trace() } else { session };
    match session {
        Some(session) => Reply::Status { status: control(&session) },
        None => Reply::Failed { reason: format!("there is no session {number}") },
    }
}
