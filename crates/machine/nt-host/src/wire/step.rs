//! The steps of a driver's clients: what `nt-host run` takes as options, and what the fuzzer sends many times per second.

use std::time::Duration;

use nt_machine::{Below, Connection, IoRequest, Packet, RequestKind};

use super::Wire;
use super::declare::messages;
use super::file_step::FileStep;
use crate::text::hexadecimal;

messages! {
    /// A step of a client.
    ///
    /// ```
    /// use nt_host::{Environment, FileStep, Input, IoRequest, RequestKind, Step};
    ///
    /// let request = IoRequest { kind: RequestKind::WRITE, input: vec![1, 2], ..IoRequest::default() };
    /// let open = Step::File { step: FileStep::Open { path: r"\a.txt".into() } };
    /// let steps = vec![open, Step::Request { request }, Step::wait(std::time::Duration::from_millis(1))];
    /// let input = Input { environment: Environment::default(), steps };
    /// assert_eq!(input.options(), [r"--file=open:\a.txt", "--write=0102", "--wait=1000us"]);
    /// assert_eq!(input.command_of("run"), r"run '--file=open:\a.txt' --write=0102 --wait=1000us --virtual-time --cancel-after=250ms");
    /// ```
    #[expect(missing_docs, reason = "the documentation of a step names its values")]
    pub Step {
        /// Opens a device: by this name or, without one, the device that was added.
        Open { name: Option<String> } = 1,
        /// Continues with the N-th device that was opened, counted from 1.
        Handle { number: u32 } = 2,
        /// Closes the current device.
        Close {} = 3,
        /// Sends a request and waits until it is completed.
        Request { request: IoRequest } = 4,
        /// Sends a request and does not wait.
        Begin { request: IoRequest } = 5,
        /// Cancels the N-th request that was begun, counted from 1, and waits until it is completed.
        Cancel { number: u32 } = 6,
        /// Sends the next requests at the same time, each on a thread of its own. With a schedule other than 0, the threads
        /// take turns.
        Together { count: u32, schedule: u32 } = 7,
        /// Makes a call of the driver fail: the N-th from now that can fail, counted from 1.
        FailNext { call: u64 } = 8,
        /// Lets time pass, in units of 100 ns.
        Wait { time: u64 } = 9,
        /// Raises an interrupt of the device.
        Interrupt { number: u32 } = 10,
        /// Puts the device to sleep.
        Sleep {} = 11,
        /// Wakes the device up.
        Wake {} = 12,
        /// Stops the device and starts it again.
        Rebalance {} = 13,
        /// Removes the device in an orderly way.
        Remove {} = 14,
        /// Removes the device by surprise.
        SurpriseRemove {} = 15,
        /// Adds a device, if the last one was removed.
        AddDevice {} = 16,
        /// Changes four bytes of the next input with the method `METHOD_NEITHER` after the driver has read them.
        Change { offset: u32, value: u32 } = 17,
        /// Sets how the next request completes that the driver sends to a device of another driver. `None` forgets the answers
        /// that are left.
        AnswerNext { answer: Option<Below> } = 18,
        /// Uses a file of the volume, or a communication port of the minifilter.
        File { step: FileStep } = 19,
        /// Opens a network connection.
        Connect { connection: Connection } = 20,
        /// Sends or receives data of the connection that was opened last.
        Transfer { inbound: bool, data: Vec<u8> } = 21,
        /// Ends all connections.
        Disconnect {} = 22,
        /// Sends or receives a packet.
        Packet { packet: Packet } = 23,
        /// Writes to memory of the client's process, and allocates it where there is none.
        Memory { address: u64, data: Vec<u8> } = 24,
    }
}

impl Eq for Step {}

/// Finds some data of a step, to change it.
pub(crate) type DataMut = fn(&mut Step) -> Option<&mut Vec<u8>>;

impl Step {
    /// The length of the output buffer of a control request on the command line, unless it is given.
    pub const OUTPUT: u32 = 4096;

