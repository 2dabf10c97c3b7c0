//! The messages between the two processes.

use std::time::Duration;

use etw_types::{Guid, NtStatus};
use nt_machine::{
    Answer as IoAnswer, Below, Connection, FileOpen, FileRequest, Gap, HardwareAccess, IoRequest, Notification, Packet,
    Passage, WmiRequest,
};

use super::control::{Answer, Control};
use crate::codec::{messages, records};
use crate::steps::Step;

messages! {
    /// A request to the process that runs the driver.
    pub(crate) Request {
        /// Map the driver and call its entry point.
        Load {} = 1,
        /// Call the driver's unload routine.
        Unload {} = 2,
        /// Add a device: by Plug and Play, or one that the driver created itself.
        AddDevice {} = 3,
        /// Remove a device.
        RemoveDevice { device: u64 } = 4,
        /// Send a request to a device and wait until it is completed.
        Io { device: u64, request: IoRequest } = 5,
        /// Start a session.
        Session { name: String } = 8,
        /// Enable a provider, or a group of them.
        Enable { session: u32, provider: Guid, level: u8, any: u64, all: u64, group: bool } = 9,
        /// Disable a provider.
        Disable { session: u32, provider: Guid } = 10,
        /// Request a provider to log its state.
        CaptureState { session: u32, provider: Guid } = 11,
        /// Return the events of a session. Session 0 records everything.
        Events { session: u32 } = 12,
        /// Let time pass, in units of 100 ns.
        Advance { time: u64 } = 13,
        /// Run a storm.
        Storm { plan: StormPlan } = 14,
        /// Return how many times each routine that can fail was called.
        Calls {} = 15,
        /// Make a session control call that may call the driver back.
        Control { call: Control } = 16,
        /// Begin a request; the reply is its number.
        Begin { device: u64, request: IoRequest } = 17,
        /// Open a device; the reply is the number of the file.
        Open { device: u64 } = 6,
        /// Open a device as another program does.
        OpenAs { device: u64, program: u16 } = 37,
        /// Open a device by name or symbolic link.
        OpenName { name: String } = 7,
        /// Close a file.
        Close { file: u64 } = 23,
        /// Begin a request to an open file; the reply is its number.
        BeginOn { file: u64, request: IoRequest } = 24,
        /// Cancel a request that was begun.
        Cancel { number: u64 } = 18,
        /// Wait until a request that was begun is completed.
        Finish { number: u64 } = 19,
        /// Put a device to sleep or wake it up.
        SetPower { device: u64, on: bool } = 20,
        /// Remove a device by surprise.
        SurpriseRemove { device: u64 } = 21,
        /// Stop a device and start it again.
        Rebalance { device: u64 } = 29,
        /// Raise an interrupt of a device.
        Interrupt { device: u64, number: u32 } = 26,
        /// Send a WMI request to a device.
        Wmi { device: u64, request: WmiRequest } = 27,
        /// Return how many events were written.
        Written {} = 22,
        /// Notify the driver of an event in the system.
        Notify { notification: Notification } = 25,
        /// Return what the run did not exercise.
        Gaps {} = 28,
        /// Send requests through these files at the same time, with a schedule other than 0 on threads that take turns.
        Together { requests: Vec<(u64, IoRequest)>, schedule: u32 } = 30,
        /// Make a call fail, counted from now over all routines that can fail.
        FailNext { call: u64 } = 31,
        /// Change four bytes of the next input after the driver has read them.
        ChangeNext { offset: u32, value: u32 } = 35,
        /// Set how the next request completes that the driver sends to a device of another driver.
        AnswerNext { answer: Option<Below> } = 36,
        /// Run sequences of steps one after the other, up to the first that leads to a finding. The device is the one
        /// that was added.
        Batch { device: u64, sequences: Vec<Vec<Step>> } = 32,
        /// Return the result of the last batch so far.
        Progress {} = 33,
        /// Return the names of the driver's devices, and the registry values that it looked for.
        Names {} = 34,
        /// Open a file of the volume.
        FileOpen { open: FileOpen } = 40,
        /// Begin an operation on a file of the volume; the reply is its number.
        FileBegin { file: u64, request: FileRequest } = 41,
        /// Wait until an operation on a file is completed.
        FileFinish { number: u64 } = 42,
        /// Cancel an operation on a file.
        FileCancel { number: u64 } = 43,
        /// Close a file of the volume.
        FileClose { file: u64 } = 44,
        /// Attach the minifilter to the volume or detach it.
        FilterAttach { attached: bool } = 45,
        /// Connect to a communication port of the minifilter; the reply is its number.
        PortConnect { name: String, context: Vec<u8> } = 46,
        /// Send a message to the minifilter.
        PortSend { port: u64, input: Vec<u8>, output: u32 } = 47,
        /// Give the reply to the next message of the minifilter.
        PortReply { port: u64, reply: Vec<u8> } = 48,
        /// Take the messages of the minifilter.
        PortMessages { port: u64 } = 49,
        /// Close the connection to a port.
        PortClose { port: u64 } = 50,
        /// Open a network connection.
        Connect { connection: Connection } = 60,
        /// Send or receive a packet.
        SendPacket { packet: Packet } = 61,
        /// Send or receive data of a connection.
        Transfer { connection: u64, inbound: bool, data: Vec<u8> } = 62,
        /// End a connection.
        Disconnect { connection: u64 } = 63,
        /// Return how far a connection or packet has come.
        Passage { id: u64 } = 64,
        /// Take the driver's accesses to hardware.
        Hardware {} = 70,
        /// Write to memory of the client's process.
        MemoryWrite { address: u64, data: Vec<u8> } = 80,
        /// Read memory of the client's process.
        MemoryRead { address: u64, length: u32 } = 81,
        /// Free memory of the client's process.
        MemoryFree { address: u64, length: u32 } = 82,
    }
}

