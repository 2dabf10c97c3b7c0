//! Session control: returns what the control functions of Windows would return.
//!
//! Calls that cannot call the driver back are handled here, on a separate thread and connection; the worker handles the
//! rest. Consumers live here and are polled for their events, so that waiting happens in the consumer's process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use etw_engine::Consumer;
use etw_session::platform::EngineSystem;
use etw_session::{Control as Code, EnableRequest, Refusal, System, Target};
use etw_types::session::TraceInfoClass;
use etw_types::{ControlCode, Level, Win32Error};
use nt_machine::Machine;

use super::patience;
use crate::wire::{self, Answer, Control};

/// The machine has stopped. Windows has no such case, so this code is our choice.
pub(crate) const STOPPED: Win32Error = Win32Error::SystemProcessTerminated;
/// The maximum time for which no thread runs while sessions finish their files.
const LAST: Duration = Duration::from_secs(1);

/// Handles the calls on this connection until it is closed.
pub(super) fn serve(machine: Machine, mut stream: UnixStream) {
    let mut consumers = Consumers { machine, connected: BTreeMap::new(), last: 0 };
    while let Ok(Some(call)) = wire::receive::<Control>(&mut stream) {
        let answer = match call {
            Control::Consume { name } if !machine.is_stopped() => consumers.connect(&name),
            Control::Receive { consumer } => consumers.receive(consumer),
            Control::Disconnect { consumer } => {
                consumers.connected.remove(&consumer);
                code(Ok(()))
            }
            _ if machine.is_stopped() => code(Err(STOPPED)),
            call => answer(machine, call),
        };
        if wire::send(&mut stream, &answer).is_err() {
            return;
        }
    }
}

/// Finishes the files of all sessions. A stopped thread may hold a lock that this needs. In that case, the files stay
/// as they are and are readable up to their last buffer.
pub(super) fn end_sessions(machine: Machine) {
    let (finished, wait) = mpsc::channel();
    let end = move || {
        machine.engine().shut_down();
        let _ = finished.send(());
    };
    if thread::Builder::new().name("last".into()).spawn(end).is_ok() {
        patience::wait(LAST, |time| wait.recv_timeout(time) != Err(RecvTimeoutError::Timeout));
    }
}

/// Handles a call, except those about consumers.
pub(super) fn answer(machine: Machine, call: Control) -> Answer {
    let system = EngineSystem::new(machine.engine().clone());
    match call {
        Control::Start { dir, name, mut block } => {
            match system.relative_to(OsString::from_vec(dir)).start_trace(&name, &mut block) {
                Ok(handle) => Answer::Code { code: 0, number: handle, data: block },
                Err(error) => Answer::Code { code: error.as_int(), number: 0, data: block },
            }
        }
        Control::Trace { dir, handle, name, code: number, mut block } => {
            let target = name.as_deref().map_or(Target::Handle(handle), Target::Name);
            let result = match code_of(number) {
                Some(control) => system.relative_to(OsString::from_vec(dir)).control_trace(target, control, &mut block),
                None => Err(Win32Error::InvalidParameter),
            };
            Answer::Code { code: result.err().map_or(0, Win32Error::as_int), number: 0, data: block }
        }
        Control::QueryAll { template } => match system.query_all_traces(&template) {
            Ok(blocks) => Answer::Blocks { blocks },
            Err(error) => code(Err(error)),
        },
        Control::Enable { session, request } => code(system.enable_trace(
            session,
            &EnableRequest {
                provider: request.provider,
                control: ControlCode::from_int(request.control),
                level: Level::from_int(request.level),
                any: request.any,
                all: request.all,
                timeout: request.timeout,
                property: request.property,
                source: request.source,
                filters: &request.filters,
            },
        )),
        Control::Set { session, class, data } => {
            code(system.set_information(session, TraceInfoClass::from_int(class), &data))
        }
        Control::Query { session, class, mut buffer } => {
            let result = system.query_information(session, TraceInfoClass::from_int(class), &mut buffer);
            sized(result, buffer)
        }
        Control::Enumerate { class, input, mut buffer } => {
            let result = system.enumerate(TraceInfoClass::from_int(class), &input, &mut buffer);
            sized(result, buffer)
        }
        Control::Privilege {} => code(system.enable_profile_privilege()),
        Control::FileError { session } => {
            let data = system.file_error(session).unwrap_or_default().into_bytes();
            Answer::Code { code: 0, number: 0, data }
        }
        Control::Consume { .. } | Control::Receive { .. } | Control::Disconnect { .. } => code(Err(STOPPED)),
    }
}

fn code(result: Result<(), Win32Error>) -> Answer {
    Answer::Code { code: result.err().map_or(0, Win32Error::as_int), number: 0, data: Vec::new() }
}

fn sized(result: Result<usize, Refusal>, data: Vec<u8>) -> Answer {
    let (code, length) = match result {
        Ok(length) => (0, length),
        Err(refusal) => (refusal.code.as_int(), refusal.needed),
    };
    Answer::Code { code, number: length as u64, data }
}

fn code_of(number: u32) -> Option<Code> {
    let all = [Code::Query, Code::Stop, Code::Update, Code::Flush, Code::IncrementFile, Code::ConvertToRealTime];
    all.into_iter().find(|code| *code as u32 == number)
}

/// The connected consumers, with the handles of their sessions.
struct Consumers {
    machine: Machine,
    connected: BTreeMap<u64, (Consumer, u64)>,
    last: u64,
}

impl Consumers {
    fn connect(&mut self, name: &str) -> Answer {
        let session = self.machine.engine().find_session(name);
        match session.and_then(|session| Ok((session.consume()?, session))) {
            Ok((consumer, session)) => {
                self.last += 1;
                self.connected.insert(self.last, (consumer, session.handle()));
                Answer::Consumer { consumer: self.last, clock: session.clock() }
            }
            Err(error) => code(Err(error)),
        }
    }

    fn receive(&mut self, number: u64) -> Answer {
        let Some((consumer, session)) = self.connected.get(&number) else {
            return Answer::End {};
        };
        // A session is removed from the table after its last buffer was delivered, so check in this order.
        let has_ended = self.machine.engine().session(*session).is_err();
        match consumer.try_next_buffer() {
            Some(buffer) => {
                let records = buffer.records().map(<[u8]>::to_vec).collect();
                Answer::Records { processor: buffer.processor, records }
            }
            None if has_ended => Answer::End {},
            None => Answer::Records { processor: 0, records: Vec::new() },
        }
    }
}
