//! Requests about files of the volume and communication ports.

use etw_types::NtStatus;
use nt_machine::{FilePort, Machine};

use crate::wire::{Reply, Request};

fn status(status: NtStatus) -> Reply {
    Reply::Status { status }
}

fn number(result: Result<u64, NtStatus>) -> Reply {
    result.map_or_else(status, |number| Reply::Number { number })
}

/// The reply for a file or a port that may not be open.
fn if_open(is_open: bool) -> Reply {
    status(if is_open { NtStatus::Success } else { NtStatus::InvalidHandle })
}

/// Handles a request.
pub(super) fn execute(machine: Machine, request: Request) -> Reply {
    match request {
        Request::FileOpen { open } => {
            let (file, answer) = machine.open_file(&open);
            Reply::FileOpened { file, answer }
        }
        Request::FileBegin { file, request } => number(machine.begin_file(file, &request)),
        Request::FileFinish { number } => match machine.finish_file(number) {
            Some(answer) => Reply::Completed { answer },
            None => Reply::Failed { reason: format!("there is no operation {number}") },
        },
        Request::FileCancel { number } => {
            machine.cancel_file(number);
            status(NtStatus::Success)
        }
        Request::FileClose { file } => if_open(machine.close_file(file)),
        Request::FilterAttach { attached } => status(machine.set_attached(attached).err().unwrap_or(NtStatus::Success)),
        Request::PortConnect { name, context } => number(machine.connect_port(&name, &context).map(FilePort::as_int)),
        Request::PortSend { port, input, output } => {
            Reply::Completed { answer: machine.send_to_port(FilePort::from_int(port), &input, output) }
        }
        Request::PortReply { port, reply } => if_open(machine.reply_to_port(FilePort::from_int(port), reply)),
        Request::PortMessages { port } => match machine.port_messages(FilePort::from_int(port)) {
            Some(messages) => Reply::Messages { messages },
            None => if_open(false),
        },
        Request::PortClose { port } => if_open(machine.disconnect_port(FilePort::from_int(port))),
        _ => status(NtStatus::InvalidParameter),
    }
}
