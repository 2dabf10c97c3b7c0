//! Files of the volume as clients use them, through the minifilters; and the minifilters' communication ports.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_filters::{Begun, FileOpen, FileRequest};
use nt_kernel::sync::process::{CLIENT, in_client};
use nt_kernel::{Answer, lock};
use nt_processor::memory::OrStop as _;
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::Outcome;

use super::{Machine, gaps, layers};

/// Identifies a connection to a communication port of a minifilter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePort(u64);

impl FilePort {
    /// Returns the connection with this number.
    #[must_use]
    pub const fn from_int(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    #[must_use]
    pub const fn as_int(self) -> u64 {
        self.0
    }
}

/// The files that clients have open, and the operations that they have begun.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    numbers: u64,
    files: SortedMap<u64, u64>,
    begun: SortedMap<u64, Begun>,
}

fn clients() -> &'static Mutex<Clients> {
    &layers().volume
}

fn answered(outcome: Outcome<Answer>) -> Answer {
    outcome.or_stop().unwrap_or_else(|status| Answer { status, ..Answer::default() })
}

impl Machine {
    /// Opens or creates a file of the volume, as `NtCreateFile` does. Returns its number, or 0 if the open failed, and
    /// the result.
    #[must_use]
    pub fn open_file(self, open: &FileOpen) -> (u64, Answer) {
        let (file, answer) = match in_client(CLIENT, || nt_filters::open(open)).or_stop() {
            Ok(opened) => opened,
            Err(status) => (0, Answer { status, ..Answer::default() }),
        };
        if !answer.reached {
            gaps::not_filtered(&format!("open {}", open.path));
        }
        if file == 0 {
            return (0, answer);
        }
        let mut clients = lock(clients());
        clients.numbers += 1;
        let number = clients.numbers;
        clients.files.insert(number, file);
        (number, answer)
    }

    /// Begins an operation on an open file. Returns its number.
    ///
    /// # Errors
    ///
    /// Fails if the file is not open or there is no memory for the buffers.
    pub fn begin_file(self, file: u64, request: &FileRequest) -> Result<u64, NtStatus> {
        let object = lock(clients()).files.get(&file).copied().ok_or(NtStatus::InvalidHandle)?;
        let begun = in_client(CLIENT, || nt_filters::begin(object, request)).or_stop()?;
        let mut clients = lock(clients());
        clients.numbers += 1;
        let number = clients.numbers;
        clients.begun.insert(number, begun);
        Ok(number)
    }

    /// Waits for an operation on a file. Returns `None` if there is no operation with this number.
    #[must_use]
    pub fn finish_file(self, number: u64) -> Option<Answer> {
        let begun = lock(clients()).begun.remove(&number)?;
        let answer = answered(nt_filters::finish(begun));
        if !answer.reached {
            gaps::not_filtered("an operation on a file");
        }
        Some(answer)
    }

    /// Cancels an operation on a file.
    pub fn cancel_file(self, number: u64) {
        let begun = lock(clients()).begun.get(&number).copied();
        if let Some(begun) = begun {
            nt_filters::cancel(begun);
        }
    }

    /// Closes a file: minifilters receive the cleanup and the close. Returns whether it was open.
    #[must_use]
    pub fn close_file(self, file: u64) -> bool {
        let file = lock(clients()).files.remove(&file);
        file.map(|file| in_client(CLIENT, || nt_filters::close(file))).is_some()
    }

    /// Detaches the driver's minifilter from the volume, or attaches it again.
    ///
    /// # Errors
    ///
    /// Returns the minifilter's status if it refuses.
    pub fn set_attached(self, is_attached: bool) -> Result<(), NtStatus> {
        nt_filters::set_attached(is_attached).or_stop()
    }

    /// Connects to a communication port of the minifilter.
    ///
    /// # Errors
    ///
    /// Returns the minifilter's status if it refuses. Also fails if there is no port with this name.
    pub fn connect_port(self, name: &str, context: &[u8]) -> Result<FilePort, NtStatus> {
        let connected = nt_filters::connect(name, context).or_stop().map(FilePort);
        connected.inspect_err(|status| {
            if *status == NtStatus::ObjectNameNotFound {
                gaps::no_such_port(name);
            }
        })
    }

    /// Sends a message to the minifilter.
    #[must_use]
    pub fn send_to_port(self, port: FilePort, input: &[u8], output: u32) -> Answer {
        answered(nt_filters::send(port.0, input, output))
    }

    /// Gives the reply to the next message of the minifilter. Returns whether the port is connected.
    #[must_use]
    pub fn reply_to_port(self, port: FilePort, reply: Vec<u8>) -> bool {
        nt_filters::reply(port.0, reply)
    }

    /// Takes the messages of the minifilter. Returns `None` if the port is not connected.
    #[must_use]
    pub fn port_messages(self, port: FilePort) -> Option<Vec<Vec<u8>>> {
        nt_filters::messages(port.0)
    }

    /// Closes a connection. Returns whether it was open.
    #[must_use]
    pub fn disconnect_port(self, port: FilePort) -> bool {
        nt_filters::disconnect(port.0)
    }
}