    /// Returns a step that lets time pass.
    #[must_use]
    pub fn wait(time: Duration) -> Self {
        Self::Wait { time: u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX) }
    }

    /// Returns the request that the step sends.
    pub(crate) const fn request(&self) -> Option<&IoRequest> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(request),
            _ => None,
        }
    }

    /// Returns the request that the step sends, to change it.
    pub(crate) const fn request_mut(&mut self) -> Option<&mut IoRequest> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(request),
            _ => None,
        }
    }

    /// Returns whether the step reaches the driver through what it filters: files or traffic.
    pub(crate) const fn is_filtered(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Connect { .. } | Self::Transfer { .. } | Self::Packet { .. })
    }

    /// Returns the data that the step sends.
    pub(crate) const fn data(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(&request.input),
            Self::Memory { data, .. } | Self::Transfer { data, .. } | Self::Packet { packet: Packet { data, .. } } => {
                Some(data)
            }
            Self::File { step } => step.data(),
            _ => None,
        }
    }

    /// Returns the data that the step sends, to change it.
    pub(crate) const fn data_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(&mut request.input),
            Self::Memory { data, .. } | Self::Transfer { data, .. } | Self::Packet { packet: Packet { data, .. } } => {
                Some(data)
            }
            Self::File { step } => step.data_mut(),
            _ => None,
        }
    }

    /// Returns the data in the step's output buffer, if it reaches the driver, to change it.
    pub(crate) fn output_data_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.request_mut().filter(|request| request.sends_output()).map(|request| &mut request.output_data)
    }

    /// Returns the size of the step's output buffer, to change it.
    pub(crate) const fn output_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(&mut request.output),
            Self::File {
                step: FileStep::Read { length } | FileStep::Query { length, .. } | FileStep::Send { output: length, .. },
            } => Some(length),
            _ => None,
        }
    }

    /// Returns about how many requests take as long as the step.
    pub(crate) const fn cost(&self) -> u64 {
        match self {
            Self::Open { .. } | Self::Close {} | Self::File { .. } | Self::Packet { .. } => 2,
            Self::Together { .. } | Self::Wait { .. } | Self::Connect { .. } => 10,
            Self::Sleep {} | Self::Wake {} | Self::Rebalance {} | Self::AddDevice {} => 20,
            // The device is added again.
            Self::Remove {} | Self::SurpriseRemove {} => 40,
            _ => 1,
        }
    }

    /// Returns the option of `nt-host run` for the step: its name and its value.
    ///
    /// ```
    /// use nt_host::Step;
    ///
    /// assert_eq!(Step::Cancel { number: 2 }.option(), ("--cancel", Some("2".to_owned())));
    /// ```
    #[must_use]
    pub fn option(&self) -> (&'static str, Option<String>) {
        match self {
            Self::Open { name: Some(name) } => ("--open", Some(name.clone())),
            Self::Open { name: None } => ("--open-device", None),
            Self::Handle { number } => ("--handle", Some(number.to_string())),
            Self::Close {} => ("--close", None),
            Self::Request { request } => sent(request, ["--ioctl", "--internal-ioctl", "--read", "--write"]),
            Self::Begin { request } => {
                sent(request, ["--begin-ioctl", "--begin-internal-ioctl", "--begin-read", "--begin-write"])
            }
            Self::Cancel { number } => ("--cancel", Some(number.to_string())),
            Self::Together { count, schedule: 0 } => ("--together", Some(count.to_string())),
            Self::Together { count, schedule } => ("--together", Some(format!("{count}@{schedule}"))),
            Self::FailNext { call } => ("--fail-next", Some(call.to_string())),
            Self::Wait { time } => ("--wait", Some(format!("{}us", time.div_ceil(10)))),
            Self::Interrupt { number } => ("--interrupt", Some(number.to_string())),
            Self::Sleep {} => ("--sleep", None),
            Self::Wake {} => ("--wake", None),
            Self::Rebalance {} => ("--rebalance", None),
            Self::Remove {} => ("--remove", None),
            Self::SurpriseRemove {} => ("--surprise-remove", None),
            Self::AddDevice {} => ("--add-device", None),
            Self::Change { offset, value } => ("--change", Some(format!("{offset}={value:#X}"))),
            Self::AnswerNext { answer } => {
                ("--answer-next", Some(answer.as_ref().map_or_else(|| "none".to_owned(), scripted)))
            }
            Self::File { step } => ("--file", Some(step.text())),
            Self::Connect { connection: Connection { remote, inbound, udp, .. } } => {
                let (udp, from) = (if *udp { "udp:" } else { "" }, if *inbound { "from:" } else { "" });
                ("--connect", Some(format!("{udp}{from}{remote}")))
            }
            Self::Transfer { inbound, data } => ("--transfer", Some(directed(*inbound, data))),
            Self::Disconnect {} => ("--disconnect", None),
            Self::Packet { packet: Packet { data, inbound } } => ("--packet", Some(directed(*inbound, data))),
            Self::Memory { address, data } => ("--client-memory", Some(memory(*address, data))),
        }
    }
}

