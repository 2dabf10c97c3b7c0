//! Steps that reach a driver through what it filters: files of the volume, communication ports, and traffic.

use etw_types::NtStatus;
use nt_machine::{FilePort, Machine, Passage};

use crate::steps::{FileStep, Step};

/// What the clients of a sequence have open.
#[derive(Default)]
pub(super) struct Filtered {
    /// The file, and the position in it.
    file: Option<u64>,
    position: u64,
    port: Option<FilePort>,
    connections: Vec<u64>,
    is_detached: bool,
}

impl Filtered {
    /// Performs a step. Returns the result in words that are the same for similar results.
    pub(super) fn perform(&mut self, machine: Machine, step: &Step) -> [u32; 3] {
        let verdict = |passage: Option<Passage>| passage.map_or(u32::MAX, |passage| passage.verdict as u32);
        match step {
            Step::File { step } => {
                let (kind, class) = match step {
                    FileStep::Query { class, .. } => (1, *class),
                    FileStep::Set { class, .. } => (2, *class),
                    step => (3, step.word().bytes().fold(0, |hash: u32, byte| hash.rotate_left(5) ^ u32::from(byte))),
                };
                [kind, self.use_file(machine, step).as_int(), class]
            }
            Step::Connect { connection } => {
                let passage = machine.connect(connection);
                self.connections.push(passage.id);
                [4, verdict(Some(passage)), 0]
            }
            Step::Transfer { inbound, data } => {
                let connection = self.connections.last();
                let passage = connection.and_then(|connection| machine.transfer(*connection, *inbound, data));
                [5, verdict(passage), u32::from(*inbound)]
            }
            Step::Packet { packet } => [6, verdict(machine.send_packet(packet)), u32::from(packet.inbound)],
            _ => {
                self.disconnect(machine);
                [7, 0, 0]
            }
        }
    }

    fn use_file(&mut self, machine: Machine, step: &FileStep) -> NtStatus {
        let if_open = |is_open: bool| if is_open { NtStatus::Success } else { NtStatus::InvalidHandle };
        if let Some(open) = step.open() {
            self.close(machine);
            let (file, answer) = machine.open_file(&open);
            (self.file, self.position) = ((file != 0).then_some(file), 0);
            return answer.status;
        }
        if let Some(request) = step.request(self.position) {
            let begun = self.file.and_then(|file| machine.begin_file(file, &request).ok());
            let Some(answer) = begun.and_then(|number| machine.finish_file(number)) else {
                return NtStatus::InvalidHandle;
            };
            if matches!(step, FileStep::Read { .. } | FileStep::Write { .. }) && answer.status.is_success() {
                self.position += answer.information;
            }
            return answer.status;
        }
        match (step, self.port) {
            (FileStep::Attach {}, _) => self.set_attached(machine, true),
            (FileStep::Detach {}, _) => self.set_attached(machine, false),
            (FileStep::Connect { name }, _) => {
                self.close_port(machine);
                let port = machine.connect_port(name, &[]);
                self.port = port.ok();
                port.err().unwrap_or(NtStatus::Success)
            }
            (FileStep::Send { data, output }, Some(port)) => machine.send_to_port(port, data, *output).status,
            (FileStep::Reply { data }, Some(port)) => if_open(machine.reply_to_port(port, data.clone())),
            (FileStep::Disconnect {}, _) => if_open(self.close_port(machine)),
            (FileStep::Close {}, _) => if_open(self.close(machine)),
            _ => NtStatus::InvalidHandle,
        }
    }

    fn set_attached(&mut self, machine: Machine, is_attached: bool) -> NtStatus {
        let result = machine.set_attached(is_attached);
        if result.is_ok() {
            self.is_detached = !is_attached;
        }
        result.err().unwrap_or(NtStatus::Success)
    }

    fn close(&mut self, machine: Machine) -> bool {
        self.file.take().is_some_and(|file| machine.close_file(file))
    }

    fn close_port(&mut self, machine: Machine) -> bool {
        self.port.take().is_some_and(|port| machine.disconnect_port(port))
    }

    fn disconnect(&mut self, machine: Machine) {
        for connection in std::mem::take(&mut self.connections) {
            // A callout may have blocked it.
            let _ = machine.disconnect(connection);
        }
    }

    /// Closes what is open, and attaches the minifilter again.
    pub(super) fn end(&mut self, machine: Machine) {
        self.close(machine);
        self.close_port(machine);
        self.disconnect(machine);
        if self.is_detached {
            self.set_attached(machine, true);
        }
    }
}