messages! {
    /// A reply of the process that runs the driver.
    pub(crate) Reply {
        /// The request was handled, with this status.
        Status { status: NtStatus } = 1,
        /// A request to a device was completed.
        Completed { answer: IoAnswer } = 2,
        /// The number of a device, a file, a request or a session, or a count.
        Number { number: u64 } = 3,
        /// The end of the file with the event records, and the number of events that the session lost.
        Events { end: u64, lost: u64 } = 4,
        /// The routines and the number of their calls.
        Calls { calls: Vec<(String, u64)> } = 5,
        /// The run ended with a bug check.
        Stopped {} = 6,
        /// The host could not handle the request.
        Failed { reason: String } = 7,
        /// The result of a session control call.
        Control { answer: Answer } = 8,
        /// The result of a notification.
        Notified { called: u32, status: NtStatus, access: u32 } = 10,
        /// Whether a service routine handled an interrupt; `None` if none is connected.
        Interrupted { claimed: Option<bool> } = 11,
        /// What the run did not exercise.
        Gaps { gaps: Vec<Gap> } = 12,
        /// Requests that were sent at the same time were completed.
        Together { answers: Vec<IoAnswer> } = 13,
        /// The result of a batch.
        Batch { batch: Batch } = 14,
        /// The names of devices, the registry values that the driver looked for, the communication ports of its minifilter, and
        /// whether it has callouts.
        Names { devices: Vec<String>, values: Vec<String>, ports: Option<Vec<String>>, callouts: bool } = 15,
        /// The result of opening a file of the volume, and its number.
        FileOpened { file: u64, answer: IoAnswer } = 40,
        /// Messages of the minifilter.
        Messages { messages: Vec<Vec<u8>> } = 41,
        /// How far a connection or packet has come.
        Passage { passage: Passage } = 60,
        /// Accesses to hardware, and the number of those that were not recorded.
        Hardware { accesses: Vec<HardwareAccess>, dropped: u64 } = 70,
        /// What memory of the client's process holds.
        Memory { data: Vec<u8> } = 80,
        /// This Windows does not load the driver.
        NotLoaded { status: NtStatus, reason: String } = 9,
    }
}

impl Request {
    /// Returns the time that the client wants to pass.
    pub(crate) fn waits(&self) -> Duration {
        match self {
            Self::Advance { time } => Duration::from_nanos(time.saturating_mul(100)),
            _ => Duration::ZERO,
        }
    }

    /// Returns by how much to multiply the time that the driver is allowed for one request.
    pub(crate) fn rounds(&self) -> u32 {
        match self {
            Self::Storm { plan } => plan.rounds.max(1),
            _ => 1,
        }
    }
}

records! {
    /// The result of a batch.
    Batch {
        /// The device for the next batch; 0 if it could not be added again.
        device: u64,
        /// The number of sequences that have ended.
        done: u32,
        /// The number of steps that have begun of the sequence after these.
        begun: u32,
        /// The number of requests that were sent.
        requests: u64,
        novel: Vec<Novel>,
    }

    /// What a sequence did for the first time.
    Novel {
        sequence: u32,
        /// The number of steps of the sequence that had run.
        steps: u32,
        /// The blocks of code that had not run before, by their addresses relative to the image.
        blocks: Vec<u32>,
        /// The results of requests that this process had not seen.
        results: Vec<u32>,
        /// How many requests the driver sent to devices of other drivers.
        asked: u32,
        /// Whether the driver held more afterwards than before: allocations, handles, references or timers.
        holds: bool,
    }

    /// The parameters of a storm.
    StormPlan {
        /// How many times the driver is loaded and unloaded.
        rounds: u32,
        /// The number of threads that send control requests.
        threads: u32,
        /// The number of requests of each thread in each round.
        requests: u32,
        /// The provider that is enabled, requested to log its state, and disabled.
        provider: Guid,
        /// The control request: code, input, size of the output buffer.
        code: u32,
        input: Vec<u8>,
        output: u32,
    }
}