/// Returns the option for a request. `names` are those for control requests of both kinds, reads and writes.
fn sent(request: &IoRequest, names: [&'static str; 4]) -> (&'static str, Option<String>) {
    let [control, internal, read, write] = names;
    let input = hexadecimal(&request.input);
    let code = || {
        let input = if input.is_empty() { String::new() } else { format!(":{input}") };
        Some(format!("{:X}{input}{}", request.code, output(request)))
    };
    match request.kind {
        RequestKind::READ => (read, Some(request.output.to_string())),
        RequestKind::WRITE => (write, Some(input)),
        RequestKind::INTERNAL_DEVICE_CONTROL => (internal, code()),
        _ => (control, code()),
    }
}

/// Returns the output buffer of a control request, as options take it: its size and what it holds.
fn output(request: &IoRequest) -> String {
    let (room, data) = (request.room() as usize, request.output_data.as_slice());
    if data.is_empty() || !request.sends_output() {
        return if request.output == Step::OUTPUT { String::new() } else { format!("/{}", request.output) };
    }
    let size = if data.len() == room { String::new() } else { room.to_string() };
    format!("/{size}:{}", hexadecimal(data))
}

/// Returns memory of a client, as options take it: its address, its size and what it holds, without the zeroes at the end.
fn memory(address: u64, data: &[u8]) -> String {
    let zeroes = data.iter().rev().take_while(|byte| **byte == 0).count();
    let (used, rest) = data.split_at(data.len() - zeroes);
    let size = if rest.is_empty() { String::new() } else { data.len().to_string() };
    let colon = if used.is_empty() { "" } else { ":" };
    format!("{address:#x}/{size}{colon}{}", hexadecimal(used))
}

/// Returns data with its direction, as options take it.
fn directed(inbound: bool, data: &[u8]) -> String {
    format!("{}:{}", if inbound { "received" } else { "sent" }, hexadecimal(data))
}

/// Returns how requests complete, as options take it.
pub(crate) fn scripted(below: &Below) -> String {
    let kind = match below.kind {
        None => "any",
        Some(RequestKind::INTERNAL_DEVICE_CONTROL) => "internal-ioctl",
        Some(RequestKind::READ) => "read",
        Some(RequestKind::WRITE) => "write",
        Some(_) => "ioctl",
    };
    let code = below.code.map(|code| format!(":{code:X}")).unwrap_or_default();
    let output = if below.output.is_empty() { String::new() } else { format!(":{}", hexadecimal(&below.output)) };
    let delay = if below.delay.is_zero() { String::new() } else { format!("@{}us", below.delay.as_micros()) };
    let device = below.device.as_ref().map(|name| format!("{name},")).unwrap_or_default();
    format!("{device}{kind}{code}={:X}{output}{delay}", below.status.as_int())
}
